"""``torch.sparse_coo_tensor`` and its compressed relatives: tensors from indices and values."""

from __future__ import annotations

import warnings
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.sparse import invariants
from shim_torch._impl.surface import naming
from shim_torch._impl.table.arguments import need_tensor
from shim_torch._impl.table.calls import torch
from shim_torch._impl.table.overridable import overridable

_SIGNATURES = """sparse_coo_tensor() received an invalid combination of arguments - got ({}), but expected one of:
 * (object indices, object values, *, torch.dtype dtype = None, torch.device device = None, bool pin_memory = False, bool requires_grad = False, bool check_invariants = None, bool is_coalesced = None)
 * (object indices, object values, tuple of ints size, *, torch.dtype dtype = None, torch.device device = None, bool pin_memory = False, bool requires_grad = False, bool check_invariants = None, bool is_coalesced = None)
 * (tuple of ints size, *, torch.dtype dtype = None, torch.device device = None, bool requires_grad = False, bool check_invariants = None)
"""


_UNCHECKED = (
    "Sparse invariant checks are implicitly disabled. Memory errors (e.g. SEGFAULT) will occur when operating on a sparse tensor "
    "which violates the invariants, but checks incur performance overhead. To silence this warning, explicitly opt in or out. See "
    "`torch.sparse.check_sparse_tensor_invariants.__doc__` for guidance. "
)


def checks(given: Any) -> bool:
    """Whether invariants are checked: as asked, else as ``torch.sparse.check_sparse_tensor_invariants`` says."""
    if given is not None:
        return bool(given)
    if not invariants.chosen:
        invariants.chosen = True
        warnings.warn(_UNCHECKED, UserWarning, stacklevel=4)
    return invariants.enabled


def as_values(data: Any, dtype: Any, device: Any) -> Any:
    """The values as a tensor: of their own dtype unless another is asked for."""
    from shim_torch._impl.tensor.from_data import tensor

    if isinstance(data, _core.TensorBase):
        return data.to(dtype=dtype or data.dtype, device=device or data.device)
    return tensor(data, dtype=dtype, device=device)


def as_indices(data: Any, device: Any, dtype: Any = None) -> Any:
    """Indices as an integer tensor where the values are."""
    from shim_torch._impl.tensor.from_data import tensor

    dtype = dtype or _core.int64
    if isinstance(data, _core.TensorBase):
        return data.to(dtype=dtype, device=device)
    return tensor(data, dtype=dtype, device=device)


def inferred_size(indices: Any, values: Any) -> tuple[int, ...]:
    """The smallest size that holds the entries."""
    invariants.shape_of_entries(indices, values)
    n = indices.shape[0]
    if indices.shape[1] == 0:
        return (*(0 for _ in range(n)), *values.shape[1:])
    low, high = indices.amin(1).tolist() if n else [], indices.amax(1).tolist() if n else []
    for d, least in enumerate(low):
        if least < 0:
            raise RuntimeError(f"found negative index {least} for dim {d}")
    return (*(h + 1 for h in high), *values.shape[1:])


def _is_size(o: Any) -> bool:
    return isinstance(o, (tuple, list)) and all(isinstance(n, int) or hasattr(n, "__index__") for n in o)


def sparse_coo_tensor(*args: Any, **kwargs: Any) -> Any:
    """A tensor of entries: ``indices`` (sparse_dim, nnz), ``values`` (nnz, *dense sizes), ``size`` inferred if not given."""
    tensors = [a for a in (*args, *kwargs.values()) if isinstance(a, _core.TensorBase)]
    if _core._has_torch_function(tensors):
        return _core._handle_torch_function(sparse_coo_tensor, tensors, *args, **kwargs)
    return _coo_tensor(args, dict(kwargs))


_OPTIONS = ("dtype", "layout", "device", "pin_memory", "requires_grad", "check_invariants", "is_coalesced")


