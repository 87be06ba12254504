"""Whether all or any elements are true, and how many are not zero."""

from __future__ import annotations

from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.formulas import axes_of
from shim_torch._impl.table.record import op
from shim_torch._impl.table.rules import fixed, reduced


def _over_none(dim):
    """Whether a list of dims is given that is empty: for ``all`` and ``any`` alone that is not all of them."""
    return dim is not None and len(dim) == 0


def _truth_shape(self, dim, keepdim):
    return tuple(self.shape) if _over_none(dim) else reduced(self, dim, keepdim)


def _truth_dtype(self):
    return None, (_core.uint8 if self.dtype == _core.uint8 else _core.bool)


for _name in ("all", "any"):
    _of_another_dtype = f"{_name} only supports bool tensor for result, got: {{O}}"
    op(
        f"{_name}(Tensor self) -> Tensor",
        shape=lambda self: (),
        dtype=_truth_dtype,
        foreseen="any",
        native=f"{_name}_all",
        out_dtype=_of_another_dtype,
    )((lambda n: lambda xp, self: getattr(xp, n)(self).astype("uint8" if self.dtype == "uint8" else "bool"))(_name))
    op(
        f"{_name}.dim(Tensor self, int dim, bool keepdim=False) -> Tensor",
        out=True,
        never_differentiable=True,
        native=f"{_name}_dim",
        batching="along_dim_or_none",
        nested="reduction",
        out_dtype=_of_another_dtype,
        shape=lambda self, dim, keepdim: reduced(self, (dim,), keepdim),
        dtype=_truth_dtype,
        foreseen="any",
    )(
        (
            lambda n: (
                lambda xp, self, dim, keepdim: getattr(xp, n)(
                    self, axis=axes_of((dim,), self.ndim), keepdims=keepdim
                ).astype("uint8" if self.dtype == "uint8" else "bool")
            )
        )(_name)
    )
    op(
        f"{_name}.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor",
        out=True,
        never_differentiable=True,
        native=f"{_name}",
        batching="along_dim_or_none",
        nested="reduction",
        out_dtype=_of_another_dtype,
        shape=_truth_shape,
        dtype=_truth_dtype,
        foreseen="any",
    )(
        (
            lambda n: (
                lambda xp, self, dim, keepdim: (
                    (self != 0)
                    if _over_none(dim)
                    else getattr(xp, n)(self, axis=axes_of(dim, self.ndim), keepdims=keepdim)
                ).astype("uint8" if self.dtype == "uint8" else "bool")
            )
        )(_name)
    )


@op(
    "count_nonzero.dim_IntList(Tensor self, int[] dim) -> Tensor",
    shape=lambda self, dim: reduced(self, dim, False),
    dtype=fixed("int64"),
    native="count_nonzero",
    nested="reduction",
    batching="along_dim",
)
def count_nonzero_dims(xp, self, dim):
    """How many elements are not 0, over ``dim`` or of all, as int64; NaN is not 0."""
    return (self != 0).sum(axis=axes_of(dim, self.ndim)).astype("int64")


@op(
    "count_nonzero(Tensor self, int? dim=None) -> Tensor",
    shape=lambda self, dim: reduced(self, None if dim is None else (dim,), False),
    dtype=fixed("int64"),
    native="count_nonzero",
)
def count_nonzero(xp, self, dim):
    """How many elements are not 0, along ``dim`` or of all, as int64."""
    return (self != 0).sum(axis=axes_of(None if dim is None else (dim,), self.ndim)).astype("int64")
