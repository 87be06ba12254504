"""``MaskedTensor``: data and, of the same shape and layout, a mask that tells which elements count."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import shim_torch as torch
from shim_torch._impl.native import _core
from shim_torch.autograd import Function

__all__ = ["MaskedTensor", "is_masked_tensor"]

_LAYOUTS = (_core.strided, _core.sparse_coo, _core.sparse_csr)
_DTYPES = (
    _core.float16, _core.float32, _core.float64, _core.bool, _core.int8, _core.int16, _core.int32, _core.int64,
)  # fmt: skip
_PROTOTYPE = (
    "The PyTorch API of MaskedTensors is in prototype stage and will change in the near future. Please open a Github issue "
    "for features requests and see our documentation on the torch.masked module for further information about the project."
)
_REQUESTS = (
    "If you would like this operator to be supported, please file an issue for a feature request at "
    "https://github.com/pytorch/maskedtensor/issues with a minimal reproducible code snippet.\n"
    "In the case that the semantics for the operator are not trivial, it would be appreciated "
    "to also include a proposal for the semantics."
)


def is_masked_tensor(obj: Any, /) -> bool:
    """Whether something is a MaskedTensor."""
    return isinstance(obj, MaskedTensor)


_INDICES = {_core.sparse_coo: ("indices",), _core.sparse_csr: ("crow_indices", "col_indices")}


def _pieces(a: Any) -> tuple[Any, ...]:
    """What tells two tensors of one layout apart."""
    if a.layout not in _INDICES:
        return (a,)
    return *(getattr(a, name)() for name in _INDICES[a.layout]), a.values()


def _same_indices(a: Any, b: Any) -> bool:
    return all(_tensors_match(getattr(a, name)(), getattr(b, name)()) for name in _INDICES.get(a.layout, ()))


_UNLIKE = {
    _core.sparse_coo: "data and mask are both sparse COO tensors but do not have the same indices.",
    _core.sparse_csr: "data and mask are both sparse CSR tensors but do not share either crow or col indices.",
}
# What holds for the data and the mask of a MaskedTensor, in the order in which it is looked at, and what is raised if not.
_RULES: tuple[tuple[Callable[[Any, Any], bool], type[Exception], Callable[[Any, Any], str]], ...] = (
    (
        lambda data, mask: type(data) is type(mask),
        TypeError,
        lambda data, mask: f"data and mask must have the same type. Got {type(data)} and {type(mask)}",
    ),
    (
        lambda data, mask: data.layout in _LAYOUTS,
        TypeError,
        lambda data, mask: f"data layout of {data.layout} is not supported.",
    ),
    (_same_indices, ValueError, lambda data, mask: _UNLIKE[data.layout]),
    (lambda data, mask: mask.dtype == _core.bool, TypeError, lambda data, mask: "mask must have dtype bool."),
    (
        lambda data, mask: data.dtype in _DTYPES,
        TypeError,
        lambda data, mask: f"{data.dtype} is not supported in MaskedTensor.",
    ),
    (lambda data, mask: data.dim() == mask.dim(), ValueError, lambda data, mask: "data.dim() must equal mask.dim()"),
    (
        lambda data, mask: data.size() == mask.size(),
        ValueError,
        lambda data, mask: "data.size() must equal mask.size()",
    ),
)


def _tensors_match(a: Any, b: Any, exact: bool = True, rtol: float = 1e-05, atol: float = 1e-08) -> bool:
    """Whether two plain tensors are equal, or close unless ``exact``; ValueError for other layouts and masked tensors."""
    if is_masked_tensor(a) or is_masked_tensor(b):
        raise ValueError("Neither `a` nor `b` can be a MaskedTensor.")
    if a.layout != b.layout:
        raise ValueError(f"`a` and `b` must have the same layout. Got {a.layout} and {b.layout}")
    b = b.to(a.dtype)
    sparse = a.layout != _core.strided
    for x, y in zip(_pieces(a), _pieces(b), strict=True):
        if x.dim() != y.dim() or (sparse and x.shape != y.shape):
            return False
        if not (bool(torch.eq(x, y).all()) if exact else torch.allclose(x, y, rtol=rtol, atol=atol)):
            return False
    return True


def _masks_match(a: Any, b: Any) -> bool:
    if is_masked_tensor(a) and is_masked_tensor(b):
        return _tensors_match(a.get_mask(), b.get_mask(), exact=True)
    return True


def _mapped(x: Any, map_fn: Callable[[Any], Any]) -> Any:
    if is_masked_tensor(x):
        return map_fn(x)
    if isinstance(x, (list, tuple)) and type(x) in (list, tuple):
        return type(x)(_mapped(i, map_fn) for i in x)
    return x


def _map_mt_args_kwargs(args: Any, kwargs: Any, map_fn: Callable[[Any], Any]) -> tuple[list[Any], dict[str, Any]]:
    """The arguments with ``map_fn`` of every MaskedTensor in them, in lists too."""
    return [_mapped(a, map_fn) for a in args], {k: _mapped(v, map_fn) for k, v in (kwargs or {}).items()}


def _wrap_result(result_data: Any, result_mask: Any) -> Any:
    """A MaskedTensor, or as many as there are results."""
    if isinstance(result_data, _core.TensorBase):
        return MaskedTensor(result_data, result_mask)
    several = isinstance(result_data, (tuple, list))
    return type(result_data)(map(_wrap_result, result_data, result_mask)) if several else NotImplemented


def _get_data(a: Any) -> Any:
    return a._masked_data if is_masked_tensor(a) else a


def _maybe_get_mask(a: Any) -> Any:
    return a.get_mask() if is_masked_tensor(a) else None


def _number(value: Any) -> str:
    return f"{value:8.4f}" if isinstance(value, float) else str(value)


def _text(data: Any, mask: Any) -> str:
    """The elements as nested brackets; those that are left out as ``--``."""
    if data.dim() > 1:
        rows = [_text(d, m) for d, m in zip(data, mask, strict=True)]
        return "[\n" + ",\n".join("\n".join("  " + line for line in row.split("\n")) for row in rows) + "\n]"
    numbers, kept = [_number(d) for d in data.tolist()], mask.tolist()
    width = max([8 if not k else len(n) for n, k in zip(numbers, kept, strict=True)], default=0)
    return "[" + ", ".join(n if k else "--".rjust(width) for n, k in zip(numbers, kept, strict=True)) + "]"


class _Values(Function):
    """The data of a MaskedTensor; gradients get its mask."""

    @staticmethod
    def forward(ctx: Any, masked: Any) -> Any:  # type: ignore[override]
        ctx.mask = masked.get_mask()
        return masked._masked_data.detach()

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:  # type: ignore[override]
        return grad if is_masked_tensor(grad) else MaskedTensor(grad, ctx.mask)


class _Constructor(Function):
    @staticmethod
    def forward(ctx: Any, data: Any, mask: Any) -> Any:  # type: ignore[override]
        return MaskedTensor(data, mask)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:  # type: ignore[override]
        return grad, None


class MaskedTensor(torch.Tensor):
    """``data`` with a bool ``mask`` of its shape and layout (strided, COO or CSR): elements count where it is True.

    Operators on one element keep the mask; on two they want equal masks; reductions go over what counts, and the result counts
    where anything did. Errors: TypeError for other types, layouts and dtypes, ValueError for other shapes or indices.
    """

    _masked_data: Any
    _masked_mask: Any

    @staticmethod
    def __new__(cls, data: Any, mask: Any, requires_grad: bool = False) -> MaskedTensor:
        for name, value in (("data", data), ("mask", mask)):
            if is_masked_tensor(value) or not isinstance(value, _core.TensorBase):
                raise TypeError(f"{name} must be a Tensor")
        warnings.warn(_PROTOTYPE, UserWarning, stacklevel=2)
        if data.requires_grad:
            warnings.warn(
                "It is not recommended to create a MaskedTensor with a tensor that requires_grad. "
                "To avoid this, you can use data.detach().clone()",
                UserWarning,
                stacklevel=2,
            )
        strides = {"strides": data.stride()} if data.layout == _core.strided else {}
        make: Any = torch.Tensor
        return make._make_wrapper_subclass(
            cls, data.size(), **strides, device=data.device, dtype=data.dtype, requires_grad=requires_grad
        )

    def __init__(self, data: Any, mask: Any, requires_grad: bool = False) -> None:
        if data.layout != mask.layout:
            raise TypeError("data and mask must have the same layout.")
        if data.is_sparse:
            data, mask = data.coalesce(), mask.coalesce()
        if data.layout in _LAYOUTS[1:] and data._nnz() != mask._nnz():  # the data where the mask has entries
            from shim_torch.masked import _where

            data = _where(mask, data, torch.tensor(0))
        self._set_data_mask(data.detach().clone(), mask.detach().clone())

    def _set_data_mask(self, data: Any, mask: Any) -> None:
        self._masked_data, self._masked_mask = data, mask
        self._validate_members()

    def _validate_members(self) -> None:
        parts = (self._masked_data, self._masked_mask)
        for holds, error, text in _RULES:
            if not holds(*parts):
                raise error(text(*parts))

    @staticmethod
    def _from_values(data: Any, mask: Any) -> Any:
        """A MaskedTensor that keeps the history of ``data``."""
        return _Constructor.apply(data, mask)

    def __repr__(self) -> str:  # type: ignore[override]
        data, mask = self._masked_data, self._masked_mask
        if data.layout != _core.strided:
            data, mask = data.to_dense(), mask.to_dense()
        if data.dim() == 0:
            kept = mask.item()
            return f"MaskedTensor({_number(data.item()) if kept else '--'}, {kept})"
        return "MaskedTensor(\n" + "\n".join("  " + line for line in _text(data, mask).split("\n")) + "\n)"

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        from shim_torch.masked.maskedtensor._ops_refs import _MASKEDTENSOR_FUNCTION_TABLE as table

        if func not in table:
            return super().__torch_function__(func, types, args, kwargs)  # type: ignore[misc]
        return table[func](*args, **(kwargs or {}))

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:  # type: ignore[override]
        from shim_torch.masked.maskedtensor._ops_refs import _MASKEDTENSOR_DISPATCH_TABLE as table

        packet = func.overloadpacket
        if packet in table:
            return table[packet](*args, **(kwargs or {}))
        warnings.warn(
            f"{packet.__name__} is not implemented in __torch_dispatch__ for MaskedTensor.\n{_REQUESTS}", stacklevel=2
        )
        return NotImplemented

    @classmethod
    def unary(cls, fn: Any, data: Any, mask: Any) -> MaskedTensor:
        """``fn`` of the data, with the same mask."""
        return MaskedTensor(fn(data), mask)

    def __lt__(self, other: Any) -> Any:  # type: ignore[override]
        return MaskedTensor(self.get_data() < _get_data(other), self.get_mask())

    def to_tensor(self, value: Any) -> Any:
        """The data, with ``value`` where nothing counts."""
        return self.get_data().masked_fill(~self.get_mask(), value)

    def get_data(self) -> Any:
        """The data, whatever the mask says of it; gradients of it are masked."""
        return _Values.apply(self)

    def get_mask(self) -> Any:
        """The mask."""
        return self._masked_mask

    @property
    def layout(self) -> Any:  # type: ignore[override]
        """That of the data."""
        return self._masked_data.layout

    def is_sparse_coo(self) -> bool:
        """Whether the data is a sparse COO tensor."""
        return self.layout == _core.sparse_coo

    def is_sparse_csr(self) -> bool:  # type: ignore[override]
        """Whether the data is a sparse CSR tensor."""
        return self.layout == _core.sparse_csr

    @property
    def is_sparse(self) -> bool:  # type: ignore[override]
        """COO or CSR."""
        return self.layout != _core.strided
