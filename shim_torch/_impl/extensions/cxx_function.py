"""``torch::autograd::Function`` of C++ extensions: one Python Function a C++ type, its forward and backward the compiled ones."""

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
