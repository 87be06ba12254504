"""What the fuzz targets share: a parent that watches workers, and the report of what they find.

Case number i of seed s is made from (s, i) alone, so that any of them can be run again by itself: ``TARGET.py --seed s --only i``.
The parent starts one worker, reads what it says it is about to do, ends it when it hangs, and starts another behind the
case that ended it. Each kind of finding is printed once, with its number.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import re
import resource
import select
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from typing import Any

HANG = 20.0  # seconds for one case
GIB = 1 << 30
ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONHASHSEED": "0",
    "PYTHONWARNINGS": "ignore",
}


class Finding(Exception):
    """What a case must not do, in words; raised by a target's own checks."""


def options(text: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=text)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, help="ends after so long (30 where no --count is given)")
    parser.add_argument("--count", type=int, help="ends after so many cases")
    parser.add_argument("--only", type=int, help="one case, with its arguments and the whole traceback")
    parser.add_argument("--package", default="shim_torch", help="torch: the same cases against a real PyTorch")
    parser.add_argument(
        "--memory", type=float, default=3, help="GiB of address space of a worker; 0: no limit (sanitized cores)"
    )
    parser.add_argument("--worker", type=int, help=argparse.SUPPRESS)
    return parser.parse_args()


def where(error: BaseException) -> str:
    """The innermost place of an error within the package, so that one fault is one finding."""
    frames = traceback.extract_tb(error.__traceback__)
    inside = [f for f in frames if os.sep + "fuzz" + os.sep not in f.filename and "<frozen" not in f.filename]
    return f"{os.path.basename(inside[-1].filename)}:{inside[-1].name}" if inside else "the call itself"


def limit(given: argparse.Namespace) -> None:
    if given.memory:
        resource.setrlimit(resource.RLIMIT_AS, (int(given.memory * GIB), int(given.memory * GIB)))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def work(given: argparse.Namespace, case: Callable[[int], Callable[[], None]], allowed: frozenset[str]) -> None:
    """The worker: ``case(i)`` makes case i and answers what runs it; that function's ``kind`` names what is tried."""
    to = os.dup(1)
    os.dup2(2, 1)  # what a case prints is no report

    def say(**what: Any) -> None:
        os.write(to, (json.dumps(what) + "\n").encode())

    i = given.worker
    while True:
        call: Any = case(i)
        say(at=i, kind=call.kind)
        try:
            call()
            say(done="returned")
        except Finding as found:
            say(done="finding", why=str(found))
        except Exception as error:
            name = type(error).__name__
            bad = name not in allowed and not isinstance(error, NotImplementedError)
            say(done=name, **({"why": f"{name} from {where(error)}: {str(error)[:200]}"} if bad else {}))
        i += 1


