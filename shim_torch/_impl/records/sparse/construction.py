"""Making sparse tensors of their parts."""

from __future__ import annotations

from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.sparse_layouts import compressed_module, coo_module
from shim_torch._impl.table.calls import torch
from shim_torch._impl.table.record import composite, direct

_OPTIONS = "*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"


@direct(
    f"_sparse_coo_tensor_with_dims(int sparse_dim, int dense_dim, int[] size, {_OPTIONS}) -> Tensor",
    function=True,
    method=False,
)
def with_dims(sparse_dim, dense_dim, size, dtype, layout, device, pin_memory):
    """A COO tensor of ``size`` without entries, with ``sparse_dim`` leading and ``dense_dim`` trailing dims."""
    return coo_module().empty(size, sparse_dim, dense_dim, dtype, device)


@direct(
    "_sparse_coo_tensor_with_dims_and_tensors(int sparse_dim, int dense_dim, SymInt[] size, Tensor indices, Tensor values, "
    f"{_OPTIONS}, bool? is_coalesced=None) -> Tensor",
    function=True,
    method=False,
    grad={"values": lambda g, result: g.sparse_mask(result)._values()},
)
def with_dims_and_tensors(
    sparse_dim, dense_dim, size, indices, values, dtype, layout, device, pin_memory, is_coalesced
):
    """The COO tensor of ``indices`` (sparse_dim, nnz) and ``values`` (nnz, *dense sizes), unchecked."""
    values = values.to(dtype=dtype or values.dtype, device=device or values.device)
    return _core.sparse_tensor(
        _core.sparse_coo,
        size,
        indices.to(device=values.device, dtype=_core.int64),
        None,
        values,
        sparse_dim,
        dense_dim,
        bool(is_coalesced),
    )


@composite(
    f"_sparse_coo_tensor_unsafe(Tensor indices, Tensor values, SymInt[] size, {_OPTIONS}, bool? is_coalesced=None) -> Tensor",
    method=False,
)
def coo_unsafe(indices, values, size, dtype, layout, device, pin_memory, is_coalesced):
    """``torch.sparse_coo_tensor`` of a given ``size``, without its checks."""
    return coo_module().unsafe(indices, values, size, dtype, device, is_coalesced)


@composite(
    "_validate_sparse_coo_tensor_args(Tensor indices, Tensor values, int[] size, bool? is_coalesced=None, "
    "bool? check_pinning=None) -> ()",
    method=False,
)
def validate_coo(indices, values, size, is_coalesced, check_pinning):
    """RuntimeError unless these make a COO tensor of ``size``, with sorted indices, none twice, if ``is_coalesced``."""
    from shim_torch._impl.sparse import invariants

    invariants.check_coo(indices, values, size, is_coalesced)


@direct(
    f"_sparse_compressed_tensor_unsafe(Tensor compressed_indices, Tensor plain_indices, Tensor values, SymInt[] size, {_OPTIONS}) "
    "-> Tensor",
    function=True,
    method=False,
    grad={"values": lambda g, result: g.sparse_mask(result).values()},
)
def compressed_unsafe(compressed_indices, plain_indices, values, size, dtype, layout, device, pin_memory):
    """``torch.sparse_compressed_tensor`` without its checks, but for ``layout``, which must be a compressed one."""
    return compressed_module().unsafe(compressed_indices, plain_indices, values, size, layout, dtype, device)


def _unsafe_of(layout_name: str, compressed: str, plain: str) -> None:
    def body(compressed_indices, plain_indices, values, size, dtype, layout, device, pin_memory):
        return torch._sparse_compressed_tensor_unsafe(
            compressed_indices,
            plain_indices,
            values,
            size,
            dtype=dtype,
            layout=getattr(_core, f"sparse_{layout_name}"),
            device=device,
        )

    composite(
        f"_sparse_{layout_name}_tensor_unsafe(Tensor {compressed}, Tensor {plain}, Tensor values, int[] size, {_OPTIONS}) -> Tensor",
        method=False,
    )(body)

    def validate(compressed_indices, plain_indices, values, size, check_pinning):
        from shim_torch._impl.sparse import invariants

        layout = getattr(_core, f"sparse_{layout_name}")
        invariants.check_compressed(compressed_indices, plain_indices, values, size, layout)

    composite(
        f"_validate_sparse_{layout_name}_tensor_args(Tensor {compressed}, Tensor {plain}, Tensor values, int[] size, "
        "bool? check_pinning=None) -> ()",
        method=False,
    )(validate)


for _layout in ("csr", "csc", "bsr", "bsc"):
    _unsafe_of(_layout, *(("crow_indices", "col_indices") if _layout[2] == "r" else ("ccol_indices", "row_indices")))


@composite(
    "_validate_sparse_compressed_tensor_args(Tensor compressed_indices, Tensor plain_indices, Tensor values, int[] size, "
    "Layout layout, bool? check_pinning=None) -> ()",
    method=False,
)
def validate_compressed(compressed_indices, plain_indices, values, size, layout, check_pinning):
    """RuntimeError unless these make a tensor of ``size`` with the compressed ``layout``."""
    from shim_torch._impl.sparse import invariants

    invariants.check_compressed(compressed_indices, plain_indices, values, size, layout)


@composite(
    "_validate_compressed_sparse_indices(bool is_crow, Tensor compressed_idx, Tensor plain_idx, int cdim, int dim, int nnz) -> ()",
    method=False,
)
def validate_indices(is_crow, compressed_idx, plain_idx, cdim, dim, nnz):
    """RuntimeError unless these are the indices of ``cdim`` rows (columns without ``is_crow``) of ``nnz`` entries below ``dim``."""
    from shim_torch._impl.sparse import invariants

    if compressed_idx.dtype not in (_core.int32, _core.int64):
        name = "compressed_index_invariance_checks_cpu"
        raise NotImplementedError(f"\"{name}\" not implemented for '{invariants.kind(compressed_idx.dtype)}'")
    if compressed_idx.dtype != plain_idx.dtype:
        given, wanted = invariants.kind(compressed_idx.dtype), invariants.kind(plain_idx.dtype)
        raise RuntimeError(f"Found dtype {given} but expected {wanted}")
    rows = ("crow_indices", "col_indices", "nrows", "ncols")
    names = rows if is_crow else ("ccol_indices", "row_indices", "ncols", "nrows")
    invariants.check_indices(compressed_idx, plain_idx, cdim, dim, nnz, names)


@composite(
    "_sparse_compressed_tensor_with_dims(int nnz, int dense_dim, int[] size, int[] blocksize, ScalarType index_dtype, "
    f"{_OPTIONS}) -> Tensor",
    function=False,
    method=False,
)
def compressed_with_dims(nnz, dense_dim, size, blocksize, index_dtype, dtype, layout, device, pin_memory):
    """A compressed tensor with room for ``nnz`` entries a batch, whose indices and values are zero."""
    layout = layout or _core.strided
    return compressed_module().with_dims(
        nnz, dense_dim, tuple(size), tuple(blocksize), index_dtype, dtype, layout, device
    )
