"""What tells tensors apart to operators that look at no data, and which operators make tensors."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from shim_torch._impl.native import _core


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
    known: dict[str, Any] = {"memory_format": _memory_format(t)}
    if t.layout in _SPARSE:
        known.update(storage_offset=0, storage_bytes=None)
    else:
        known.update(storage_bytes=t.untyped_storage().nbytes(), dense_dim=None, sparse_dim=None)
    if t.layout is not _core.strided:
        known["stride"] = ()
    if not t.is_sparse:
        known["is_coalesced"] = None
    for field in fields(TensorMetadata):  # the others are properties and methods of a tensor, under their own names
        if field.name not in known:
            value = getattr(t, field.name)
            known[field.name] = value() if callable(value) else value
    return TensorMetadata(**known)


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
        found = _overloads(
            "_resize_output_ _resize_output pin_memory _pin_memory is_pinned _nested_tensor_from_tensor_list"
        )
        found = (*found, *(getattr(aten.to, o) for o in ("device", "prim_Device") if o in aten.to.overloads()))
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = dict.fromkeys(found, True)
    return globals()[name]
