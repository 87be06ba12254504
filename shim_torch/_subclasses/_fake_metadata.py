"""What tells tensors apart to operators that look at no data, and which operators make tensors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from native import _core


@dataclass(frozen=True, slots=True)
class TensorMetadata:
    """Everything about a tensor but its data; what a layout has not is None."""

    dtype: Any
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    device: Any
    layout: Any
    memory_format: Any
    storage_offset: int
    storage_bytes: int | None
    requires_grad: bool
    is_quantized: bool
    is_conj: bool
    is_neg: bool
    is_inference: bool
    is_sparse: bool
    is_coalesced: bool | None
    dense_dim: int | None
    sparse_dim: int | None


_SPARSE = (
    _core.sparse_coo, _core.sparse_csr, _core.sparse_csc, _core.sparse_bsr, _core.sparse_bsc,
)  # fmt: skip


def _memory_format(t: Any) -> Any:
    """The format that the strides are of, None for others."""
    if t.layout in _SPARSE:
        return None
    if t.layout is _core.strided and t.dim() in (4, 5) and not t.is_contiguous():
        last = _core.channels_last if t.dim() == 4 else _core.channels_last_3d
        return last if t.is_contiguous(memory_format=last) else None
    return _core.contiguous_format if t.is_contiguous() else None


def extract_tensor_metadata(t: Any) -> TensorMetadata:
    """The ``TensorMetadata`` of a tensor, real or fake."""
    sparse = t.layout in _SPARSE
    return TensorMetadata(
        t.dtype, t.shape, t.stride() if t.layout is _core.strided else (), t.device, t.layout, _memory_format(t),
        t.storage_offset() if not sparse else 0, None if sparse else t.untyped_storage().nbytes(), t.requires_grad,
        t.is_quantized, t.is_conj(), t.is_neg(), t.is_inference(), t.is_sparse, t.is_coalesced() if t.is_sparse else None,
        t.dense_dim() if sparse else None, t.sparse_dim() if sparse else None,
    )  # fmt: skip


def _overloads(names: str) -> tuple[Any, ...]:
    from shim_torch._ops import ops

    aten: Any = ops.aten
    packets = [getattr(aten, name, None) for name in names.split()]
    return tuple(getattr(p, o) for p in packets if p is not None for o in p.overloads())


def _is_tensor_constructor(func: Any) -> bool:
    """Whether an operator makes one tensor of no tensors."""
    schema = func._schema
    if any("Tensor" in str(argument.type) for argument in schema.arguments):
        return False
    return len(schema.returns) == 1 and str(schema.returns[0].type) == "Tensor"


def __getattr__(name: str) -> Any:
    if name == "_like_tensor_constructors":
        found = _overloads(
            "empty_like full_like ones_like rand_like randn_like randint_like zeros_like new_empty new_empty_strided new_full "
            "new_zeros new_ones"
        )
    elif name == "_device_not_kwarg_ops":
        from shim_torch._ops import ops

        aten: Any = ops.aten
        found = _overloads("_resize_output_ _resize_output pin_memory _pin_memory is_pinned _nested_tensor_from_tensor_list")
        found = (*found, *(getattr(aten.to, o) for o in ("device", "prim_Device") if o in aten.to.overloads()))
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = dict.fromkeys(found, True)
    return globals()[name]
