"""``torch.utils._traceback``: stacks that are cheap to keep, and short ways to print them."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import traceback
from collections.abc import Iterator
from types import CodeType, TracebackType
from typing import Any

from shim_torch._C import _profiler


@contextlib.contextmanager
def report_compile_source_on_error() -> Iterator[None]:
    """Errors in code made by ``exec`` show its lines: a frame of ``<string>`` whose globals have ``__compile_source__``.

    The source is written to a temporary file, which the traceback then names.
    """
    try:
        yield
    except Exception as error:
        stack = []
        tb = error.__traceback__
        while tb is not None:
            source = tb.tb_frame.f_globals.get("__compile_source__")
            made = tb.tb_frame.f_code.co_filename == "<string>"
            stack.append(_with_source(tb, source) if made and source is not None else tb)
            tb = tb.tb_next
        for outer, inner in zip(stack, [*stack[1:], None], strict=True):
            outer.tb_next = inner
        raise error.with_traceback(stack[0]) from None


def _with_source(tb: TracebackType, source: str) -> TracebackType:
    """The same place of a frame that says it is of a file with ``source``."""
    with tempfile.NamedTemporaryFile("w", suffix=".py", delete=False) as file:
        file.write(source)
    code = tb.tb_frame.f_code
    stand_in: CodeType = compile("_frame()", file.name, "eval").replace(
        co_name=code.co_name, co_firstlineno=code.co_firstlineno
    )
    frame = eval(stand_in, {"_frame": lambda: sys._getframe(1)})
    return TracebackType(None, frame, tb.tb_lasti, tb.tb_lineno)


def shorten_filename(fn: str, *, base: str | None = None) -> str:
    """A path without what it shares with ``base``, the folder of this package unless given."""
    if base is None:
        base = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    try:
        return fn[len(os.path.commonpath([fn, base])) + 1 :]
    except ValueError:
        return fn


def format_frame(frame: Any, *, base: str | None = None, line: bool = False) -> str:
    """One line for a ``traceback.FrameSummary``: ``file.py:12 in function``."""
    code = f"{frame.line}  # " if line else ""
    return f"{code}{shorten_filename(frame.filename, base=base)}:{frame.lineno} in {frame.name}"


def format_traceback_short(tb: TracebackType | None) -> str:
    """The innermost frame of a traceback in one line."""
    return format_frame(traceback.extract_tb(tb)[-1])


class CapturedTraceback:
    """A Python stack (``torch._C._profiler.gather_traceback``); it pickles as empty."""

    __slots__ = ("skip", "tb")

    def __init__(self, tb: _profiler.CapturedTraceback | None, skip: int = 0) -> None:
        self.tb, self.skip = tb, skip

    @staticmethod
    def extract(*, script: bool = False, cpp: bool = False, skip: int = 0) -> CapturedTraceback:
        """The caller's stack, without the innermost ``skip`` frames. ``cpp=True`` is not supported; TorchScript has no frames."""
        if cpp:
            raise NotImplementedError("torch.utils._traceback.CapturedTraceback.extract(cpp=True) is not supported")
        return CapturedTraceback(_profiler.gather_traceback(), skip + 1)  # this function's frame is the innermost

    def cleanup(self) -> None:
        """Forgets the stack."""
        self.tb = None

    def summary(self) -> traceback.StackSummary:
        """The stack as the standard library's, outermost first."""
        frames = _profiler.symbolize_tracebacks([self.tb])[0][self.skip :] if self.tb is not None else []
        return traceback.StackSummary.from_list(
            [traceback.FrameSummary(f["filename"], f["line"], f["name"]) for f in reversed(frames)]
        )

    def format(self) -> list[str]:
        """The frames as ``traceback.format_list`` shows them."""
        return traceback.format_list(self.summary())

    @staticmethod
    def format_all(tbs: list[CapturedTraceback]) -> list[list[str]]:
        """``format`` of each."""
        return [tb.format() for tb in tbs]

    def __getstate__(self) -> Any:
        return None, {"tb": None, "skip": self.skip}
