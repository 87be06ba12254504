"""Sums, products, powers and bounds over lists of tensors (``torch._foreach_*``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.foreach import (
    Launch,
    check_alone,
    check_scalars,
    check_with_list,
    check_with_tensor,
    declare_both,
)
from shim_torch._impl.table.calls import torch
from shim_torch._impl.table.record import composite

_METHODLESS: dict[str, Any] = {"method": False}


_KERNELS = {"clamp_min": "maximum", "clamp_max": "minimum"}


def _binary_launch(name: str) -> Callable[..., Launch]:
    kernel = _KERNELS.get(name, name)

    def launch(other: Any, alpha: Any = 1) -> Launch:
        tensors = isinstance(other, _core.TensorBase) or (
            isinstance(other, (list, tuple)) and bool(other) and isinstance(other[0], _core.TensorBase)
        )
        if not tensors:
            return kernel, (None,), other
        if alpha == 1:
            return kernel, (other,), None
        return "add_scaled", (other, None), -alpha if name == "sub" else alpha

    return launch


def _declare_binary(
    name: str,
    word: str,
    run: Callable[..., Any],
    alpha: bool = False,
    tensor: bool = False,
    *,
    write: Callable[..., Any],
) -> None:
    launch = _binary_launch(name)
    more = ", *, Scalar alpha=1" if alpha else ""
    scalar = "exponent" if name == "pow" else "scalar"
    many = "exponent" if name == "pow" else "scalars"
    if tensor:  # before numbers, which a tensor of no dims would become
        declare_both(
            name,
            "Tensor",
            f"Tensor other{', *, Scalar alpha=1' if name == 'add' else ''}",
            run,
            check_with_tensor,
            launch,
            write,
        )
    declare_both(name, "Scalar", f"Scalar {scalar}", run, check_alone, launch, write)
    # Before lists of tensors: numbers match here alone.
    declare_both(name, "ScalarList", f"Scalar[] {many}", run, check_scalars, launch, write)
    declare_both(name, "List", f"Tensor[] {word}{more}", run, check_with_list, launch, write)


def _refuse_bools(t: Any, other: Any) -> None:
    if t.dtype == _core.bool and getattr(other, "dtype", None) == _core.bool:
        t.sub(t)  # refuses the dtype, of which PyTorch speaks before it looks at the sizes


def _difference(t: Any, other: Any, alpha: Any = 1) -> Any:
    _refuse_bools(t, other)
    return t.sub(other, alpha=alpha)


def _subtract(t: Any, other: Any, alpha: Any = 1) -> Any:
    _refuse_bools(t, other)
    return t.sub_(other, alpha=alpha)


def _no_complex(kernel: str, t: Any, other: Any) -> None:
    if t.is_complex() and not t.is_meta:
        t.eq(other)  # refuses sizes that do not fit, of which PyTorch speaks first
        kind = _core.promote_types(t.dtype, other.dtype)
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{_core.scalar_name(kind)}'")


def _least(t: Any, other: Any) -> Any:
    if not hasattr(other, "dim"):
        return t.clamp_max(other)
    _no_complex("minimum_cpu", t, other)
    return t.minimum(other)


def _greatest(t: Any, other: Any) -> Any:
    if not hasattr(other, "dim"):
        return t.clamp_min(other)
    _no_complex("maximum_cpu", t, other)
    return t.maximum(other)


def _put(t: Any, new: Any) -> Any:
    if not _core.can_cast(new.dtype, t.dtype):
        raise RuntimeError(
            f"result type {_core.scalar_name(new.dtype)} can't be cast to the desired output type {_core.scalar_name(t.dtype)}"
        )
    return t.copy_(new)


def _raise_to(t: Any, other: Any) -> Any:
    return _put(t, _greatest(t, other)) if hasattr(other, "dim") else t.clamp_min_(other)


def _lower_to(t: Any, other: Any) -> Any:
    return _put(t, _least(t, other)) if hasattr(other, "dim") else t.clamp_max_(other)


_declare_binary(
    "add",
    "other",
    lambda t, other, alpha=1: t.add(other, alpha=alpha),
    alpha=True,
    tensor=True,
    write=lambda t, other, alpha=1: t.add_(other, alpha=alpha),
)


_declare_binary("sub", "other", _difference, alpha=True, write=_subtract)


_declare_binary("mul", "other", lambda t, other: t.mul(other), tensor=True, write=lambda t, other: t.mul_(other))


_declare_binary("div", "other", lambda t, other: t.div(other), tensor=True, write=lambda t, other: t.div_(other))


_declare_binary("pow", "exponent", lambda t, power: t.pow(power), write=lambda t, power: t.pow_(power))


for _name, _run, _write in (
    ("clamp_min", _greatest, _raise_to),
    ("maximum", _greatest, _raise_to),
    ("clamp_max", _least, _lower_to),
    ("minimum", _least, _lower_to),
):
    _declare_binary(_name, "other", _run, write=_write)


@composite("_foreach_pow.ScalarAndTensor(Scalar self, Tensor[] exponent) -> Tensor[]", **_METHODLESS)
def foreach_pow_scalar(self, exponent):
    """input ** exponent for each pair of their elements.

    What is one number, on either side, goes with every element of the other.
    """
    return tuple(torch.pow(self, e) for e in exponent)
