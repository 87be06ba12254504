"""The processes that torchrun starts on one node: their environment, their output, their end."""

from __future__ import annotations

import dataclasses
import multiprocessing
import os
import pickle
import signal
import string
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from typing import Any


@dataclasses.dataclass
class Streams:
    """Where the workers' output goes: by local rank 1 (stdout), 2 (stderr), 3 (both) to files, and from those also shown."""

    folder: str
    redirects: dict[int, int]
    tees: dict[int, int]
    shown: set[int] | None  # None: of all

    @staticmethod
    def flags(text: str, ranks: int) -> dict[int, int]:
        """Of "3" or "0:1,1:2". Errors: ValueError for another number than 0 to 3."""
        found = dict.fromkeys(range(ranks), int(text)) if ":" not in text else {}
        if not found:
            found = {int(rank): int(flag) for rank, flag in (part.split(":") for part in text.split(","))}
        if not set(found.values()) <= {0, 1, 2, 3}:
            raise ValueError(f"torchrun: 0, 1 (stdout), 2 (stderr) or 3 (both), got {text}")
        return found


class Worker:
    """One process. ``error_file``: where it says why it fails (``record``)."""

    def __init__(self, local_rank: int, error_file: str) -> None:
        self.local_rank, self.error_file = local_rank, error_file
        self.pid = 0

    def code(self) -> int | None:
        """The exit code, negative for a signal; None while it runs."""
        raise NotImplementedError

    def signal(self, number: int) -> None:
        """Sends a signal, if it runs still."""
        if self.code() is None:
            os.kill(self.pid, number)


class CommandWorker(Worker):
    """A program."""

    def __init__(
        self, local_rank: int, error_file: str, command: list[str], env: dict[str, str], streams: Streams
    ) -> None:
        super().__init__(local_rank, error_file)
        self._open: list[Any] = []
        template = env.get("TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE", "[${role_name}${local_rank}]:")
        self._prefix = string.Template(template).safe_substitute(
            role_name=env["ROLE_NAME"], rank=env["RANK"], local_rank=local_rank
        )
        outputs = [self._output(name, bit, streams) for bit, name in ((1, "stdout"), (2, "stderr"))]
        self._process = subprocess.Popen(command, env=env, stdout=outputs[0], stderr=outputs[1])
        self.pid = self._process.pid
        for file in self._open:
            file.close()

    def _output(self, name: str, bit: int, streams: Streams) -> Any:
        rank = self.local_rank
        redirect, tee = streams.redirects.get(rank, 0) & bit, streams.tees.get(rank, 0) & bit
        hidden = streams.shown is not None and rank not in streams.shown
        if not (redirect or tee or hidden):
            return None
        folder = os.path.join(streams.folder, str(rank))
        os.makedirs(folder, exist_ok=True)
        file = open(os.path.join(folder, f"{name}.log"), "wb")
        self._open.append(file)
        if not tee or hidden:
            return file
        reading, writing = os.pipe()
        self._open.append(os.fdopen(writing, "wb"))
        threading.Thread(target=self._copy, args=(reading, os.dup(file.fileno()), name), daemon=True).start()
        return writing

    def _copy(self, reading: int, file: int, name: str) -> None:
        with os.fdopen(reading, "rb") as lines, os.fdopen(file, "wb") as copy:
            for line in lines:
                copy.write(line)
                copy.flush()
                shown = getattr(sys, name)
                shown.write(self._prefix + line.decode(errors="replace"))
                shown.flush()

    def code(self) -> int | None:
        """The exit code, negative for a signal; None while it runs."""
        return self._process.poll()


def _call(function: Callable[..., Any], args: Any, env: dict[str, str], result_file: str) -> None:
    from shim_torch.distributed.elastic.multiprocessing.errors import record

    os.environ.update(env)
    result = record(function)(*args)
    with open(result_file, "wb") as file:
        pickle.dump(result, file)


class FunctionWorker(Worker):
    """A Python function."""

    def __init__(
        self, local_rank: int, error_file: str, function: Any, args: Any, env: dict[str, str], start_method: str
    ) -> None:
        super().__init__(local_rank, error_file)
        self._result_file = error_file + ".result"
        context: Any = multiprocessing.get_context(start_method)
        self._process = context.Process(target=_call, args=(function, args, env, self._result_file))
        self._process.start()
        self.pid = self._process.pid

    def code(self) -> int | None:
        """The exit code, negative for a signal; None while it runs."""
        found = self._process.exitcode
        return None if found is None else int(found)

    def result(self) -> Any:
        """What the function gave."""
        with open(self._result_file, "rb") as file:
            return pickle.load(file)


def stop(workers: list[Any], patience: float, number: int = signal.SIGTERM) -> None:
    """Asks the workers to end, and ends those that have not after the time (seconds)."""
    for worker in workers:
        worker.signal(number)
    end = time.monotonic() + patience
    while any(worker.code() is None for worker in workers) and time.monotonic() < end:
        time.sleep(0.02)
    for worker in workers:
        worker.signal(signal.SIGKILL)
    while any(worker.code() is None for worker in workers):
        time.sleep(0.01)


def error_folder() -> str:
    """A new folder for error files."""
    return tempfile.mkdtemp(prefix="torchelastic_")
