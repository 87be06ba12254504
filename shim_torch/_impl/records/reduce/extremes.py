"""The largest and smallest over dims, and where they stand."""

from __future__ import annotations

from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.extremes import full_extremum_grad, nonempty, picked, picked_grad
from shim_torch._impl.records.shared.formulas import axes_of, with_dims
from shim_torch._impl.surface.warnings import warn_once
from shim_torch._impl.table.calls import shim
from shim_torch._impl.table.record import composite, op
from shim_torch._impl.table.refusals import refuse, refusing_like
from shim_torch._impl.table.rules import wrap_dim, wrap_dims


def _extremum_grad(g, self, result, dim, keepdim):
    """Divided evenly among equal elements."""
    result = with_dims(result, self.shape, dim, keepdim)
    hit = self == result
    return with_dims(g, self.shape, dim, keepdim) * hit / hit.sum(wrap_dims(dim, self.dim()) or None, True)


@op(
    "amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor",
    foreseen="floats",
    shape=nonempty("amax"),
    dtype=refusing_like(("c", "max_values_cpu")),
    out=True,
    native="amax",
    grad={"self": _extremum_grad},
    nested="reduction",
    out_dtype="Expected the dtype for input and out to match, but got {R} for input's dtype and {O} for out's dtype.",
)
def amax(xp, self, dim, keepdim):
    """The largest elements over ``dim`` (all dims without it), NaN where one is NaN.

    Dtypes:  as the input's; complex is refused
    Grad:    shared evenly by equal elements
    Errors:  where there are no elements to reduce
    """
    return self.max(axis=axes_of(dim, self.ndim), keepdims=keepdim)


@op(
    "amin(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor",
    shape=nonempty("amin"),
    dtype=refusing_like(("c", "min_values_cpu")),
    out=True,
    native="amin",
    grad={"self": _extremum_grad},
    nested="reduction",
    out_dtype="Expected the dtype for input and out to match, but got {R} for input's dtype and {O} for out's dtype.",
)
def amin(xp, self, dim, keepdim):
    """The smallest elements over ``dim`` (all dims without it), NaN where one is NaN.

    Dtypes:  as the input's; complex is refused
    Grad:    shared evenly by equal elements
    Errors:  where there are no elements to reduce
    """
    return self.min(axis=axes_of(dim, self.ndim), keepdims=keepdim)


@op(
    "shim::aminmax(Tensor self, bool all, bool keepdim) -> (Tensor, Tensor)",
    shape=lambda self, all, keepdim: [_without_last(self.shape, all, keepdim)] * 2,
    dtype=lambda self: (None, [self.dtype, self.dtype]),
    keep=("self",),
    native="aminmax_of",
    function=False,
)
def aminmax_of(xp, self, all, keepdim):
    """The least and the greatest element of all, or along the last dim; NaN where one is."""
    axis = None if all else -1
    return self.min(axis=axis, keepdims=keepdim), self.max(axis=axis, keepdims=keepdim)


def _without_last(shape, all, keepdim):
    return ((1,) * len(shape) if all else (*shape[:-1], 1)) if keepdim else () if all else tuple(shape[:-1])


@composite(
    "aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)",
    gradient_name="AminmaxBackward0",
    out=True,
    batching="along_dim",
    out_dtype="structured",
)
def aminmax(self, dim, keepdim):
    """The smallest and the largest elements, of all or along ``dim``; both NaN where one is. Complex is refused."""
    refuse(self.dtype, ("c", "aminmax_cpu"))
    if dim is None and self.numel() == 0:
        raise RuntimeError(
            "aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity."
        )
    if dim is not None and self.dim() and self.numel() == 0 and self.size(dim) == 0:
        raise IndexError(f"aminmax: Expected reduction dim {wrap_dim(dim, self.dim())} to have non-zero size.")

    recorded = self.requires_grad and _core.is_grad_enabled()
    last = dim is None or self.dim() == 0 or wrap_dim(dim, self.dim()) == self.dim() - 1
    if last and not recorded and self.numel() and _core.unseen_on_cuda(self):
        return shim.aminmax(self, dim is None or self.dim() == 0, keepdim)
    dims = () if dim is None else (dim,)
    return self.amin(dims, keepdim), self.amax(dims, keepdim)


@composite("_aminmax(Tensor self) -> (Tensor, Tensor)", method=False)
def _aminmax(self):
    """Deprecated: the smallest and the largest element."""
    _warn_of_aminmax()
    return tuple(self.aminmax())


