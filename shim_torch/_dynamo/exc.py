"""``torch._dynamo.exc``: what the tracer raises."""

from __future__ import annotations


class TorchDynamoException(RuntimeError):
    """Tracing failed."""


class Unsupported(TorchDynamoException):
    """Code that can't be traced."""


class BackendCompilerFailed(TorchDynamoException):
    """The backend failed."""


class RecompileError(TorchDynamoException):
    """A function was compiled again where that was to be an error."""


class RecompileLimitExceeded(Unsupported):
    """A function was compiled too often."""


FailOnRecompileLimitHit = RecompileLimitExceeded


class UserError(Unsupported):
    """The program is wrong."""


class TorchRuntimeError(TorchDynamoException):
    """An operator failed while it was traced."""
