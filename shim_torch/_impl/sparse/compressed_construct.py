"""Compressed tensors from their parts, of sizes, and like others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.sparse import coo, invariants
from shim_torch._impl.sparse.compressed import BLOCKED, BY_COLUMN, NAMES, _with_index, blocksize
from shim_torch._impl.table.calls import torch


def _estimated_size(compressed: Any, plain: Any, values: Any, layout: Any) -> tuple[int, ...]:
    batch, block = max(compressed.dim() - 1, 0), 2 if layout in BLOCKED else 0
    if compressed.dim() < 1 or plain.dim() < 1 or values.dim() < batch + block + 1:
        invariants.check_compressed(compressed, plain, values, (0,) * (batch + 2), layout)
    size = tuple(values.shape[batch + 1 : batch + 3]) if block else (1, 1)
    major = compressed.shape[-1] - 1
    minor = int(plain.max()) + 1 if plain.numel() else 0
    down, across = (minor, major) if layout in BY_COLUMN else (major, minor)
    return (*compressed.shape[:-1], down * size[0], across * size[1], *values.shape[batch + 1 + block :])


def construct(name: str, layout: Any, names: tuple[str, str], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``torch.sparse_csr_tensor(crow_indices, col_indices, values, size=None, *, ...)`` and its relatives."""
    from shim_torch._impl.sparse.construct import as_indices, as_values, checks

    keys = ("dtype", "layout", "device", "pin_memory", "requires_grad", "check_invariants")
    options = {n: kwargs.pop(n, None) for n in keys}
    given = dict(zip((*names, "values", "size"), args, strict=False)) | kwargs
    if len(args) > 4 or set(given) - {*names, "values", "size"} or not {*names, "values"} <= set(given):
        kinds = ", ".join(type(a).__name__ for a in args)
        raise TypeError(f"{name}() received an invalid combination of arguments - got ({kinds})")
    chosen = options["layout"] or layout
    if layout is not None and chosen != layout:
        raise RuntimeError(f"{name}: layout must be {coo.word(layout)} but got {coo.word(chosen)}")
    if chosen is None:
        raise RuntimeError(f"{name} expected sparse compressed tensor layout but got none")
    if chosen not in NAMES:
        raise RuntimeError(f"{name} expected sparse compressed tensor layout but got {coo.word(chosen)}")
    device = None if options["device"] is None else _core.device(options["device"])
    values = as_values(given["values"], options["dtype"], device)

    def indices(data: Any) -> Any:
        if isinstance(data, _core.TensorBase):
            return data.to(values.device)
        return as_indices(data, values.device)

    compressed, plain = indices(given[names[0]]), indices(given[names[1]])
    size = given.get("size")
    size = tuple(int(n) for n in size) if size is not None else _estimated_size(compressed, plain, values, chosen)
    if checks(options["check_invariants"]):
        invariants.check_compressed(compressed, plain, values, size, chosen)
    if options["requires_grad"]:
        values = values.detach()
    made = torch._sparse_compressed_tensor_unsafe(compressed, plain, values, size, layout=chosen)
    return made.requires_grad_() if options["requires_grad"] else made