@composite("_aminmax.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor, Tensor)", method=False)
def _aminmax_dim(self, dim, keepdim):
    _warn_of_aminmax()
    return tuple(self.aminmax(dim=dim, keepdim=keepdim))


def _warn_of_aminmax() -> None:
    warn_once(
        "_aminmax is deprecated as of PyTorch 1.11 and will be removed in a future release. Use aminmax instead. This warning "
        "will only appear once per process."
    )


def _full_extremum(name, reduce):
    def check(self):
        if self.numel() == 0:
            raise RuntimeError(
                f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' argument."
            )
        return ()

    def body(xp, self):
        return getattr(self, reduce)()

    op(
        f"{name}(Tensor self) -> Tensor",
        **({"gradient_name": f"{name.capitalize()}Backward1"} if name in ("max", "min") else {}),
        shape=check,
        dtype=refusing_like(("c", f"{name}_all")),
        out=True,
        native=f"a{name}",
        grad={"self": full_extremum_grad},
        out_overload="unary_out",
    )(body)


def _with_index(name, arg):
    def body(xp, self, dim, keepdim):
        if self.ndim == 0:
            return self, xp.zeros((), "int64")
        d = wrap_dim(dim, self.ndim)
        if self.dtype.kind == "f":
            nan = xp.isnan(self)
            index = xp.where(nan.any(axis=d), nan.argmax(axis=d), getattr(self, arg)(axis=d))
        else:
            index = getattr(self, arg)(axis=d)
        return picked(xp, self, index.astype("int64"), d, keepdim)

    def shapes(self, dim, keepdim):
        s = nonempty(name)(self, (dim,), keepdim)
        return [s, s]

    op(
        f"{name}.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
        shape=shapes,
        native=f"{name}_dim",
        batching="along_dim_or_none",
        nested="reduction",
        out=True,
        dtype=refusing_like(("c", f"{name}(): does not support complex input"), _core.int64),
        grad={"self": picked_grad},
        out_dtype="structured",
        **({"gradient_name": f"{name.capitalize()}Backward0"} if name in ("max", "min") else {}),
    )(body)


# Another tensor comes before a dim: a tensor of one integer would do for either.
for _name, _np in (("max", "argmax"), ("min", "argmin")):
    _full_extremum(_name, _name)
    composite(
        f"{_name}.other(Tensor self, Tensor other) -> Tensor",
        out=True,
        out_overload="out",
        out_error_name=f"{_name}imum",
    )((lambda n: lambda self, other: getattr(self, n)(other))(f"{_name}imum"))
    _with_index(_name, _np)


def _arg_shape(name):
    def shape(self, dim, keepdim):
        if dim is None:
            if self.numel() == 0:
                raise IndexError(f"{name}(): Expected reduction dim to be specified for input.numel() == 0.")
            return (1,) * len(self.shape) if keepdim else ()
        return nonempty(name)(self, (dim,), keepdim)

    return shape


def _no_arg(name, kinds, word):
    return kinds, f"{name}(): does not support {word} input"


def _arg_dtype(name):
    def rule(self):
        refuse(self.dtype, *(_no_arg(name, kinds, word) for kinds, word in (("c", "complex"), ("b", "bool"))))
        return None, _core.int64

    return rule


for _name in ("argmax", "argmin"):
    op(
        f"{_name}(Tensor self, int? dim=None, bool keepdim=False) -> Tensor",
        shape=_arg_shape(_name),
        dtype=_arg_dtype(_name),
        foreseen="any",
        out=True,
        never_differentiable=True,
        native=_name,
        batching="along_dim_or_none",
        nested="reduction",
        refuses=(_no_arg(_name, "b", "bool"),),
        out_dtype="structured",
    )((lambda n: lambda xp, self, dim, keepdim: _arg(xp, self, dim, keepdim, n))(_name))


def _arg(xp, self, dim, keepdim, name):
    if self.ndim == 0:
        return xp.zeros((), "int64")
    x, axis = (self.reshape(-1), 0) if dim is None else (self, wrap_dim(dim, self.ndim))
    found = getattr(x, name)(axis=axis)
    if x.dtype.kind == "f":
        nan = xp.isnan(x)
        found = xp.where(nan.any(axis=axis), nan.argmax(axis=axis), found)
    found = xp.asarray(found, dtype="int64")
    if keepdim:
        return found.reshape((1,) * self.ndim) if dim is None else xp.expand_dims(found, axis)
    return found
