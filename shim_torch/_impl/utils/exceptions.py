"""Exceptions of other threads and processes."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.surface import naming


class KeyErrorMessage(str):
    """A KeyError's text whose newlines are shown as such."""

    def __repr__(self) -> str:
        return str(self)


class ExceptionWrapper:
    """An exception on its way to another thread or process: its type and its traceback as text."""

    def __init__(self, exc_info: Any = None, where: str = "in background") -> None:
        import sys
        import traceback

        info: Any = sys.exc_info() if exc_info is None else exc_info
        self.exc_type, self.exc_msg, self.where = info[0], "".join(traceback.format_exception(*info)), where

    def reraise(self) -> None:
        """Raises an exception of that type, with the traceback in its text."""
        text = f"Caught {self.exc_type.__name__} {self.where}.\nOriginal {self.exc_msg}"
        if self.exc_type is KeyError:
            text = KeyErrorMessage(text)
        elif getattr(self.exc_type, "message", None):
            raise self.exc_type(message=text)
        try:
            error = self.exc_type(text)
        except Exception:
            raise RuntimeError(text) from None
        try:
            raise error
        finally:
            del error  # its traceback refers to this frame, and to a loader's iterator, whose workers would wait for the collector


naming.present(globals(), "torch._utils")
