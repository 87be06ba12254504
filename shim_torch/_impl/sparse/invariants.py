"""What must hold of the parts of a sparse tensor, in PyTorch's words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.table.calls import torch

enabled = False
chosen = False  # whether the user said, or was warned


def shape_of_entries(indices: Any, values: Any) -> None:
    """RuntimeError where indices and values cannot be of one COO tensor."""
    if indices.dim() != 2:
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(indices.shape)}")
    if indices.layout != _core.strided:
        raise RuntimeError(f"expected indices to be a dense tensor, but got indices of layout {indices.layout}")
    if values.layout != _core.strided:
        raise RuntimeError(f"expected values to be a dense tensor, but got values of layout {values.layout}")


def check_shapes(indices: Any, values: Any, size: Sequence[int]) -> None:
    """What PyTorch always checks of a COO tensor with a given size."""
    shape_of_entries(indices, values)
    sparse_dim, dense_dim = indices.shape[0], values.dim() - 1
    if len(size) != sparse_dim + dense_dim:
        raise RuntimeError(
            f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(size)}, sparse_dim = {sparse_dim}, "
            f"dense_dim = {dense_dim}"
        )
    if indices.shape[1] != values.shape[0]:
        raise RuntimeError(
            f"indices and values must have same nnz, but got nnz from indices: {indices.shape[1]}, nnz from values: "
            f"{values.shape[0]}"
        )
    expected = [values.shape[0], *size[sparse_dim:]]
    if list(values.shape) != expected:
        raise RuntimeError(f"values has incorrect size, expected {expected}, got {list(values.shape)}")


def check_coo(indices: Any, values: Any, size: Sequence[int], is_coalesced: Any = None) -> None:
    """Everything that must hold of a COO tensor: the entries lie within the size; coalesced ones are sorted and unique."""
    if values.dim() == 0:
        values = values.expand(1)
    if indices.dim() != 2:
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(indices.shape)}")
    sparse_dim, dense_dim = indices.shape[0], values.dim() - 1
    if len(size) != sparse_dim + dense_dim:
        raise RuntimeError(
            f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(size)}, sparse_dim = {sparse_dim}, "
            f"dense_dim = {dense_dim}"
        )
    if indices.device != values.device:
        raise RuntimeError(f"device of indices ({indices.device}) must match device of values ({values.device})")
    if not indices.numel() or indices.is_meta:
        return
    low, high = indices.amin(1).tolist(), indices.amax(1).tolist()
    for d in range(sparse_dim):
        if low[d] < 0:
            raise RuntimeError(f"found negative index {low[d]} for dim {d}")
        if high[d] >= size[d]:
            raise RuntimeError(
                f"size is inconsistent with indices: for dim {d}, size is {size[d]} but found index {high[d]}"
            )
    if is_coalesced and indices.shape[1] > 1:
        from shim_torch._impl.sparse import coo

        place = coo.flat(indices.to(_core.int64), size)
        if not bool((place[1:] > place[:-1]).all()):
            raise RuntimeError("cannot set is_coalesced to true if indices correspond to uncoalesced COO tensor")


def _require(ok: bool, text: str) -> None:
    if not ok:
        raise RuntimeError(text)


def check_compressed(compressed: Any, plain: Any, values: Any, size: Sequence[int], layout: Any) -> None:
    """Everything that must hold of a compressed tensor: shapes, dtypes, and indices within the size and in order."""
    from shim_torch._impl.sparse.compressed import BLOCKED, BY_COLUMN, NAMES
    from shim_torch._impl.sparse.coo import word

    _require(layout in NAMES, f"expected sparse compressed tensor layout but got {word(layout)}")
    c, p = NAMES[layout]
    block = 2 if layout in BLOCKED else 0
    for name, x in ((c, compressed), (p, plain), ("values", values)):
        _require(x.layout == _core.strided, f"expected {name} to be a strided tensor but got {x.layout} tensor")
    for name, x in ((c, compressed), (p, plain)):
        per_batch = x.dim() == 0 or x.shape[-1] <= 1 or x.stride(-1) == 1
        _require(per_batch, f"expected {name} to be a contiguous tensor per batch")
    for name, x in ((c, compressed), (p, plain)):
        _require(x.dim() >= 1, f"{name} must have dimensionality >= 1 but got {x.dim()}")
    _require(
        compressed.dim() == plain.dim(),
        f"{c} and {p} dimensionalities must be equal but got {compressed.dim()} and {plain.dim()}, respectively",
    )
    batch = compressed.dim() - 1
    dense = values.dim() - batch - block - 1
    _require(
        dense >= 0,
        f"values must have dimensionality > sum of batch and block dimensionalities (={batch} + {block}) but got {values.dim()}",
    )
    _require(
        len(size) == batch + 2 + dense,
        f"tensor dimensionality must be sum of batch, base, and dense dimensionalities (={batch} + 2 + {dense}) but got {len(size)}",
    )
    shapes = [list(x.shape[:batch]) for x in (compressed, plain, values)]
    _require(
        all(s == list(size[:batch]) for s in shapes),
        f"all batch dimensions of {c} (={shapes[0]}), {p} (={shapes[1]}), and values (={shapes[2]}) must be equal to tensor batch "
        f"dimensions (={list(size[:batch])})",
    )
    blocks = list(values.shape[batch + 1 : batch + 1 + block]) or [1, 1]
    for i in range(2 if block else 0):
        _require(
            blocks[i] > 0 and size[batch + i] % blocks[i] == 0,
            f"tensor shape[{batch + i}] (={size[batch + i]}) must be divisible with blocksize[{i}] (={blocks[i]}) as defined by "
            "values shape",
        )
    _require(
        list(values.shape[batch + 1 + block :]) == list(size[batch + 2 :]),
        f"dense shape must be equal: values has {list(values.shape[batch + 1 + block :])}, size has {list(size[batch + 2 :])}",
    )
    counts = [size[batch] // blocks[0], size[batch + 1] // blocks[1]]
    major, minor = counts[::-1] if layout in BY_COLUMN else counts
    nnz = values.shape[batch]
    plural = ("column" if layout in BY_COLUMN else "row") + (" blocks" if block else "s")
    sizes = ("ncols", "nrows") if layout in BY_COLUMN else ("nrows", "ncols")
    _require(
        compressed.shape[-1] == major + 1,
        f"{c}.shape[-1] must be equal to the number of {plural} + 1 (={major + 1}), but got {compressed.shape[-1]}",
    )
    _require(
        plain.shape[-1] == nnz,
        f"{p}.shape[-1] must be equal to nnz (={nnz}) as defined by values.shape[{batch}], but got {plain.shape[-1]}",
    )
    check_indices(compressed, plain, major, minor, nnz, (c, p, *sizes))


_WORDS = {
    "int64": "Long", "int32": "Int", "int16": "Short", "int8": "Char", "uint8": "Byte", "float64": "Double", "float16": "Half",
    "bfloat16": "BFloat16", "complex32": "ComplexHalf", "complex64": "ComplexFloat", "complex128": "ComplexDouble",
}  # fmt: skip


def kind(dtype: Any) -> str:
    """PyTorch's name of a dtype: Long, Int, Float."""
    name = str(dtype).rpartition(".")[2]
    return _WORDS.get(name, name.capitalize().rstrip("0123456789"))


