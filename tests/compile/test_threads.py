"""Compiled functions where other threads of Python are."""

from __future__ import annotations

import ctypes
import queue
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import shim_torch as torch
from shim_torch._impl.compile.calls import counts, reasons


@contextmanager
def another_thread(answer: Callable[[Any], Any]) -> Iterator[Callable[[Any], Any]]:
    """What asks a thread that is there all the time, and waits for what it says."""
    asked: queue.Queue[Any] = queue.Queue()
    answers: queue.Queue[Any] = queue.Queue()

    def work() -> None:
        while (given := asked.get()) is not None:
            try:
                answers.put(answer(given))
            except Exception as error:
                answers.put(error)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield lambda given: asked.put(given) or answers.get(timeout=60)
    finally:
        asked.put(None)
        thread.join()


@pytest.fixture
def idle() -> Iterator[None]:
    """Another thread that waits."""
    with another_thread(lambda given: given):
        yield


def test_operators_are_deferred(idle):
    f = torch.compile(lambda x: (x + 1) * 3)
    f(torch.ones(3))
    before = counts["deferred"], counts["calls run as they are"]
    for i in range(12):
        assert f(torch.full((3,), float(i))).tolist() == [3.0 * (i + 1)] * 3
    told = torch._dynamo.explain(lambda x: (x + 1) * 3)(torch.ones(3))
    import shim_torch_proxy

    shim_torch_proxy.torch_proxy_status()  # quiet calls are counted when somebody asks
    assert told.graph_count == 1 and not told.break_reasons
    assert counts["deferred"] >= before[0] + 24 and counts["calls run as they are"] == before[1]