def with_dims(
    nnz: int,
    dense_dim: int,
    size: Sequence[int],
    block: Sequence[int],
    index_dtype: Any,
    dtype: Any,
    layout: Any,
    device: Any,
) -> Any:
    """A tensor with room for ``nnz`` entries a batch; its indices and values are zero. RuntimeError where the sizes disagree."""
    name = "sparse_compressed_tensor_with_dims"
    if layout not in NAMES:
        raise RuntimeError(f"{name} expected sparse compressed tensor layout but got {coo.word(layout)}")
    if nnz < 0:
        raise RuntimeError(f"{name}: nnz must be non-negative, got {nnz}")
    base = len(size) - dense_dim
    if base < 2:
        raise RuntimeError(
            f"{name}: dimensionality must be at least dense_dim(={dense_dim}) + sparse_dim(=2), but got {len(size)}"
        )
    if layout not in BLOCKED and len(block):
        raise RuntimeError(f"{name}: blocksize cannot be specified for non-block layout {coo.word(layout)}")
    major = base - 1 if layout in BY_COLUMN else base - 2
    step = 1
    if layout in BLOCKED:
        if len(block) != 2:
            raise RuntimeError(f"{name}: blocksize needs to be a tuple of size 2, but got {len(block)}")
        d = major - (base - 2)
        step = block[d]
        if min(block) <= 0:
            raise RuntimeError(f"{name}: blocksize needs to be positive, but got {list(block)}")
        if size[major] % step:
            raise RuntimeError(
                f"{name}: dimension {major} must be multiple of blocksize[{d}](={step}) but got {size[major]}"
            )
    if index_dtype not in (_core.int32, _core.int64):
        raise RuntimeError(f"indices dtype must be Int or Long, but got {invariants.kind(index_dtype)}")
    batch = tuple(size[: base - 2])
    compressed = torch.zeros((*batch, size[major] // step + 1), dtype=index_dtype, device=device)
    plain = torch.zeros((*batch, nnz), dtype=index_dtype, device=device)
    values = torch.zeros((*batch, nnz, *block, *size[base:]), dtype=dtype, device=device)
    return _core.sparse_tensor(layout, size, compressed, plain, values, 2, dense_dim, False)


def zeros(size: Sequence[int], layout: Any, dtype: Any, device: Any) -> Any:
    """A tensor without entries, none of its dims dense."""
    if layout in BLOCKED:
        raise RuntimeError(
            f"empty_sparse_compressed expected sparse compressed (non-block) tensor layout but got {coo.word(layout)}"
        )
    if len(size) < 2:
        raise RuntimeError(
            f"torch.empty: Only batched sparse compressed (non-block) tensors are supported, but got size {list(size)}"
        )
    coo.check_size(size)
    return with_dims(0, 0, size, (), _core.int64, dtype, layout, device)


def zeros_like(t: Any, dtype: Any, device: Any, layout: Any = None) -> Any:
    """A tensor without entries: of ``t``'s layout, or of the given compressed one with ``t``'s dense dims and blocks."""
    p = None if t.layout == _core.strided else coo.parts(t)
    dense = t.dim() - 2 if p is None else p.dense_dim
    kind = _core.int64 if p is None else p.indices.dtype
    return with_dims(0, dense, t.shape, (p and blocksize(t)) or (), kind, dtype, layout or t.layout, device)


def empty_like(t: Any, dtype: Any, device: Any) -> Any:
    """A tensor of the same pattern whose values are not set."""
    p = coo.parts(t)
    values = _core.empty_tensor(tuple(p.values.shape), dtype, device)
    return _core.sparse_tensor(
        p.layout, t.shape, p.indices.to(device, copy=True), p.plain.to(device, copy=True), values, 2, p.dense_dim, False
    )


def resize_(self: Any, size: Sequence[int]) -> Any:
    """In place: rows are added empty; of fewer places than entries the first ones stay."""
    p = coo.parts(self)
    if p.layout not in (_core.sparse_csr, _core.sparse_csc) or len(size) < 2:
        raise RuntimeError(f"torch.resize_: Only batched sparse CSR matrices are supported, but got size {list(size)}")
    by_column = p.layout in BY_COLUMN
    if (size[-2] < self.shape[-2]) if by_column else (size[-1] < self.shape[-1]):
        kind = "rows of sparse CSC" if by_column else "columns of sparse CSR"
        raise RuntimeError(
            f"torch.resize_: Resizing {kind} tensors to a smaller value is not supported. The original number of "
            f"{'rows' if by_column else 'columns'} is {self.shape[-2 if by_column else -1]} while the requested new number of "
            f"{'rows' if by_column else 'columns'} is {size[-2 if by_column else -1]}."
        )
    batch, (rows, columns) = tuple(size[:-2]), size[-2:]
    major = columns if p.layout in BY_COLUMN else rows
    nnz = min(p.plain.shape[-1], rows * columns)

    def fitted(part: Any, length: int) -> Any:
        count = math.prod(batch) * length
        flat = part.reshape(-1)
        if flat.shape[0] < count:
            flat = torch.cat([flat, flat.new_zeros(count - flat.shape[0])])
        return flat[:count].reshape(*batch, length).clone()

    if tuple(p.indices.shape[:-1]) == batch:  # rows of every batch
        have = min(p.indices.shape[-1], major + 1)
        compressed = torch.full((*batch, major + 1), nnz, dtype=p.indices.dtype, device=self.device)
        compressed[..., :have] = p.indices[..., :have]
        if major + 1 <= p.indices.shape[-1]:
            compressed[..., -1] = nnz
    else:
        compressed = fitted(p.indices, major + 1)
        compressed[..., -1] = nnz
    return _core.replace_sparse(self, _with_index(self, size, compressed, fitted(p.plain, nnz), fitted(p.values, nnz)))


def resize_as(self: Any, template: Any) -> Any:
    """In place: the template's size and pattern. RuntimeError unless both are of one compressed layout."""
    for what, t in (("self", self), ("src", template)):
        if t.layout not in NAMES:
            raise RuntimeError(
                f"resize_as_sparse_compressed_: {what}  expected sparse compressed tensor layout but got {coo.word(t)}"
            )
    if self.layout != template.layout:
        raise RuntimeError(
            "resize_as_sparse_compressed_tensor_: self and src must have the same layout, but got: self "
            f"({coo.word(self)}) and source ({coo.word(template)})"
        )
    p = coo.parts(template)
    values = _core.empty_tensor(tuple(p.values.shape), self.dtype, self.device)
    kind = coo.parts(self).indices.dtype
    compressed, plain = p.indices.to(kind, copy=True), p.plain.to(kind, copy=True)
    return _core.replace_sparse(self, _with_index(template, template.shape, compressed, plain, values))
