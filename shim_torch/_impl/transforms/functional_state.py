"""Functional tensors by hand: ``torch._to_functional_tensor`` and the functions beside it, of ``torch.func.functionalize``'s tensors."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.transforms.functionalization import FunctionalTensor, FunctionalTensorMode


def _to_functional_tensor(t: Any) -> Any:
    """A functional tensor of a tensor's value."""
    return FunctionalTensor(t, FunctionalTensorMode())


def _from_functional_tensor(t: Any) -> Any:
    """The value of a functional tensor, as it was when it was last synchronized; RuntimeError for another tensor."""
    if not isinstance(t, FunctionalTensor):
        raise RuntimeError("torch._from_functional_tensor: expected a functional tensor")
    return t._value


def _sync(t: Any) -> None:
    """Takes the writes to a functional tensor's memory in."""
    if isinstance(t, FunctionalTensor):
        t._sync()


def _enable_functionalization(*, reapply_views: bool = False) -> None:
    """From now on operators run without writes, until ``_disable_functionalization``; views copy without ``reapply_views``."""
    stack = (_core._get_dispatch_stack_at(i) for i in range(_core._len_torch_dispatch_stack()))
    if any(isinstance(m, FunctionalTensorMode) for m in stack):
        raise RuntimeError(
            "multiple layers of mode-style functionalization nesting is not currently supported, outside of the functionalize() transform"
        )
    _core._push_on_torch_dispatch_stack(FunctionalTensorMode(copies=not reapply_views))


def _disable_functionalization() -> None:
    """The end of what ``_enable_functionalization`` began."""
    top = _core._len_torch_dispatch_stack()
    if not top or not isinstance(_core._get_dispatch_stack_at(top - 1), FunctionalTensorMode):
        raise RuntimeError("torch._disable_functionalization: functionalization is not what was enabled last")
    _core._pop_torch_dispatch_stack()