class Workers:
    """The parent's side: one worker at a time, and the findings by their text."""

    def __init__(self, script: str, given: argparse.Namespace) -> None:
        self.script, self.given = script, given
        self.outcomes: collections.Counter[str] = collections.Counter()
        self.findings: dict[str, list[int]] = {}
        self.kinds: set[str] = set()
        self.cases = 0

    def report(self, i: int, kind: str, why: str, group: str | None = None) -> None:
        name, _, _ = why.partition(": ")
        same = name if "the call itself" not in name else re.sub(r"\d+|\[[\d, -]*\]|\([\d, -]*\)", "#", why)
        key = group or same[:160]
        known = self.findings.setdefault(key, [])
        known.append(i)
        if len(known) == 1:
            print(f"FINDING {kind}: {why}\n    {self.script} --seed {self.given.seed} --only {i}", flush=True)

    def start(self, first: int) -> subprocess.Popen[bytes]:
        command = [sys.executable, self.script, "--seed", str(self.given.seed), "--worker", str(first)]
        command += ["--package", self.given.package, "--memory", str(self.given.memory)]
        pipe = subprocess.PIPE
        return subprocess.Popen(
            command,
            stdout=pipe,
            stdin=subprocess.DEVNULL,
            stderr=pipe,
            env={**os.environ, **ENVIRONMENT},
            start_new_session=True,
        )

    def follow(self, first: int, end: float, count: int) -> int:
        """Runs one worker from a case on; the number of the case to go on with, or ``count`` when it is over."""
        process = self.start(first)
        try:
            return self.followed(process, first, end, count)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)

    def followed(self, process: subprocess.Popen[bytes], first: int, end: float, count: int) -> int:
        assert process.stdout is not None and process.stderr is not None
        os.set_blocking(process.stdout.fileno(), False)
        os.set_blocking(process.stderr.fileno(), False)
        at, kind, begun, rest, errors, over = first, "start", time.monotonic() + 40, b"", b"", False
        while not over:
            ready, _, _ = select.select([process.stdout, process.stderr], [], [], 1.0)
            if process.stderr in ready:
                errors = (errors + (process.stderr.read() or b""))[-4000:]
            data = process.stdout.read() if process.stdout in ready else None
            now = time.monotonic()
            if data == b"":
                break
            *lines, rest = (rest + (data or b"")).split(b"\n")
            for line in lines:
                said = json.loads(line)
                if "at" in said:
                    at, kind, begun = said["at"], said["kind"], now
                    over = at >= count or now > end
                    if over:
                        break
                    self.kinds.add(kind)
                else:
                    self.cases += 1
                    self.outcomes[said["done"]] += 1
                    if "why" in said:
                        self.report(at, kind, said["why"])
            if not over and now - begun > HANG:
                self.report(at, kind, f"no end after {HANG:.0f} s", f"{kind} hangs")
                self.outcomes["hang"] += 1
                break
        else:
            at = count
        return self.ended(process, at, kind, errors, count)

    def ended(self, process: subprocess.Popen[bytes], at: int, kind: str, errors: bytes, count: int) -> int:
        """Ends the worker, and reports one that ended by itself."""
        try:
            code: int | None = process.wait(0.5)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            code = None
        if at < count and code is not None:
            text = errors.decode("utf-8", "replace").strip()
            by = signal.Signals(-code).name if code < 0 else f"exit code {code}"
            self.outcomes[by] += 1
            self.cases += 1
            self.report(
                at, kind, f"the process ended by {by}" + (f"\n{text[-1500:]}" if text else ""), f"{kind} ends by {by}"
            )
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()
        return count if kind == "start" else min(at + 1, count)  # one that cannot even start would not the next time


def main(text: str, script: str, make: Callable[[argparse.Namespace], Any], allowed: frozenset[str]) -> int:
    """``make(options)`` answers a target's ``case``; 0 where nothing was found, else 1."""
    given = options(text)
    if given.worker is not None or given.only is not None:
        limit(given)
    if given.worker is not None:
        work(given, make(given), allowed)
    if given.only is not None and any(os.environ.get(k) != v for k, v in ENVIRONMENT.items()):
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **ENVIRONMENT})  # as its worker was
    if given.only is not None:
        call: Any = make(given)(given.only)
        print(call.kind, getattr(call, "shown", lambda: "")(), flush=True)
        print("returned", call())
        return 0
    seconds = given.seconds if given.seconds is not None else (None if given.count else 30)
    count = given.count if given.count is not None else 1 << 62
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # ends the worker too
    workers, begun = Workers(script, given), time.monotonic()
    end = begun + seconds if seconds is not None else float("inf")
    i, starts = 0, 0
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:  # what workers leave behind
        os.environ["TMPDIR"] = folder
        while i < count and time.monotonic() < end:
            i, starts = workers.follow(i, end, count), starts + 1
    took = time.monotonic() - begun
    print(
        f"{os.path.basename(script)}: seed {given.seed}, {workers.cases} cases of {len(workers.kinds)} kinds in {took:.0f} s, {starts} workers"
    )
    print("  " + ", ".join(f"{name} {n}" for name, n in workers.outcomes.most_common()))
    print(f"  {len(workers.findings)} findings")
    for key, cases in workers.findings.items():
        print(f"    {len(cases)} × {key.splitlines()[0][:160]}: --only {cases[0]}")
    return 1 if workers.findings or not workers.cases else 0
