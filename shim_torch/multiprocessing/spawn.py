"""``torch.multiprocessing.spawn``: the same function in several processes; the first failure ends them all."""

from __future__ import annotations

import logging
import multiprocessing
import multiprocessing.connection
import os
import pickle
import signal
import tempfile
import time
import uuid
from collections.abc import Callable
from typing import Any

__all__ = [
    "ProcessContext",
    "ProcessExitedException",
    "ProcessRaisedException",
    "SpawnContext",
    "spawn",
    "start_processes",
]


_log = logging.getLogger("torch.multiprocessing.spawn")
_PATIENCE = 30.0  # seconds that a process has to end after SIGTERM


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

        with open(error_file, "xb") as f:
            pickle.dump(traceback.format_exc(), f)
        raise SystemExit(1) from None


class ProcessContext:
    """The processes of ``spawn(join=False)``."""

    def __init__(self, processes: list[Any], error_files: list[str]) -> None:
        self.processes, self.error_files = processes, error_files
        self.sentinels = {p.sentinel: i for i, p in enumerate(processes)}

    def pids(self) -> list[int]:
        """The process ids, in the order of the ranks."""
        return [int(p.pid) for p in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Waits for one process to end; True when all have. Raises for the first that failed, and ends the others."""
        ready = multiprocessing.connection.wait(list(self.sentinels), timeout) if self.sentinels else []
        ended = [self.sentinels.pop(sentinel) for sentinel in ready]  # type: ignore[call-overload]
        for index in ended:
            self.processes[index].join()
        failed = next((index for index in ended if self.processes[index].exitcode), None)
        if failed is None:
            return not self.sentinels
        self._end_all(grace_period)
        raise self._error(failed)

    def _end_all(self, grace_period: float | None) -> None:
        """Waits for the processes that run, then asks them to end, waits again, then kills them."""
        steps = (
            (grace_period or 0, "terminate", "Terminating process %s via signal SIGTERM"),
            (
                _PATIENCE if grace_period is None else grace_period,
                "kill",
                "Unable to shutdown process %s via SIGTERM , forcefully exiting via SIGKILL",
            ),
        )
        for seconds, end, text in steps:
            until = time.monotonic() + seconds
            for process in self.processes:
                process.join(max(0.0, until - time.monotonic()))
            for process in filter(lambda p: p.is_alive(), self.processes):
                _log.warning(text, process.pid)
                getattr(process, end)()
        for process in self.processes:
            process.join()

    def _error(self, index: int) -> ProcessException:
        """What is raised for a process that failed: its own exception, a signal or an exit code."""
        code, pid, path = self.processes[index].exitcode, self.processes[index].pid, self.error_files[index]
        if os.path.exists(path):
            with open(path, "rb") as f:
                text = pickle.load(f)
            os.unlink(path)
            return ProcessRaisedException(
                f"\n\n-- Process {index} terminated with the following error:\n{text}", index, pid
            )
        if code > 0:
            return ProcessExitedException(f"process {index} terminated with exit code {code}", index, pid, code)
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"<Unknown signal {-code}>"
        return ProcessExitedException(f"process {index} terminated with signal {name}", index, pid, code, name)


SpawnContext = ProcessContext


def start_processes(
    fn: Callable[..., Any],
    args: Any = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Calls ``fn(i, *args)`` in ``nprocs`` processes."""
    # A process writes its file only when it fails: there is nothing to remove behind the others.
    folder, run = tempfile.gettempdir(), uuid.uuid4().hex
    files = [os.path.join(folder, f"pytorch-errorfile-{run}-{i}.pickle") for i in range(nprocs)]
    make: Any = multiprocessing.get_context(start_method).Process  # type: ignore[attr-defined]
    processes = [make(target=_run, args=(fn, i, args, path), daemon=daemon) for i, path in enumerate(files)]
    for process in processes:
        process.start()
    started = ProcessContext(processes, files)
    if not join:
        return started
    while not started.join():
        pass
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
