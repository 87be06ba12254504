"""One operation over lists of tensors (``torch._foreach_*``), as optimisers use them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.table.calls import aten, torch
from shim_torch._impl.table.record import composite

_METHODLESS: dict[str, Any] = {"method": False}

_UNARY = (
    "abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 neg reciprocal round rsqrt "
    "sigmoid sign sin sinh sqrt tan tanh trunc"
).split()


def _lists(first: Any, *others: Any) -> None:
    for other in others:
        if len(other) != len(first):
            raise RuntimeError(f"Tensor lists must have the same number of tensors, got {len(first)} and {len(other)}")
    if not first:
        raise RuntimeError("Tensor list must have at least one tensor.")


def _scalars(first: Any, scalars: Any) -> None:
    _lists(first)
    if len(scalars) != len(first):
        raise RuntimeError("Tensor list must have same number of elements as scalar list.")


def _scalar_tensor(scalar: Any) -> None:
    if scalar.dim() or scalar.numel() != 1:
        raise RuntimeError(
            f"scalar tensor expected to be 0 dim but it has {scalar.dim()} dimensions and {scalar.numel()} elements."
        )


# The pointwise kernel, its operands after the first (None where numbers are), the numbers.
Launch = tuple[str, tuple[Any, ...], Any]


def _on_cuda(launch: Callable[..., Launch], in_place: bool, self: Any, rest: tuple[Any, ...]) -> Any:
    """All tensors in few launches; None where they are not on CUDA, or differ in what one kernel needs to be the same."""
    if not self[0].is_cuda:
        return None
    name, others, numbers = launch(*rest)
    return _core.cuda_each(name, in_place, self, others, numbers)


def _each(
    run: Callable[..., Any], check: Callable[..., None], launch: Callable[..., Launch], write: Callable[..., Any]
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The functional body and the in-place one, of each tensor with its share of the others: ``run`` and ``write``."""

    def functional(self: Any, *rest: Any) -> Any:
        check(self, *rest)
        found = _on_cuda(launch, False, self, rest)
        if found is not None:
            return found
        return tuple(run(t, *(r[i] if isinstance(r, (list, tuple)) else r for r in rest)) for i, t in enumerate(self))

    def in_place(self: Any, *rest: Any) -> Any:
        check(self, *rest)
        if _on_cuda(launch, True, self, rest) is not None:
            return self
        for i, t in enumerate(self):
            write(t, *(r[i] if isinstance(r, (list, tuple)) else r for r in rest))
        return self

    return functional, in_place


def _materialized(name: str, in_place: Callable[..., Any]) -> Callable[..., Any]:
    """PyTorch does not write lists of conjugate tensors."""

    def body(self: Any, *rest: Any) -> Any:
        if any(t.is_conj() for t in self):
            raise RuntimeError(
                " fallback doesn't currently support mutable TensorLists with conjugate inputs. Please materialize all the conjugate "
                f"input tensor(s) in the mutable TensorList inputs before calling aten::_foreach_{name}_"
            )
        return in_place(self, *rest)

    return body


def _both(
    name: str,
    overload: str,
    rest: str,
    run: Callable[..., Any],
    check: Callable[..., None],
    launch: Callable[..., Launch],
    write: Callable[..., Any],
) -> None:
    functional, in_place = _each(run, check, launch, write)
    dot = f".{overload}" if overload else ""
    comma = f", {rest}" if rest else ""
    composite(f"_foreach_{name}{dot}(Tensor[] self{comma}) -> Tensor[]", **_METHODLESS)(functional)
    writing = _materialized(name, in_place)
    composite(f"_foreach_{name}_{dot}(Tensor(a!)[] self{comma}) -> ()", **_METHODLESS)(writing)


def _declare_unary(name: str) -> None:
    def check(self: Any) -> None:
        _lists(self)

    launch: Callable[..., Launch] = lambda: (name, (), None)
    functional, in_place = _each(lambda t: getattr(t, name)(), check, launch, lambda t: getattr(t, name + "_")())

    def checked(self: Any) -> Any:
        if name == "abs" and any(t.is_complex() for t in self):
            raise RuntimeError("In-place abs is not supported for complex tensors.")
        return in_place(self)

    composite(f"_foreach_{name}(Tensor[] self) -> Tensor[]", **_METHODLESS)(functional)
    composite(f"_foreach_{name}_(Tensor(a!)[] self) -> ()", **_METHODLESS)(_materialized(name, checked))


for _name in _UNARY:
    _declare_unary(_name)


def _check_list(self: Any, other: Any, *_: Any) -> None:
    _lists(self, other)


