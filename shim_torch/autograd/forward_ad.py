"""``torch.autograd.forward_ad``: directional derivatives alongside the values."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

from shim_torch._impl.native import _core
from shim_torch.autograd.grad_mode import _Decorator

__all__ = [
    "UnpackedDualTensor",
    "dual_level",
    "enter_dual_level",
    "exit_dual_level",
    "make_dual",
    "unpack_dual",
]


_current_level = -1  # 0 while a level is open


class UnpackedDualTensor(NamedTuple):
    """A tensor's value and its tangent (None where it has none)."""

    primal: Any
    tangent: Any


def enter_dual_level() -> int:
    """Opens the level in which tensors carry tangents; RuntimeError if one is open."""
    global _current_level
    _current_level = int(_core._enter_dual_level())
    return _current_level


def exit_dual_level(*, level: int | None = None) -> None:
    """Closes the level: tangents are gone."""
    global _current_level
    if level is not None and level != _current_level:
        raise RuntimeError(
            "Trying to exit a forward AD level that was not the last one that was created. This is not supported."
        )
    _core._exit_dual_level()
    _current_level = -1


class dual_level(_Decorator):
    """Within it, tensors carry tangents."""

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, *args: object) -> None:
        exit_dual_level()


def make_dual(tensor: Any, tangent: Any, *, level: int | None = None) -> Any:
    """A view of ``tensor`` with ``tangent``, of the same shape and dtype, as its tangent."""
    if not _core._is_dual_level_open():
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first."
        )
    for name, t in (("primal", tensor), ("tangent", tangent)):
        if not (t.is_floating_point() or t.is_complex()):
            raise ValueError(f"Expected {name} to be floating point or complex, but got: {t.dtype}")
    if level is not None and level != _current_level:
        raise RuntimeError("Invalid level given to _make_dual")
    if tensor.shape != tangent.shape:
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not supported. "
            f"Tensor is of size {list(tensor.shape)} while the given forward gradient is of size {list(tangent.shape)}."
        )
    if _core._get_tangent(tensor) is not None:
        raise RuntimeError(
            "Making a dual Tensor based on a Tensor that already has a forward gradient at the same level 0 is not supported."
        )
    if _core._get_tangent(tangent) is not None:
        raise RuntimeError(
            "Setting a forward grad that itself has a forward gradient at the same level0 is not supported."
        )
    on = _core._pause_tangents(False)
    try:
        dual = _same(tensor)
    finally:
        _core._pause_tangents(on)
    if on:
        _core._set_tangent(dual, tangent if _laid_out_alike(dual, tangent) else _relaid(tensor, tangent))
    return dual


def _same(tensor: Any) -> Any:
    """A view of the whole tensor; handlers of ``__torch_dispatch__`` see ``alias``."""
    if _core._len_torch_dispatch_stack() or _is_of_python(tensor):
        return _core.function("aten::alias")(tensor)
    return tensor.view_as(tensor)


def _laid_out_alike(tensor: Any, tangent: Any) -> bool:
    """Whether every view of the one is a view of the other: a tangent that is not is copied."""
    if tensor.layout != _core.strided or tangent.layout != _core.strided:
        return True
    strides = zip(tensor.shape, tensor.stride(), tangent.stride(), strict=True)
    if type(tangent).__name__ == "BatchedTensor":  # items have no memory of their own
        return all(n < 2 or a == b for n, a, b in strides)
    if _is_of_python(tensor) or _is_of_python(tangent):
        return True
    elements = [t.untyped_storage().nbytes() // t.element_size() for t in (tensor, tangent)]
    return (
        all(n < 2 or a == b for n, a, b in strides)
        and elements[0] == elements[1]
        and (tensor.storage_offset() == tangent.storage_offset() or tensor.numel() == 0)
        and (tensor.is_conj(), tensor.is_neg()) == (tangent.is_conj(), tangent.is_neg())
    )


def _is_of_python(t: Any) -> bool:
    """Whether a class of Python holds what the tensor's values are."""
    kind = type(t)
    return kind is not _core.Tensor and kind.__torch_dispatch__ is not _core._disabled_torch_dispatch_impl


def _relaid(tensor: Any, tangent: Any) -> Any:
    """A copy of the tangent in the tensor's layout, over as much memory."""
    made = _core.function("aten::_new_zeros_with_same_feature_meta")(tangent.detach(), tensor.detach())
    if tensor.is_conj():
        made = made.conj()
    if tensor.is_neg():
        made = made._neg_view()
    return made.copy_(tangent)


def unpack_dual(tensor: Any, *, level: int | None = None) -> UnpackedDualTensor:
    """The value and the tangent of a tensor."""
    tangent = _core._get_tangent(tensor)
    if tangent is None:
        return UnpackedDualTensor(tensor, None)
    on = _core._pause_tangents(False)
    try:
        return UnpackedDualTensor(tensor.view_as(tensor), tangent)
    finally:
        _core._pause_tangents(on)


class _set_fwd_grad_enabled(_Decorator):
    """Switches the computing of tangents on or off."""

    def __init__(self, mode: bool) -> None:
        self.mode = mode
        self.prev = _core._pause_tangents(mode)

    def __enter__(self) -> None:
        self.gates: Any = None
        levels = sys.modules.get("shim_torch._impl.transforms.levels")  # without it no transform runs
        if levels is not None and not self.mode and any(getattr(t, "kind", "") == "Jvp" for t in levels.running):
            from shim_torch._impl.transforms.forward_gates import Gates

            self.gates = Gates()
            self.gates.__enter__()

    def __exit__(self, *args: object) -> None:
        _core._pause_tangents(self.prev)
        if self.gates is not None:
            self.gates.__exit__(None, None, None)

    def clone(self) -> _set_fwd_grad_enabled:
        return type(self)(self.mode)


def _is_fwd_grad_enabled() -> bool:
    """Whether tangents are computed, or would be in a level."""
    old = _core._pause_tangents(True)
    _core._pause_tangents(old)
    return bool(old)


for _class in (UnpackedDualTensor, dual_level):
    _class.__module__ = "torch.autograd.forward_ad"
