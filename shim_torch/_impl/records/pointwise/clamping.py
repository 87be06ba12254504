"""Elements held within bounds that are numbers or tensors."""

from __future__ import annotations

from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.formulas import kept
from shim_torch._impl.table.record import op
from shim_torch._impl.table.refusals import refuse, refusing
from shim_torch._impl.table.rules import broadcast, promote, same


def _clamp_dtype(self, min, max):
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    given = [a for a in (min, max) if a is not None]
    if isinstance(given[0], _core.TensorBase):
        dtype = promote(self, *given)
        refuse(dtype, ("bc", "clamp_cpu"))
        return dtype
    return _held(self, given, "clamp_scalar_cpu")


_NO_COMPLEX = ("c", "!clamp is not supported for complex types")


def _held(self, numbers, kernel):
    """The dtype of a clamp with numbers, which it must hold."""
    if any(isinstance(n, complex) for n in numbers) and not self.is_complex():
        raise RuntimeError("value cannot be converted to type double without overflow")
    dtype = promote(self, *numbers)
    refuse(dtype, _NO_COMPLEX, ("b", kernel))
    for n in numbers:
        _core.check_fits(n, dtype)
    return dtype


def _clamp_grad(g, self, min, max):
    keep = None
    if min is not None:
        keep = self >= min
    if max is not None:
        keep = self <= max if keep is None else keep & (self <= max)
    return kept(g, keep)


def _bounded(xp, self, min, max):
    if min is not None:
        self = xp.maximum(self, _bound(xp, self, min))
    if max is not None:
        self = xp.minimum(self, _bound(xp, self, max))
    return self


def _bound(xp, self, bound):
    return bound if hasattr(bound, "shape") else xp.asarray(bound).astype(self.dtype)


@op(
    "clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor",
    native="clamp_tensors",
    shape=broadcast,
    dtype=_clamp_dtype,
    inplace="function",
    out=True,
    aliases=("clip",),
    grad={
        "self": _clamp_grad,
        "min": lambda g, self, min, max: _clamp_bound(g, self, min, max, True),
        "max": lambda g, self, max, min: _clamp_bound(g, self, max, min, False),
    },
    out_overload="Tensor_out",
)
def clamp_tensor(xp, self, min, max):
    """Each element bounded: at least ``min``, at most ``max``, and ``max`` where the bounds cross. None is no bound.

    Shapes:  bounds are numbers, or tensors that broadcast
    Dtypes:  promoted; bool and complex are refused
    Errors:  RuntimeError where both bounds are None
    """
    return _bounded(xp, self, min, max)


def _clamp_bound(g, self, bound, other, low):
    """Where the bound is the result; where the bounds cross that is the upper one."""
    hit = self < bound if low else self > bound
    if other is not None:
        hit = hit & (bound < other) if low else hit | (bound < other)
    return kept(g, hit)


@op(
    "clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor",
    gradient_name="ClampBackward1",
    shape=same,
    dtype=_clamp_dtype,
    inplace="function",
    out=True,
    native="clamp",
    aliases=("clip",),
    grad={"self": _clamp_grad},
)
def clamp(xp, self, min, max):
    """The elements bounded by numbers: at least ``min``, at most ``max``; None is no bound."""
    return _bounded(xp, self, min, max)


@op(
    "clamp_min.Tensor(Tensor self, Tensor min) -> Tensor",
    gradient_name="ClampMinBackward1",
    shape=broadcast,
    dtype=refusing(promote, ("c", "maximum_cpu")),
    inplace="function",
    out=True,
    native="clamp_min_tensor",
    grad={
        "self": lambda g, self, min: kept(g, self >= min),
        "min": lambda g, self, min: kept(g, self < min),
    },
    out_overload="Tensor_out",
)
def clamp_min_tensor(xp, self, min):
    """The larger of each element and ``min``, a number or a tensor that broadcasts; NaN stays. Complex is refused."""
    return _bounded(xp, self, min, None)


@op(
    "clamp_min(Tensor self, Scalar min) -> Tensor",
    gradient_name="ClampMinBackward0",
    shape=same,
    dtype=lambda self, min: _held(self, [min], "clamp_min_scalar_cpu"),
    inplace="function",
    out=True,
    native="clamp_min",
    grad={"self": lambda g, self, min: kept(g, self >= min)},
)
def clamp_min(xp, self, min):
    """The larger of each element and a number."""
    return _bounded(xp, self, min, None)


@op(
    "clamp_max.Tensor(Tensor self, Tensor max) -> Tensor",
    gradient_name="ClampMaxBackward1",
    shape=broadcast,
    dtype=refusing(promote, ("c", "minimum_cpu")),
    inplace="function",
    out=True,
    native="clamp_max_tensor",
    grad={
        "self": lambda g, self, max: kept(g, self <= max),
        "max": lambda g, self, max: kept(g, self > max),
    },
    out_overload="Tensor_out",
)
def clamp_max_tensor(xp, self, max):
    """The smaller of each element and ``max``, a number or a tensor that broadcasts; NaN stays. Complex is refused."""
    return _bounded(xp, self, None, max)


@op(
    "clamp_max(Tensor self, Scalar max) -> Tensor",
    gradient_name="ClampMaxBackward0",
    shape=same,
    dtype=lambda self, max: _held(self, [max], "clamp_max_scalar_cpu"),
    inplace="function",
    out=True,
    native="clamp_max",
    grad={"self": lambda g, self, max: kept(g, self <= max)},
)
def clamp_max(xp, self, max):
    """The smaller of each element and a number."""
    return _bounded(xp, self, None, max)
