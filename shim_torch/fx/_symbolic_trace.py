"""``torch.fx._symbolic_trace``."""

from shim_torch.fx import Tracer, symbolic_trace, wrap

__all__ = ["Tracer", "symbolic_trace", "wrap"]


def is_fx_tracing() -> bool:
    """Whether a function is being traced: no."""
    return False


def is_fx_symbolic_tracing() -> bool:
    """Whether a function is being traced: no."""
    return False
