"""``torch._dynamo.exc``: what the tracer raises."""

from __future__ import annotations

from shim_torch._impl.compile.errors import BackendCompilerFailed as BackendCompilerFailed
from shim_torch._impl.compile.errors import InvalidBackend as InvalidBackend
from shim_torch._impl.compile.errors import TorchDynamoException as TorchDynamoException
from shim_torch._impl.compile.errors import Unsupported as Unsupported


class RecompileError(TorchDynamoException):
    """A function was compiled again where that was to be an error."""


class RecompileLimitExceeded(Unsupported):
    """A function was compiled too often."""


FailOnRecompileLimitHit = RecompileLimitExceeded


class UserError(Unsupported):
    """The program is wrong."""


class TorchRuntimeError(TorchDynamoException):
    """An operator failed while it was traced."""