def _coo_tensor(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    from shim_torch._impl.sparse import coo

    options = {n: kwargs.pop(n, None) for n in _OPTIONS}
    device = None if options["device"] is None else _core.device(options["device"])
    if (
        len(args) == 1
        and not kwargs
        and not isinstance(args[0], _core.TensorBase)
        and (_is_size(args[0]) or isinstance(args[0], int))
    ):
        kwargs, args = {"size": args[0]}, ()
    if not args and set(kwargs) == {"size"}:
        size = kwargs["size"]
        size = (size,) if isinstance(size, int) else tuple(int(n) for n in size)
        made = coo.empty(size, len(size), 0, options["dtype"], device)
        return made.requires_grad_() if options["requires_grad"] else made
    given = dict(zip(("indices", "values", "size"), args, strict=False)) | kwargs
    if len(args) > 3 or set(given) - {"indices", "values", "size"} or not {"indices", "values"} <= set(given):
        if len(args) == 1 and not kwargs:
            kind = type(args[0]).__name__
            raise TypeError(f"sparse_coo_tensor(): argument 'size' (position 1) must be tuple of ints, not {kind}")
        raise TypeError(_SIGNATURES.format(", ".join(type(a).__name__ for a in args)))
    return _from_entries(given["indices"], given["values"], given.get("size"), options, device)


def _from_entries(indices: Any, values: Any, size: Any, options: dict[str, Any], device: Any) -> Any:
    values = as_values(values, options["dtype"], device)
    indices = as_indices(indices, values.device)
    if values.dim() == 0 and indices.dim() == 2:
        values = values.expand(1)
    if indices.dim() != 2:
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(indices.shape)}")
    if size is None:
        size = inferred_size(indices, values)
    else:
        size = tuple(int(n) for n in size) if not isinstance(size, int) else (size,)
    if checks(options["check_invariants"]):
        invariants.check_coo(indices, values, size, options["is_coalesced"])
    from shim_torch._impl.sparse import coo

    invariants.check_shapes(indices, values, size)
    coo.check_size(size)
    if options["requires_grad"]:
        values = values.detach()
    n = indices.shape[0]
    made = torch._sparse_coo_tensor_with_dims_and_tensors(
        n, len(size) - n, size, indices, values, is_coalesced=options["is_coalesced"]
    )
    return made.requires_grad_() if options["requires_grad"] else made


def _compressed(name: str, layout: Any, names: tuple[str, str]) -> Any:
    first, second = names

    def make(*args: Any, **kwargs: Any) -> Any:
        tensors = [a for a in (*args, *kwargs.values()) if isinstance(a, _core.TensorBase)]
        if _core._has_torch_function(tensors):
            return _core._handle_torch_function(make, tensors, *args, **kwargs)
        from shim_torch._impl.sparse import compressed as _compressed

        return _compressed.construct(name, layout, (first, second), args, dict(kwargs))

    make.__name__ = make.__qualname__ = name
    make.__doc__ = (
        f"A tensor of compressed ``{first}``, plain ``{second}`` and values; the size is inferred if not given."
    )
    return make


sparse_compressed_tensor = _compressed("sparse_compressed_tensor", None, ("compressed_indices", "plain_indices"))
sparse_csr_tensor = _compressed("sparse_csr_tensor", _core.sparse_csr, ("crow_indices", "col_indices"))
sparse_csc_tensor = _compressed("sparse_csc_tensor", _core.sparse_csc, ("ccol_indices", "row_indices"))
sparse_bsr_tensor = _compressed("sparse_bsr_tensor", _core.sparse_bsr, ("crow_indices", "col_indices"))
sparse_bsc_tensor = _compressed("sparse_bsc_tensor", _core.sparse_bsc, ("ccol_indices", "row_indices"))


@overridable
def dsmm(input: Any, mat2: Any) -> Any:
    """``torch.mm`` by an older name."""
    return input.mm(mat2)


spmm = dsmm


@overridable
def hsmm(mat1: Any, mat2: Any) -> Any:
    """``torch.hspmm`` by an older name."""
    return torch.hspmm(mat1, mat2)


@overridable
def saddmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """``torch.sspaddmm`` by an older name."""
    return torch.sspaddmm(input, mat1, mat2, beta=beta, alpha=alpha)


@overridable
def native_norm(input: Any, p: Any = 2) -> Any:
    """The norm of all entries of a sparse tensor."""
    need_tensor(input, "native_norm")
    return input.norm(p)


naming.present(globals(), "torch")
