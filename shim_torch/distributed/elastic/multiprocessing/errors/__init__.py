"""``torch.distributed.elastic.multiprocessing.errors``: a worker's exception, told to the one who started it."""

from __future__ import annotations

import functools
import json
import os
import signal
import socket
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

__all__ = ["ChildFailedError", "ProcessFailure", "record"]
_NOT_AVAILABLE = "<N/A>"


@dataclass
class ProcessFailure:
    """A worker that failed: its exit code, and what it wrote to its error file (see ``record``), if it wrote one."""

    local_rank: int
    pid: int
    exitcode: int
    error_file: str
    error_file_data: dict[str, Any] = field(init=False)
    message: Any = field(init=False)
    timestamp: int = field(init=False)

    def __post_init__(self) -> None:
        if os.path.isfile(self.error_file):
            with open(self.error_file, encoding="utf-8") as file:
                self.error_file_data = json.load(file)
            self.message = self.error_file_data["message"]
            of_time = self.error_file_data if isinstance(self.message, str) else self.message["extraInfo"]
            self.timestamp = int(of_time.get("timestamp", 0))
        else:
            self.error_file, self.error_file_data = _NOT_AVAILABLE, {"message": "<NONE>"}
            self.message, self.timestamp = "", int(time.time())
        if self.message:
            return
        if self.exitcode < 0:
            self.message = f"Signal {-self.exitcode} ({self.signal_name()}) received by PID {self.pid}"
        else:
            self.error_file_data["errorTraits"] = {"category": "system_terminated_error", "retryability": "False"}
            self.message = "To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html"

    def signal_name(self) -> str:
        """The signal that ended the process (a negative exit code), or ``<N/A>``."""
        try:
            return signal.Signals(-self.exitcode).name if self.exitcode < 0 else _NOT_AVAILABLE
        except ValueError:
            return _NOT_AVAILABLE

    def timestamp_isoformat(self) -> str:
        """The local time of the failure, as YYYY-MM-DD_HH:MM:SS."""
        return datetime.fromtimestamp(self.timestamp).isoformat(sep="_")


class ChildFailedError(Exception):
    """Workers failed: ``failures`` by their ranks (at least one, else AssertionError); the earliest is called the cause."""

    def __init__(self, name: str, failures: dict[int, ProcessFailure]) -> None:
        self.name = name
        self.failures = failures
        if not failures:
            raise AssertionError
        super().__init__(self.format_msg())

    def get_first_failure(self) -> tuple[int, ProcessFailure]:
        """The rank and the failure with the earliest time."""
        rank = min(self.failures, key=lambda rank: self.failures[rank].timestamp)
        return rank, self.failures[rank]

    def format_msg(self, boarder_delim: str = "=", section_delim: str = "-") -> str:
        """The error's text."""
        title, root = f"{self.name} FAILED", self.get_first_failure()[0]
        texts = {rank: _told(index, rank, failure) for index, (rank, failure) in enumerate(self.failures.items())}
        width = min(60, max(len(line) for line in [title, *"\n".join(texts.values()).split("\n")]))
        boarder, section = boarder_delim * width, section_delim * width
        others = "\n".join(text for rank, text in texts.items() if rank != root) or "  <NO_OTHER_FAILURES>"
        cause = ["Root Cause (first observed failure):", texts[root]]
        return "\n".join(["", boarder, title, section, "Failures:", others, section, *cause, boarder])


def _told(index: int, rank: int, failure: ProcessFailure) -> str:
    message = failure.message
    if isinstance(message, dict):
        message = message.get("extraInfo", {}).get("py_callstack", message.get("message", _NOT_AVAILABLE))
        message = message.replace("\n", "\n  ")
    name = failure.signal_name()
    lines = {
        "time      ": failure.timestamp_isoformat(),
        "host      ": socket.getfqdn(),
        "rank      ": f"{rank} (local_rank: {failure.local_rank})",
        "exitcode  ": f"{failure.exitcode} (pid: {failure.pid}) {'' if name == _NOT_AVAILABLE else f' ({name})'}",
        "error_file": failure.error_file,
        "traceback ": message,
    }
    return "\n".join([f"[{index}]:", *(f"  {key}: {value}" for key, value in lines.items())])


def record(fn: Callable[..., Any], error_handler: Any = None) -> Callable[..., Any]:
    """A decorator of main functions: an exception is written to TORCHELASTIC_ERROR_FILE, if that is set, and raised."""

    @functools.wraps(fn)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        try:
            return fn(*args, **kwargs)
        except SystemExit as error:
            if error.code in (0, None):
                return None
            raise
        except Exception as error:
            path = os.environ.get("TORCHELASTIC_ERROR_FILE")
            if path:
                extra = {"py_callstack": traceback.format_exc(), "timestamp": str(int(time.time()))}
                with open(path, "w", encoding="utf-8") as file:
                    json.dump({"message": {"message": f"{type(error).__name__}: {error}", "extraInfo": extra}}, file)
            raise

    return wrapper
