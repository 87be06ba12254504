"""``torch.multiprocessing.spawn``: the same function in several processes; the first failure ends them all."""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import os
import pickle
import signal
import tempfile
from collections.abc import Callable
from typing import Any

from shim_torch._missing import asked_of as _asked_of

__all__ = [
    "ProcessContext",
    "ProcessExitedException",
    "ProcessRaisedException",
    "SpawnContext",
    "spawn",
    "start_processes",
]


class ProcessException(Exception):
    """A process of ``spawn`` failed."""

    def __init__(self, msg: str, error_index: int, pid: int) -> None:
        super().__init__(msg)
        self.msg, self.error_index, self.pid = msg, error_index, pid

    def __reduce__(self) -> Any:
        return type(self), (self.msg, self.error_index, self.pid)


class ProcessRaisedException(ProcessException):
    """The function raised an exception."""


class ProcessExitedException(ProcessException):
    """The process ended by a signal or an exit code."""

    def __init__(
        self, msg: str, error_index: int, error_pid: int, exit_code: int, signal_name: str | None = None
    ) -> None:
        super().__init__(msg, error_index, error_pid)
        self.exit_code, self.signal_name = exit_code, signal_name

    def __reduce__(self) -> Any:
        return type(self), (self.msg, self.error_index, self.pid, self.exit_code, self.signal_name)


def _run(fn: Callable[..., Any], i: int, args: Any, error_file: str) -> None:
    try:
        fn(i, *args)
    except KeyboardInterrupt:
        pass
    except Exception:
        import traceback

        with open(error_file, "wb") as f:
            pickle.dump(traceback.format_exc(), f)
        raise SystemExit(1) from None


class ProcessContext:
    """The processes of ``spawn(join=False)``."""

    def __init__(self, processes: list[Any], error_files: list[str]) -> None:
        self.processes, self.error_files = processes, error_files
        self.sentinels = {p.sentinel: i for i, p in enumerate(processes)}

    def pids(self) -> list[int]:
        return [int(p.pid) for p in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Waits for one process to end; True when all have. Raises for the first that failed, and ends the others."""
        if not self.sentinels:
            return True
        ready = multiprocessing.connection.wait(self.sentinels.keys(), timeout=timeout)
        failed = None
        for sentinel in ready:
            index = self.sentinels.pop(sentinel)  # type: ignore[call-overload]
            self.processes[index].join()
            if self.processes[index].exitcode != 0 and failed is None:
                failed = index
        if failed is None:
            return not self.sentinels
        for p in self.processes:
            if p.is_alive():
                p.terminate()
            p.join()
        self._raise(failed)
        return True

    def _raise(self, index: int) -> None:
        process = self.processes[index]
        code, pid = process.exitcode, process.pid
        if os.path.exists(self.error_files[index]) and os.path.getsize(self.error_files[index]):
            with open(self.error_files[index], "rb") as f:
                text = pickle.load(f)
            raise ProcessRaisedException(
                f"\n\n-- Process {index} terminated with the following error:\n{text}", index, pid
            )
        if code < 0:
            try:
                name = signal.Signals(-code).name
            except ValueError:
                name = f"<Unknown signal {-code}>"
            raise ProcessExitedException(f"process {index} terminated with signal {name}", index, pid, code, name)
        raise ProcessExitedException(f"process {index} terminated with exit code {code}", index, pid, code)


SpawnContext = ProcessContext


def start_processes(
    fn: Callable[..., Any],
    args: Any = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
    numa_options: Any = None,
) -> ProcessContext | None:
    """Calls ``fn(i, *args)`` in ``nprocs`` processes."""
    context = multiprocessing.get_context(start_method)
    processes, files = [], []
    for i in range(nprocs):
        handle, path = tempfile.mkstemp(prefix="torch-spawn-")
        os.close(handle)
        process = context.Process(target=_run, args=(fn, i, args, path), daemon=daemon)  # type: ignore[attr-defined]
        process.start()
        processes.append(process)
        files.append(path)
    found = ProcessContext(processes, files)
    if not join:
        return found
    try:
        while not found.join():
            pass
    finally:
        for path in files:
            os.unlink(path)
    return None


def spawn(
    fn: Callable[..., Any],
    args: Any = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Calls ``fn(i, *args)`` in ``nprocs`` new processes; an exception there is raised here with its traceback."""
    return start_processes(fn, args, nprocs, join, daemon, start_method="spawn")

__getattr__ = _asked_of(__name__)