def test_training_is_repeated(idle):
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    twin = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    twin.load_state_dict(model.state_dict())
    sgd, other = (torch.optim.SGD(m.parameters(), lr=0.1) for m in (model, twin))

    def step(model, optimizer, x):
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    compiled = torch.compile(step)
    for _ in range(6):
        x = torch.randn(5, 4)
        torch.testing.assert_close(compiled(model, sgd, x), step(twin, other, x))
    for a, b in zip(model.parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(a, b)


READS = {
    "tolist": lambda t: t.tolist(),
    "item": lambda t: [t[i].item() for i in range(3)],
    "operator": lambda t: (t + 0).tolist(),
    "numpy": lambda t: t.detach().numpy().tolist(),
    "address": lambda t: (t.data_ptr(), t.tolist())[1],
    "write": lambda t: t.clone().mul_(1).tolist(),
}


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("backend", ["inductor", "eager", "function"])
def test_another_thread_reads_what_is_deferred(read, backend):
    """A result, and an argument that was written to, in the middle of the call."""
    with another_thread(READS[read]) as ask:

        def f(x):
            y = x + 1
            x.mul_(2)
            seen = ask(y), ask(x)
            return y - x, seen

        compiled = torch.compile(f, backend=(lambda graph, inputs: graph.forward) if backend == "function" else backend)
        for i in range(4):
            x = torch.full((3,), float(i))
            result, seen = compiled(x)
            assert seen == ([i + 1.0] * 3, [i * 2.0] * 3)
            assert result.tolist() == [1.0 - i] * 3 and x.tolist() == [2.0 * i] * 3


def test_two_threads_within_compiled_functions():
    inner = torch.compile(lambda x: x * 5 + 1)
    inner(torch.ones(2))
    with another_thread(lambda t: inner(t).tolist()) as ask:

        def f(x):
            y = x + 1
            return y * 2, ask(y)

        f = torch.compile(f)
        for _ in range(3):
            result, seen = f(torch.ones(2))
            assert result.tolist() == [4.0, 4.0] and seen == [11.0, 11.0]
    assert any(why == "another thread is within a compiled function" for _, why in reasons)


def test_another_thread_leaves_the_trace_alone():
    """torch.compiler.disable() and breaks of another thread are not the session's."""

    @torch.compiler.disable
    def apart(x):
        return x + 1

    def other(x):
        torch._dynamo.graph_break()
        return apart(x).tolist()

    given = torch.zeros(2)
    with another_thread(other) as ask:

        def f(x):
            y = x + 1
            z = y * 2
            seen = ask(given)
            return z + y, seen

        f = torch.compile(f)
        for _ in range(3):
            before = counts["breaks"]
            result, seen = f(torch.ones(2))
            assert result.tolist() == [6.0, 6.0] and seen == [1.0, 1.0] and counts["breaks"] == before
        told = torch._dynamo.explain(f)(torch.ones(2))
        assert told.graph_count == 1 and not told.break_reasons


@pytest.mark.parametrize("mode", ["default", "reduce-overhead"])
def test_one_function_in_many_threads(mode):
    weight = torch.randn(64, 64)

    @torch.compile(mode=mode)
    def f(x):
        return torch.relu(x @ weight + 1).sum(0)

    given = [torch.randn(32, 64) for _ in range(8)]
    wanted = [torch.relu(x @ weight + 1).sum(0) for x in given]
    wrong: list[Any] = []

    def work(k):
        try:
            for i in range(40):
                at = (i + k) % len(given)
                torch.testing.assert_close(f(given[at]), wanted[at])
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_an_error_in_another_thread():
    """An index that is out of range is said to who asks first; who asks later hears that there are no values."""
    with another_thread(lambda t: t.tolist()) as ask:

        def f(x, i):
            y = x[i] + 1
            return ask(y), y

        with pytest.raises((IndexError, RuntimeError)):
            raise torch.compile(f)(torch.ones(3), torch.tensor([5]))[0]


def test_a_body_that_waits_for_a_thread():
    """The thread is not to wait for what waits for it."""
    from concurrent.futures import ThreadPoolExecutor

    def backend(graph, inputs):
        def run(*args):
            with ThreadPoolExecutor(2) as pool:
                seen = list(pool.map(lambda t: float(t.sum()), args))
            assert seen == [float(t.sum()) for t in args]
            return graph(*args)

        return run

    f = torch.compile(lambda x, y: (x + y) * 2, backend=backend)
    for i in range(2):
        assert f(torch.full((3,), float(i)), torch.ones(3)).tolist() == [2.0 * (i + 1)] * 3


LATE = {
    "item": lambda t: t[-1].item(),
    "operator": lambda t: float((t[-1:] + 0).sum()),
    "numpy": lambda t: float(t.numpy()[-1]),
    "address": lambda t: ctypes.c_float.from_address(t.data_ptr() + 4 * (t.numel() - 1)).value,
}


@pytest.mark.parametrize("read", LATE)
def test_another_thread_reads_while_a_backend_works(read):
    """It waits for what the graph writes to an argument."""
    works, answers = threading.Event(), []

    def backend(graph, inputs):
        def run(*args):
            works.set()
            time.sleep(0.1)  # another thread has the lock
            return graph(*args)

        return run

    def reads(x):
        works.wait(60)
        answers.append(LATE[read](x))

    f = torch.compile(lambda x: x.mul_(2), backend=backend)
    for _ in range(2):
        works.clear()
        x = torch.ones(1000)
        thread = threading.Thread(target=reads, args=(x,))
        thread.start()
        f(x)
        thread.join()
    assert answers == [2.0, 2.0]


def test_the_lock_is_kept_while_a_program_runs():
    """A read that nothing of ours sees: what was written before another thread was told of it is there."""
    x = torch.ones(6_000_000)
    last = x.untyped_storage()
    told, answers = threading.Event(), []

    def f(x, told):
        for _ in range(6):
            x.mul_(-1)
        x.mul_(2)
        told.set()
        return x

    def reads():
        told.wait(60)
        answers.append(last[6_000_000 * 4 - 1])

    compiled = torch.compile(f)
    for _ in range(4):
        x.fill_(1)
        told.clear()
        thread = threading.Thread(target=reads)
        thread.start()
        compiled(x, told)
        thread.join()
    assert answers == [64] * 4  # the last byte of 2.0
