"""Comparisons of elements and of whole tensors."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.formulas import zeros_as
from shim_torch._impl.table.record import composite, op
from shim_torch._impl.table.refusals import refusing
from shim_torch._impl.table.rules import broadcast, comparison, no_meta_kernel, promote

for _name, _np, _aliases in (
    ("eq", "equal", ()),
    ("ne", "not_equal", ("not_equal",)),
    ("lt", "less", ("less",)),
    ("le", "less_equal", ("less_equal",)),
    ("gt", "greater", ("greater",)),
    ("ge", "greater_equal", ("greater_equal",)),
):
    op(
        f"{_name}.Tensor(Tensor self, Tensor other) -> Tensor",
        shape=broadcast,
        dtype=refusing(comparison, *((("c", f"{_name}_cpu"),) if _name not in ("eq", "ne") else ())),
        inplace=True,
        out=True,
        native=_name,
        foreseen="any",
        aliases=_aliases,
        symbol=_name,
        number_kernel=True,
        numbers="not_first",
        number_overloads=("Scalar",),
        never_differentiable=True,
        # Only of what is compared in place, whose dtype stays.
        grad={"self": zeros_as, "other": zeros_as},
        gradient_name=f"{_name.capitalize()}Backward0/{_name.capitalize()}Backward1",
    )((lambda f: lambda xp, self, other: getattr(xp, f)(self, other))(_np))


@composite("equal(Tensor self, Tensor other) -> bool", native="equal")
def equal(self: Any, other: Any) -> bool:
    """Whether two tensors have the same shape and equal elements, as a bool.

    NaN equals nothing; only on CUDA a tensor is equal to the same memory, whatever it holds.
    """
    if self.is_meta or other.is_meta:
        raise no_meta_kernel("equal")
    if self.shape != other.shape:
        return False
    if (
        self.is_cuda
        and self.data_ptr() == other.data_ptr()
        and self.dtype == other.dtype
        and self.device == other.device
    ):
        if self.stride() == other.stride() and self.is_conj() == other.is_conj() and self.is_neg() == other.is_neg():
            return True  # as PyTorch on CUDA: the same memory is equal, also where it is not a number
    return bool(self.eq(other).all()) if self.numel() else True


def _close_dtype(self: Any, other: Any) -> Any:
    if self.dtype != other.dtype:
        raise RuntimeError(f"{_scalar(self)} did not match {_scalar(other)}")
    return self.dtype, _core.bool


def _scalar(t: Any) -> str:
    return _core.scalar_name(t.dtype)


@op(
    "isclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False) -> Tensor",
    shape=broadcast,
    dtype=_close_dtype,
    native="isclose",
)
def isclose(xp, self, other, rtol, atol, equal_nan):
    """Whether |input - other| <= ``atol`` + ``rtol`` · |other| for each pair of elements, or both are equal.

    Shapes:  broadcast -> bool
    Dtypes:  the same for both (RuntimeError)
    Errors:  RuntimeError for a negative ``rtol`` or ``atol``

    An infinity is close to itself alone; NaN is close to NaN where ``equal_nan`` says so, else to nothing.
    """
    for name, value in (("rtol", rtol), ("atol", atol)):
        if value < 0:
            raise RuntimeError(f"{name} must be greater than or equal to zero, but got {value:g}")
    if self.dtype.kind in "iub":
        if rtol == 0 and atol == 0:  # whole numbers beyond 2**53 are told apart
            return self == other
        a, b = self.astype("float64"), other.astype("float64")
        return (self == other) | (xp.abs(a - b) <= atol + xp.abs(b) * rtol)
    close = (self == other) | (
        xp.isfinite(self) & xp.isfinite(other) & (xp.abs(self - other) <= atol + xp.abs(rtol * other))
    )
    return close | (xp.isnan(self) & xp.isnan(other)) if equal_nan else close


@composite("allclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False) -> bool")
def allclose(self, other, rtol, atol, equal_nan):
    """Whether ``torch.isclose`` holds for every pair of elements, as a bool."""
    return bool(self.isclose(other, rtol, atol, equal_nan).all())


def _isin_dtype(elements: Any, test_elements: Any) -> Any:
    for x in (elements, test_elements):
        if isinstance(x, _core.TensorBase) and (x.is_complex() or x.dtype is _core.bool):
            raise RuntimeError(f"Unsupported input type encountered for isin(): {_scalar(x)}")
    return promote(elements, test_elements), _core.bool


@op(
    "isin.Tensor_Tensor(Tensor elements, Tensor test_elements, *, bool assume_unique=False, bool invert=False) -> Tensor",
    shape=lambda elements: getattr(elements, "shape", ()),
    dtype=lambda elements, test_elements: _isin_dtype(elements, test_elements),
    out=True,
    native="isin",
    numbers="not_all",
    out_dtype="structured",
    never_differentiable=True,
)
def isin(xp, elements, test_elements, assume_unique, invert):
    """Whether each element is among ``test_elements``, or with ``invert`` is not; NaN is among none.

    Shapes:  that of ``elements``; one of the two may be a number
    Dtypes:  compared in the promoted dtype; bool and complex are refused

    ``assume_unique`` promises that no element comes twice; the answer does not depend on it.
    """
    return xp.isin(elements, test_elements, assume_unique=assume_unique, invert=invert)