def _check_one(self: Any, *_: Any) -> None:
    _lists(self)


def _check_tensor(self: Any, other: Any, *_: Any) -> None:
    _lists(self)
    _scalar_tensor(other)


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
        _both(
            name,
            "Tensor",
            f"Tensor other{', *, Scalar alpha=1' if name == 'add' else ''}",
            run,
            _check_tensor,
            launch,
            write,
        )
    _both(name, "Scalar", f"Scalar {scalar}", run, _check_one, launch, write)
    # Before lists of tensors: numbers match here alone.
    _both(name, "ScalarList", f"Scalar[] {many}", run, _scalars, launch, write)
    _both(name, "List", f"Tensor[] {word}{more}", run, _check_list, launch, write)


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
    return tuple(torch.pow(self, e) for e in exponent)


def _lerp(t: Any, other: Any, weight: Any) -> Any:
    return t.lerp(other, weight)


def _lerp_into(t: Any, other: Any, weight: Any) -> Any:
    return t.lerp_(other, weight)


def _check_lists(self: Any, *others: Any) -> None:
    _lists(self, *(o for o in others if isinstance(o, list)))


def _check_pair_scalars(self: Any, first: Any, *rest: Any) -> None:
    _lists(self, first, *rest[:-1])
    _scalars(self, rest[-1])


def _by_numbers(end: Any, weight: Any) -> Launch:
    return "lerp", (end, None), weight


def _by_tensors(end: Any, weight: Any) -> Launch:
    return "lerp", (end, weight), None


_both("lerp", "Scalar", "Tensor[] tensors1, Scalar weight", _lerp, _check_lists, _by_numbers, _lerp_into)
_both("lerp", "ScalarList", "Tensor[] tensors1, Scalar[] weight", _lerp, _check_pair_scalars, _by_numbers, _lerp_into)
_both("lerp", "List", "Tensor[] tensors1, Tensor[] weights", _lerp, _check_lists, _by_tensors, _lerp_into)


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
    functional, in_place = _each(run, _check_pair_scalars, launch, write)
    tensor = f"{lists}, Tensor scalars"
    composite(f"_foreach_{name}.Tensor(Tensor[] self, {tensor}) -> Tensor[]", **_METHODLESS)(
        lambda *given: functional(*unpacked(*given))
    )
    composite(f"_foreach_{name}_.Tensor(Tensor(a!)[] self, {tensor}) -> ()", **_METHODLESS)(
        lambda *given: in_place(*unpacked(*given))
    )
    # After tensors: one of no dims would become a number.
    _both(name, "Scalar", f"{lists}, Scalar value=1", run, _check_lists, launch, write)
    _both(name, "ScalarList", f"{lists}, Scalar[] scalars", run, _check_pair_scalars, launch, write)


_declare_fused("addcmul")
_declare_fused("addcdiv")


@composite("_foreach_norm.Scalar(Tensor[] self, Scalar ord=2, ScalarType? dtype=None) -> Tensor[]", **_METHODLESS)
def foreach_norm(self, ord, dtype):
    _lists(self)
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
    _lists(self)
    return tuple((t if dtype is None else t.to(dtype)).abs().pow(ord).sum() for t in self)


@composite("_foreach_max(Tensor[] self) -> Tensor[]", **_METHODLESS)
def foreach_max(self):
    _lists(self)
    if any(t.numel() == 0 for t in self):
        raise RuntimeError(
            "_foreach_max cannot compute the maximum of an empty tensor; max over zero elements is undefined."
        )
    return tuple(t.max() for t in self)


@composite("_foreach_mm(Tensor[] self, Tensor[] mat2) -> Tensor[]", **_METHODLESS)
def foreach_mm(self, mat2):
    _lists(self, mat2)
    return tuple(a.mm(b) for a, b in zip(self, mat2, strict=True))


@composite("_foreach_clone(Tensor[] self, *, MemoryFormat? memory_format=None) -> Tensor[]", **_METHODLESS)
def foreach_clone(self, memory_format):
    return tuple(t.clone(memory_format=memory_format) for t in self)


@composite("_foreach_zero_(Tensor(a!)[] self) -> ()", **_METHODLESS)
def foreach_zero(self):
    _lists(self)
    for t in self:
        t.zero_()
    return self


@composite("_foreach_copy_(Tensor(a!)[] self, Tensor[] src, bool non_blocking=False) -> ()", **_METHODLESS)
def foreach_copy(self, src, non_blocking):
    _lists(self)
    _lists(src)
    _lists(self, src)
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
