"""``torch.nested``: tensors of tensors of several sizes, in the strided and the jagged layout."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import shim_torch as torch

__all__ = [
    "as_nested_tensor",
    "masked_select",
    "narrow",
    "nested_tensor",
    "nested_tensor_from_jagged",
    "to_padded_tensor",
]


def _listed(ts: Any, name: str) -> list[Any]:
    if not isinstance(ts, (list, tuple)):
        raise TypeError(f"{name}(): argument 'tensor_list' must be list of tensors, not {type(ts).__name__}")
    return list(ts)


def _layout_of(layout: Any) -> Any:
    if layout is None or layout == torch.strided:
        return torch.strided
    if layout != torch.jagged:
        raise RuntimeError(f"Specified layout is unsupported for nested tensors: {layout}")
    return layout


def _same_dims(tensors: Sequence[Any]) -> None:
    for i, t in enumerate(tensors):
        if i and t.dim() != tensors[i - 1].dim():
            raise RuntimeError(
                "All Tensors given to nested_tensor must have the same dimension. "
                f"Found dimension {t.dim()} for Tensor at index {i} and dimension {tensors[i - 1].dim()} for Tensor at index {i - 1}."
            )


def _strided(tensors: list[Any], dtype: Any, device: Any) -> Any:
    from shim_torch._impl.nested.strided import StridedNestedTensor

    _same_dims(tensors)
    return StridedNestedTensor(tensors, dtype, device)


def nested_tensor(
    tensor_list: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """A nested tensor of copies of the tensors (or lists of numbers): a leaf without their history.

    Shapes:  parts (*, D...), of one number of dimensions; with ``layout=torch.jagged`` one dimension may vary
    Errors:  RuntimeError for parts of several numbers of dimensions, and for what the jagged layout cannot hold
    """
    from shim_torch.nested._internal.nested_tensor import jagged_from_list

    layout = _layout_of(layout)
    items = _listed(tensor_list, "nested_tensor")
    tensors = [t.detach() if isinstance(t, torch.Tensor) else torch.as_tensor(t, dtype=dtype) for t in items]
    if layout == torch.jagged:
        made, _ = jagged_from_list(tensors, None, dtype=dtype, device=device)
    else:
        first = tensors[0] if tensors else None
        dtype = dtype or (first.dtype if first is not None else None)
        device = device or (first.device if first is not None else None)
        made = _strided(
            [t.to(device=device, dtype=dtype).clone(memory_format=torch.contiguous_format) for t in tensors],
            dtype,
            device,
        )
    if pin_memory:
        made = made.pin_memory()
    return made.requires_grad_() if requires_grad else made


def as_nested_tensor(ts: Any, dtype: Any = None, device: Any = None, layout: Any = None) -> Any:
    """A nested tensor of the tensors of a list, or of the rows of a tensor, with their history; a nested tensor itself."""
    from shim_torch._impl.nested.base import is_nested
    from shim_torch.nested._internal.nested_tensor import NestedTensor, jagged_from_list

    if not isinstance(ts, (list, tuple, torch.Tensor)):
        raise TypeError("as_nested_tensor(): Expected first argument to be a tensor or a list / tuple of tensors ")
    if isinstance(ts, tuple):
        ts = list(ts)
    layout = _layout_of(layout)
    if is_nested(ts):
        if layout != ts.layout:
            raise RuntimeError("Converting between nested tensor layouts is not supported")
        return ts.to(device=device, dtype=dtype)
    if isinstance(ts, torch.Tensor):
        if ts.dim() < 2:
            raise RuntimeError(
                f"as_nested_tensor(): Expected tensor argument to have dim() > 1, but got dim() == {ts.dim()}"
            )
        ts = ts.to(device=device, dtype=dtype)
        if layout == torch.strided:
            if not ts.is_contiguous():
                return _strided([t.clone() for t in ts.unbind(0)], ts.dtype, ts.device)
            view = _strided(list(ts.unbind(0)), ts.dtype, ts.device)
            view._viewed = ts if ts._base is None else ts._base
            return view
        rows, length = ts.shape[:2]
        offsets = torch.arange(0, rows * length + 1, length, device=ts.device, dtype=torch.int64)
        cache = {"min_seqlen": length, "max_seqlen": length}
        made: Any = NestedTensor(ts.reshape(rows * length, *ts.shape[2:]), offsets, _metadata_cache=cache)
        if ts.is_contiguous():
            made._viewed = ts if ts._base is None else ts._base
        return made
    for t in ts:
        if not isinstance(t, torch.Tensor):
            raise TypeError("as_nested_tensor(): Expected first argument to be a tensor or a list / tuple of tensors ")
    if layout == torch.jagged:
        return jagged_from_list(ts, None, dtype=dtype, device=device)[0]
    return _strided([t.to(device=device, dtype=dtype).clone() for t in ts], dtype, device)


def nested_tensor_from_jagged(
    values: Any,
    offsets: Any = None,
    lengths: Any = None,
    jagged_dim: Any = None,
    min_seqlen: Any = None,
    max_seqlen: Any = None,
) -> Any:
    """A nested tensor over values: row b has the ``lengths[b]`` elements from ``offsets[b]`` on, or those up to ``offsets[b + 1]``.

    Shapes:  values (total, D...) with the rows along ``jagged_dim - 1``, offsets (B + 1,), lengths (B,)
    Errors:  RuntimeError where neither offsets nor lengths are given
    """
    from shim_torch.nested._internal import nested_tensor as jagged

    if "Proxy" in type(values).__name__:
        raise RuntimeError(
            "torch.nested.nested_tensor_from_jagged does not support tracing with fx.symbolic_trace. Use fx.wrap to wrap the function that calls nested_tensor_from_jagged."
        )
    if offsets is None and lengths is None:
        raise RuntimeError("nested_tensor_from_jagged(): At least one of offsets or lengths is required.")
    place = 1 if jagged_dim is None else jagged_dim
    if offsets is None:
        offsets = torch.nn.functional.pad(lengths.cumsum(0), (1, 0))
        lengths = None
    if lengths is not None:
        return jagged.nested_view_from_values_offsets_lengths(values, offsets, lengths, place, min_seqlen, max_seqlen)
    return jagged.nested_view_from_values_offsets(values, offsets, place, min_seqlen, max_seqlen)


def narrow(tensor: Any, dim: int, start: Any, length: Any, layout: Any = torch.strided) -> Any:
    """The rows of a tensor cut to ``length[b]`` elements from ``start[b]`` on: a view of it in the jagged layout."""
    cuts = (start, length)
    for name, x in zip(("start", "length"), cuts, strict=True):
        if not isinstance(x, (int, torch.Tensor)):
            raise RuntimeError(f"{name} must be an integer or a tensor")
    if layout == torch.jagged and dim == 1:
        from shim_torch.nested._internal.nested_tensor import jagged_from_tensor_and_lengths

        bounds = (torch.as_tensor(x, device=tensor.device, dtype=torch.int64) for x in cuts)
        return jagged_from_tensor_and_lengths(tensor, *bounds)[0]
    if layout == torch.strided and not any(isinstance(x, torch.Tensor) for x in cuts):
        return as_nested_tensor(tensor.unbind()).narrow(dim, *cuts)
    refusals = {
        torch.strided: "start and length must be integers for the strided layout NT impl",
        torch.jagged: "jagged layout only supports dim=1",
    }
    raise RuntimeError(refusals.get(layout, f"Specified layout is unsupported for nested narrow: {layout}"))


def masked_select(tensor: Any, mask: Any) -> Any:
    """Of each row of a tensor the elements that a mask (of its shape, or of one to broadcast) chooses; jagged."""
    for description, given in (("tensor, given", tensor), ("mask, given:", mask)):
        if given.layout != torch.strided:
            raise RuntimeError(f"torch.nested.masked_select requires a strided {description} {given.layout}")
    chosen_of_each = mask.expand(tensor.shape).count_nonzero(-1).flatten()
    return nested_tensor_from_jagged(tensor.masked_select(mask), lengths=chosen_of_each)


def to_padded_tensor(input: Any, padding: float, output_size: Any = None, out: Any = None) -> Any:
    """The parts of a nested tensor, (B, *), padded to the longest or to ``output_size``; contiguous."""
    return input.to_padded_tensor(padding, output_size)


def __getattr__(name: str) -> Any:
    if name == "_internal":
        from importlib import import_module

        return import_module("shim_torch.nested._internal")
    from shim_torch._impl.surface.missing import missing

    return missing("torch.nested", name)
