"""What C++ extensions ask of Python: ``torch::autograd::Function``, one Python Function a C++ type; operators by name."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from shim_torch._impl.native import _core


@lru_cache(None)
def _function(name: str) -> Any:
    from shim_torch.autograd import Function

    def forward(ctx: Any, state: Any, *inputs: Any) -> Any:
        ctx._cxx = state
        return _core.cxx_forward(state, ctx)

    def backward(ctx: Any, *grads: Any) -> Any:
        return (None, *_core.cxx_backward(ctx._cxx, ctx, grads))

    return type(name, (Function,), {"forward": staticmethod(forward), "backward": staticmethod(backward)})


def apply(name: str, state: Any, *inputs: Any) -> Any:
    """The results of the C++ function whose calls' state is ``state``, recorded for backward."""
    return _function(name).apply(state, *inputs)


def define(qualified: str, overload: str) -> bool:
    """Whether torch.ops has the operator: it enters the table when it is asked for."""
    import shim_torch

    namespace, _, name = qualified.partition("::")
    packet = getattr(getattr(shim_torch.ops, namespace), name, None)
    return getattr(packet, overload or "default", None) is not None
