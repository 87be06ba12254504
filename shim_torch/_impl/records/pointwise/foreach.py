"""One operation over lists of tensors (``torch._foreach_*``), as optimisers use them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.foreach import (
    Launch,
    check_lists,
    check_pair_scalars,
    check_with_lists,
    declare_both,
    materialized,
    of_each,
)
from shim_torch._impl.table.calls import aten
from shim_torch._impl.table.record import composite

_METHODLESS: dict[str, Any] = {"method": False}

_UNARY = (
    "abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 neg reciprocal round rsqrt "
    "sigmoid sign sin sinh sqrt tan tanh trunc"
).split()


def _declare_unary(name: str) -> None:
    def check(self: Any) -> None:
        check_lists(self)

    launch: Callable[..., Launch] = lambda: (name, (), None)
    functional, in_place = of_each(lambda t: getattr(t, name)(), check, launch, lambda t: getattr(t, name + "_")())

    def checked(self: Any) -> Any:
        if name == "abs" and any(t.is_complex() for t in self):
            raise RuntimeError("In-place abs is not supported for complex tensors.")
        return in_place(self)

    composite(f"_foreach_{name}(Tensor[] self) -> Tensor[]", **_METHODLESS)(functional)
    composite(f"_foreach_{name}_(Tensor(a!)[] self) -> ()", **_METHODLESS)(materialized(name, checked))


for _name in _UNARY:
    _declare_unary(_name)


def _lerp(t: Any, other: Any, weight: Any) -> Any:
    return t.lerp(other, weight)


def _lerp_into(t: Any, other: Any, weight: Any) -> Any:
    return t.lerp_(other, weight)


def _by_numbers(end: Any, weight: Any) -> Launch:
    return "lerp", (end, None), weight


def _by_tensors(end: Any, weight: Any) -> Launch:
    return "lerp", (end, weight), None


declare_both("lerp", "Scalar", "Tensor[] tensors1, Scalar weight", _lerp, check_with_lists, _by_numbers, _lerp_into)
declare_both(
    "lerp", "ScalarList", "Tensor[] tensors1, Scalar[] weight", _lerp, check_pair_scalars, _by_numbers, _lerp_into
)
declare_both("lerp", "List", "Tensor[] tensors1, Tensor[] weights", _lerp, check_with_lists, _by_tensors, _lerp_into)


def _declare_fused(name: str) -> None:
    def run(t: Any, first: Any, second: Any, value: Any = 1) -> Any:
        return getattr(t, name)(first, second, value=value)

    def write(t: Any, first: Any, second: Any, value: Any = 1) -> Any:
        return getattr(t, name + "_")(first, second, value=value)

    def launch(first: Any, second: Any, value: Any = 1) -> Launch:
        return name, (first, second), value

    def unpacked(self: Any, tensor1: Any, tensor2: Any, scalars: Any) -> tuple[Any, ...]:
        if not scalars.is_contiguous():
            raise RuntimeError("Expected scalars to be contiguous.")
        if scalars.dim() != 1:
            raise RuntimeError(f"Expected packed scalar Tensor to be of dimension 1. Got {scalars.dim()} instead.")
        if scalars.numel() != len(self):
            raise RuntimeError(
                f"Expected length of scalars to match input of length {len(self)} but got {scalars.numel()} instead."
            )
        return self, tensor1, tensor2, tuple(scalars.tolist())

    lists = "Tensor[] tensor1, Tensor[] tensor2"
    functional, in_place = of_each(run, check_pair_scalars, launch, write)
    tensor = f"{lists}, Tensor scalars"
    composite(f"_foreach_{name}.Tensor(Tensor[] self, {tensor}) -> Tensor[]", **_METHODLESS)(
        lambda *given: functional(*unpacked(*given))
    )
    composite(f"_foreach_{name}_.Tensor(Tensor(a!)[] self, {tensor}) -> ()", **_METHODLESS)(
        lambda *given: in_place(*unpacked(*given))
    )
    # After tensors: one of no dims would become a number.
    declare_both(name, "Scalar", f"{lists}, Scalar value=1", run, check_with_lists, launch, write)
    declare_both(name, "ScalarList", f"{lists}, Scalar[] scalars", run, check_pair_scalars, launch, write)


_declare_fused("addcmul")
_declare_fused("addcdiv")


@composite("_foreach_norm.Scalar(Tensor[] self, Scalar ord=2, ScalarType? dtype=None) -> Tensor[]", **_METHODLESS)
def foreach_norm(self, ord, dtype):
    """The norm of order ``ord`` of all elements of each tensor, computed in ``dtype``: a tensor without dims each."""
    check_lists(self)
    found = norms_on_cuda(self, ord) if dtype is None else None
    if found is not None:
        return found.unbind(0)
    return tuple(aten.linalg_vector_norm(t, ord, dtype=dtype) for t in self)


def norms_on_cuda(tensors: Any, order: Any) -> Any:
    """The norms of CUDA tensors in one tensor; None where there is no kernel for them."""
    name = {1: "one", 2: "two", math.inf: "infinity"}.get(order) if isinstance(order, (int, float)) else None
    if name is None or not tensors[0].is_cuda or (name == "infinity" and any(t.numel() == 0 for t in tensors)):
        return None
    return _core.cuda_norms(tensors, name)


@composite("_foreach_powsum.Scalar(Tensor[] self, Scalar ord=2, ScalarType? dtype=None) -> Tensor[]", **_METHODLESS)
def foreach_powsum(self, ord, dtype):
    """The sums of the powers of the sizes: norms without the root."""
    check_lists(self)
    return tuple((t if dtype is None else t.to(dtype)).abs().pow(ord).sum() for t in self)


@composite("_foreach_max(Tensor[] self) -> Tensor[]", **_METHODLESS)
def foreach_max(self):
    """The largest element of each tensor; a tensor without elements raises RuntimeError."""
    check_lists(self)
    if any(t.numel() == 0 for t in self):
        raise RuntimeError(
            "_foreach_max cannot compute the maximum of an empty tensor; max over zero elements is undefined."
        )
    return tuple(t.max() for t in self)


@composite("_foreach_mm(Tensor[] self, Tensor[] mat2) -> Tensor[]", **_METHODLESS)
def foreach_mm(self, mat2):
    """The product of each matrix with the one at its place in ``mat2``."""
    check_lists(self, mat2)
    return tuple(a.mm(b) for a, b in zip(self, mat2, strict=True))


@composite("_foreach_clone(Tensor[] self, *, MemoryFormat? memory_format=None) -> Tensor[]", **_METHODLESS)
def foreach_clone(self, memory_format):
    """A copy of each tensor."""
    return tuple(t.clone(memory_format=memory_format) for t in self)


@composite("_foreach_zero_(Tensor(a!)[] self) -> ()", **_METHODLESS)
def foreach_zero(self):
    """Sets all elements of each tensor to 0."""
    check_lists(self)
    for t in self:
        t.zero_()
    return self


@composite("_foreach_copy_(Tensor(a!)[] self, Tensor[] src, bool non_blocking=False) -> ()", **_METHODLESS)
def foreach_copy(self, src, non_blocking):
    """Copies into each tensor the one at its place in ``src``, converted to its dtype and device."""
    check_lists(self)
    check_lists(src)
    check_lists(self, src)
    for t, s in zip(self, src, strict=True):
        t.copy_(s, non_blocking)
    return self


@composite("_amp_foreach_non_finite_check_and_unscale_(Tensor(a!)[] self, Tensor(b!) found_inf, Tensor inv_scale) -> ()",
           **_METHODLESS)  # fmt: skip
def amp_unscale(self, found_inf, inv_scale):
    """Multiplies gradients by ``inv_scale``; ``found_inf`` becomes 1 where one of them is not finite."""
    greatest = norms_on_cuda(self, math.inf) if self else None
    if greatest is not None:  # without waiting for the GPU
        found_inf.copy_(found_inf.maximum((greatest.isfinite().logical_not()).any().to(found_inf.dtype)))
        if _core.cuda_each("mul", True, self, (inv_scale.to(self[0].dtype),), None) is not None:
            return
    for t in self:
        if greatest is None:
            wrong = t.isfinite().all().logical_not_()  # stays on the device: nobody waits for it here
            found_inf.copy_(found_inf.maximum(wrong.to(found_inf.dtype)))
        t.mul_(inv_scale.reshape(()))  # in float32 for halves: their own inverse may be no number they have


@composite("_amp_update_scale_(Tensor(a!) self, Tensor(b!) growth_tracker, Tensor found_inf, float scale_growth_factor, float scale_backoff_factor, int growth_interval) -> Tensor(a!)",
           function=True, **_METHODLESS)  # fmt: skip
def amp_update_scale(self, growth_tracker, found_inf, scale_growth_factor, scale_backoff_factor, growth_interval):
    """The next scale of a GradScaler: less after a step that overflowed, more after ``growth_interval`` good ones in a row."""
    good = found_inf.to(self.device) == 0
    count = (growth_tracker + 1).where(good, 0)
    grown = self * scale_growth_factor
    grows = (count == growth_interval) & good & grown.isfinite()
    self.copy_(grown.where(grows, self).where(good, self * scale_backoff_factor))
    growth_tracker.copy_(count.where(count != growth_interval, 0))
    return self
