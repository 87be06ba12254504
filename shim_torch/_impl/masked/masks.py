"""Masks of ``torch.masked``: an input's, its result's, and what stands where a mask drops an element."""

from __future__ import annotations

import math
from functools import cache
from inspect import signature
from typing import Any

from shim_torch._impl.native import _core

_SPARSE = (_core.sparse_coo, _core.sparse_csr)


def canonical_dim(dim: Any, ndim: int) -> tuple[int, ...]:
    """The dims as a tuple of numbers that are not negative; all of them for None and ()."""
    if dim is None or dim == () or dim == []:
        return tuple(range(ndim))
    if ndim == 0:
        return (0,)
    found: list[int] = []
    for d in (dim,) if isinstance(dim, int) else dim:
        if d in found:
            raise RuntimeError(f"dim={d} appears multiple times in the list of dims")
        if not -ndim <= d < ndim:
            raise IndexError(f"Dimension out of range (expected to be in range of [{-ndim}, {ndim - 1}], but got {d})")
        found.append(d % ndim)
    return tuple(sorted(found))


def input_mask(input: Any, *args: Any, **kwargs: Any) -> Any:
    """``mask=`` as a bool tensor of the input's shape and layout. ValueError without one, IndexError where it has more dims."""
    if input.layout != _core.strided and input.layout not in _SPARSE:
        raise ValueError(f"_input_mask expects strided or sparse COO or sparse CSR tensor but got {input.layout}")
    mask = kwargs.get("mask")
    if mask is None:
        raise ValueError("_input_mask requires explicit mask")
    if mask.shape != input.shape:
        if mask.dim() > input.dim():
            raise IndexError(
                "_input_mask expected broadcastable mask (got mask dimensionality higher than of the input)"
            )
        dense = mask if mask.layout == _core.strided else mask.to_dense()
        mask = dense.expand(input.shape)
    if mask.layout != input.layout:
        if mask.layout != _core.strided:
            mask = mask.to_dense()
        if input.layout == _core.sparse_coo:
            mask = mask.to_sparse(input.sparse_dim())
        elif input.layout == _core.sparse_csr:
            mask = mask.to_sparse_csr()
    if mask.layout == _core.sparse_coo:
        mask = mask.coalesce()
    return mask if mask.dtype == _core.bool else mask.bool()


@cache
def _parameters(name: str) -> frozenset[str]:
    """Of the masked operation of that name; empty without one."""
    from shim_torch import masked

    found = signature(getattr(masked, name)).parameters if name in masked.__all__ else {}
    return frozenset(found) if found.keys() & {"dim", "input_mask"} and name[0] != "_" else frozenset()


def output_mask(op: Any, input: Any, *args: Any, **kwargs: Any) -> Any:
    """Which elements of ``op(input, *args, **kwargs)`` have at least one element that the mask keeps."""
    name = getattr(op, "__name__", "")
    parameters = _parameters(name) if callable(op) else frozenset()
    if not parameters:
        raise ValueError(f"_output_mask expected masked operation (got callable {op})")
    if name == "logaddexp":
        first = input_mask(input, mask=kwargs.get("input_mask"))
        return first | input_mask(args[0], mask=kwargs.get("other_mask"))
    mask = input_mask(input, *args, **kwargs)
    if "keepdim" not in parameters:  # it keeps the shape
        return mask
    keepdim = kwargs.get("keepdim", False)
    dim = args[1 if name == "norm" else 0] if len(args) > (name == "norm") else kwargs.get("dim")
    dims = canonical_dim(dim, input.dim())
    if mask.layout != _core.strided:
        from shim_torch.masked import amax

        found = amax(mask.to_dense().long(), dims, keepdim=keepdim).bool()
        return found.to_sparse() if mask.layout == _core.sparse_coo else found.to_sparse_csr()
    for d in reversed(dims):
        mask = mask.any(dim=d, keepdim=keepdim)
    return mask


def where(mask: Any, input: Any, fill_value: Any) -> Any:
    """The input where the mask keeps it, ``fill_value`` (a tensor of no dims) elsewhere.

    Of a sparse mask the result is sparse and specifies what the mask keeps: an element that the mask specifies as dropped
    is none of it. Of a hybrid mask a row is specified that keeps an element at least.
    """
    if mask.layout == _core.strided:
        return input.where(mask, fill_value)
    dense = input.to_dense().where(mask.to_dense(), fill_value)
    kept = mask if mask.layout == _core.sparse_coo else mask.to_sparse()
    pattern = kept.coalesce()
    flags = pattern.values()
    indices = pattern.indices()[:, flags.reshape(len(flags), -1).any(1) if flags.dim() > 1 else flags]
    from shim_torch._impl.sparse.construct import sparse_coo_tensor

    made = sparse_coo_tensor(indices, dense[tuple(indices)], dense.shape, is_coalesced=True)
    return made if mask.layout == _core.sparse_coo else made.to_sparse_csr()


def identity(name: str, input: Any, *args: Any) -> Any:
    """What a reduction leaves its result at where nothing is kept, as a tensor; None where there is no such value."""
    from shim_torch._impl.tensor.from_data import tensor
    from shim_torch._impl.tensor.type_info import iinfo

    dtype, device = input.dtype, input.device
    name = name.rsplit(".", 1)[-1]
    if name in ("sum", "cumsum"):
        return tensor(0, dtype=dtype, device=device)
    if name in ("prod", "cumprod"):
        return tensor(1, dtype=dtype, device=device)
    if name in ("amax", "argmax", "logaddexp", "logsumexp", "amin", "argmin"):
        low = name not in ("amin", "argmin")
        if dtype.is_complex or dtype.is_floating_point:
            return tensor(-math.inf if low else math.inf, dtype=dtype, device=device)
        info = iinfo(dtype)
        return tensor(info.min if low else info.max, dtype=dtype, device=device)
    if name == "mean":
        return None
    if name == "norm":
        order = args[0] if args else 2
        if order == float("-inf"):
            return tensor(math.inf, dtype=dtype, device=device)
        return tensor(0, dtype=dtype, device=device)
    if name == "median":
        return tensor(math.nan, dtype=dtype if dtype.is_floating_point else _core.float, device=device)
    if name in ("var", "std"):
        return None
    raise NotImplementedError(f"identity of {name} on {dtype} input")


def combined(op: Any, input: Any, mask: Any, *args: Any) -> Any:
    """The input with the operation's identity where the mask drops an element."""
    if mask is None:
        return input
    kept = input_mask(input, mask=mask)
    fill = identity(op if isinstance(op, str) else op.__name__, input, *args)
    return where(kept, input, fill)