def check_indices(
    compressed: Any, plain: Any, major: int, minor: int, nnz: int, names: tuple[str, str, str, str]
) -> None:
    """Raises RuntimeError unless compressed and plain indices fit each other and the sizes."""
    c, p, major_name, minor_name = names

    _require(
        compressed.dtype == plain.dtype,
        f"{c} and {p} must have the same dtype, bot got {kind(compressed.dtype)} and {kind(plain.dtype)}, respectively",
    )
    _require(
        compressed.dtype in (_core.int32, _core.int64),
        f"{c} and {p} dtype must be Int or Long, but got {kind(compressed.dtype)}",
    )
    if compressed.is_meta or not compressed.numel():
        return
    _require(bool((compressed[..., 0] == 0).all()), f"`{c}[..., 0] == 0` is not satisfied.")
    _require(bool((compressed[..., -1] == nnz).all()), f"`{c}[..., -1] == nnz` is not satisfied.")
    steps = compressed.diff(dim=-1)
    _require(
        bool(((steps >= 0) & (steps <= minor)).all()),
        f"`0 <= {c}[..., 1:] - {c}[..., :-1] <= {minor_name}` is not satisfied.",
    )
    if not plain.numel():
        return
    _require(bool(((plain >= 0) & (plain < minor)).all()), f"`0 <= {p} < {minor_name}` is not satisfied.")
    count = plain.numel() // nnz
    lines = torch.repeat_interleave(torch.arange(count * major, device=plain.device), steps.reshape(-1).to(_core.int64))
    flat = lines * minor + plain.reshape(-1)
    _require(
        bool((flat[1:] > flat[:-1]).all()),
        f"`{p}[..., {c}[..., i - 1]:{c}[..., i]] for all i = 1, ..., {major_name} are sorted and distinct along the last "
        "dimension values` is not satisfied.",
    )
