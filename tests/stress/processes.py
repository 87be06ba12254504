"""Forks while threads work, and SIGINT at random moments."""

from __future__ import annotations

import os
import random
import signal
import threading
import time

from harness import count, main

import shim_torch as torch


def answer() -> float:
    """Work for the threads of the core, the engine and Python, whose result is known."""
    x = torch.ones(400, 400, requires_grad=True)
    (x * 2).sum().backward()
    return (x.grad.sum() + torch.ones(200_000).sum()).item()


RIGHT = 400 * 400 * 2 + 200_000


def child(patience: float) -> int | None:
    """The exit status of a forked process that asks for the answer; None where it hangs."""
    pid = os.fork()
    if pid == 0:
        try:
            os._exit(0 if answer() == RIGHT and torch.is_grad_enabled() else 3)
        except BaseException:
            os._exit(4)
    until = time.monotonic() + patience
    while time.monotonic() < until:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return None


def forks(scale: float) -> str:
    """Each child computes while, in the parent, four threads do."""
    stop, wrong, times = threading.Event(), [], count(scale, 50, 5)
    torch.set_num_threads(4)

    def work() -> None:
        while not stop.is_set():
            if answer() != RIGHT:
                wrong.append("the parent")

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    try:
        ended = [child(30) for _ in range(times)]
    finally:
        stop.set()
        for t in threads:
            t.join()
    if wrong or any(ended):
        raise AssertionError(f"children ended with {ended}; wrong: {wrong}")
    if None in ended:
        raise AssertionError(f"{ended.count(None)} of {times} children hang")
    return f"{times} children of a process with four threads at work"


def interrupts(scale: float) -> str:
    """After each KeyboardInterrupt the engine, the modes and the numbers are as before."""
    times, random_numbers, caught, armed = count(scale, 3000, 50), random.Random(1), 0, False

    def handler(number: int, frame: object) -> None:
        nonlocal armed
        if armed:
            armed = False
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, handler)
    try:
        while caught < times:
            try:
                armed = True
                timer = threading.Timer(random_numbers.random() * 2e-3, os.kill, (os.getpid(), signal.SIGINT))
                timer.start()
                while True:
                    answer()
                    torch.randn(300, 300).sort()
            except KeyboardInterrupt:
                caught += 1
            timer.join()
            if not torch.is_grad_enabled() or answer() != RIGHT:
                raise AssertionError(f"wrong after {caught} interrupts")
    finally:
        signal.signal(signal.SIGINT, before)
    return f"{caught} times"


if __name__ == "__main__":
    main({"processes: forks": forks, "processes: SIGINT": interrupts})
