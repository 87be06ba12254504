"""The errors of compiled functions. ``torch._dynamo.exc`` shows them."""

from __future__ import annotations

from typing import Any


class TorchDynamoException(RuntimeError):
    """Tracing failed."""


class Unsupported(TorchDynamoException):
    """Code that can't be traced."""


class InvalidBackend(TorchDynamoException):
    """There is no backend of that name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"Invalid backend: {name!r}, see `torch._dynamo.list_backends()` for available backends.")


class BackendCompilerFailed(TorchDynamoException):
    """The backend failed: ``inner_exception`` says how."""

    def __init__(self, backend_fn: Any, inner_exception: Exception) -> None:
        self.backend_name = getattr(backend_fn, "__name__", str(backend_fn))
        self.inner_exception = inner_exception
        super().__init__(
            f"backend={self.backend_name!r} raised:\n{type(inner_exception).__name__}: {inner_exception}\n"
        )


for _error in (TorchDynamoException, Unsupported, InvalidBackend, BackendCompilerFailed):
    _error.__module__ = "torch._dynamo.exc"
