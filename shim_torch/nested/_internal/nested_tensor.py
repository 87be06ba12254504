"""Nested tensors of the jagged layout: rows of one dimension's several lengths, one after the other in a tensor of values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import shim_torch as torch
from shim_torch._impl.nested.base import Nested, wrapper
from shim_torch._impl.nested.base import _rebuild as _rebuild
from shim_torch.nested._internal.nested_int import NestedInt, _tensor_symint_registry, get_tensor_symint

__all__ = [
    "NestedTensor", "ViewBufferFromNested", "ViewNestedFromBuffer", "_tensor_symint_registry", "buffer_from_jagged",
    "get_tensor_symint", "jagged_from_list", "jagged_from_tensor_and_lengths", "nested_from_padded",
    "nested_view_from_values_offsets", "nested_view_from_values_offsets_lengths",
]  # fmt: skip


class NestedTensor(Nested):
    """A tensor of shape (B, j, D...) or, transposed, with j elsewhere after B: row b is values[offsets[b]:offsets[b+1]]."""

    _values: Any
    _offsets: Any
    _lengths: Any
    _ragged_idx: int
    _size: Any
    _metadata_cache: dict[str, int]

    @staticmethod
    def __new__(cls: Any, values: Any, offsets: Any, *, lengths: Any = None, **more: Any) -> Any:
        place = more.get("_ragged_idx", 1)
        if isinstance(values, Nested):
            raise RuntimeError("a nested tensor's values cannot be nested")
        if offsets.dim() != 1:
            raise RuntimeError(f"Expected 1D offsets but got offsets of shape {tuple(offsets.shape)}")
        rows = offsets.shape[0] - 1
        made: Any = wrapper(torch.Tensor)(
            cls, (rows, *values.shape), dtype=values.dtype, device=values.device, layout=torch.jagged
        )
        made._values, made._offsets, made._lengths, made._ragged_idx = values, offsets, lengths, place
        symbol: Any = get_tensor_symint(offsets if lengths is None else lengths)
        made._size = torch.Size((rows, *values.shape[: place - 1], symbol, *values.shape[place:]))
        made._metadata_cache = dict(more.get("_metadata_cache") or {})
        return made

    def __init__(self, *_: Any, **__: Any) -> None:
        super().__init__()

    def bounds(self) -> list[tuple[int, int]]:
        """Where each row starts and how long it is."""
        starts = self._offsets.tolist()
        if self._lengths is not None:
            return list(zip(starts[:-1], self._lengths.tolist(), strict=True))
        return [(a, b - a) for a, b in zip(starts, starts[1:], strict=False)]

    def parts(self) -> list[Any]:
        """Views of the rows, one tensor each."""
        at = self._ragged_idx - 1
        return [self._values.narrow(at, start, length) for start, length in self.bounds()]

    def held(self) -> list[Any]:
        """The tensor that holds the data: the values of all rows."""
        return [self._values]

    def like(self, held: list[Any]) -> Any:
        """A nested tensor of the same rows over other values."""
        return self.with_values(held[0])

    def with_values(self, values: Any, ragged_idx: int | None = None) -> Any:
        """The same rows of other values, perhaps with the varying dimension elsewhere."""
        place = self._ragged_idx if ragged_idx is None else ragged_idx
        return NestedTensor(
            values, self._offsets, lengths=self._lengths, _ragged_idx=place, _metadata_cache=self._metadata_cache
        )

    def of_parts(self, parts: Sequence[Any], ragged_idx: int | None = None) -> Any:
        """Parts joined along the varying dimension; the rows keep their symbol where they keep their lengths."""
        place = self._ragged_idx if ragged_idx is None else ragged_idx
        lengths = [p.shape[place - 1] for p in parts]
        values = torch.cat(list(parts), place - 1)
        if lengths == [n for _, n in self.bounds()] and self._lengths is None:
            return self.with_values(values, place)
        return NestedTensor(values, _offsets_of(lengths, values.device), _ragged_idx=place)

    def lengths(self) -> Any:
        """The rows' lengths (batch,), or None where rows follow each other without gaps."""
        return self._lengths

    def offsets(self) -> Any:
        """Where the rows begin in the values, and the end of the last: (batch + 1,)."""
        return self._offsets

    def _extreme(self, name: str) -> int:
        if name not in self._metadata_cache:
            found = [n for _, n in self.bounds()] or [0]
            self._metadata_cache["max_seqlen"], self._metadata_cache["min_seqlen"] = max(found), min(found)
        return self._metadata_cache[name]

    @property
    def _max_seqlen(self) -> int:
        return self._extreme("max_seqlen")

    @property
    def _min_seqlen(self) -> int:
        return self._extreme("min_seqlen")

    @property
    def _maybe_max_seqlen(self) -> int | None:
        return self._metadata_cache.get("max_seqlen")

    @property
    def _maybe_min_seqlen(self) -> int | None:
        return self._metadata_cache.get("min_seqlen")

    @property
    def _max_seqlen_tensor(self) -> Any:
        """The longest row's length as the size of an empty tensor: so it passes through operators."""
        known = self._maybe_max_seqlen
        return None if known is None else _stored(known)

    @property
    def _min_seqlen_tensor(self) -> Any:
        known = self._maybe_min_seqlen
        return None if known is None else _stored(known)

    def symbol(self) -> NestedInt:
        """The size that varies."""
        return self._size[self._ragged_idx]

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        tail = ""
        if self.requires_grad:
            fn = self.grad_fn
            tail = f", grad_fn={fn}" if fn is not None else ", requires_grad=True"
        return (
            f"NestedTensor(size={tuple(self._size)}, offsets={self._offsets}{tail}, contiguous={self._lengths is None})"
        )

    def _state(self) -> tuple[Any, ...]:
        return "jagged", self._values, self._offsets, self._lengths, self._ragged_idx, self._metadata_cache

    def __tensor_flatten__(self) -> tuple[list[str], dict[str, Any]]:
        inner = ["_values", "_offsets"] + (["_lengths"] if self._lengths is not None else [])
        return inner, {"requires_grad": self.requires_grad, "ragged_idx": self._ragged_idx}

    @staticmethod
    def __tensor_unflatten__(inner: dict[str, Any], meta: dict[str, Any], outer_size: Any, outer_stride: Any) -> Any:
        return NestedTensor(
            inner["_values"], inner["_offsets"], lengths=inner.get("_lengths"), _ragged_idx=meta["ragged_idx"]
        )


def _as_view(made: Any, values: Any) -> NestedTensor:
    """A nested tensor that says of what it is a view."""
    made._viewed = values if values._base is None else values._base
    return made


def rebuilt(values: Any, offsets: Any, lengths: Any, ragged_idx: int, cache: dict[str, int]) -> NestedTensor:
    """What a pickle holds, made again."""
    return NestedTensor(values, offsets, lengths=lengths, _ragged_idx=ragged_idx, _metadata_cache=cache)


def _offsets_of(lengths: Sequence[int], device: Any) -> Any:
    ends = [0]
    for n in lengths:
        ends.append(ends[-1] + n)
    return torch.tensor(ends, dtype=torch.int64, device=device)


def _ragged_place(tensors: Sequence[Any]) -> int:
    """The one dimension in which the tensors differ, counted with the batch's; 1 where they agree."""
    if len({t.dim() for t in tensors}) == 1:
        first = tensors[0].shape
        differ = [d for d in range(len(first)) if any(t.shape[d] != first[d] for t in tensors)]
        if len(differ) <= 1 and len(first):
            return (differ[0] if differ else 0) + 1
    raise RuntimeError(
        "Cannot represent given tensor list as a nested tensor with the jagged layout. "
        "Note that the jagged layout only represents shapes of the form "
        "(B, *_0, D_0, D_1, ..., D_N), with only *_0 allowed to be ragged."
    )


def _one_of(tensors: Sequence[Any], what: str, text: str) -> None:
    if len({getattr(t, what) for t in tensors}) > 1:
        raise RuntimeError(f"When constructing a nested tensor, all tensors in list must {text}")


def jagged_from_list(tensors: Sequence[Any], offsets: Any, dtype: Any = None, device: Any = None) -> tuple[Any, Any]:
    """A nested tensor of the tensors joined along the dimension in which they differ, and its offsets."""
    if not tensors:
        raise RuntimeError("Cannot construct a nested tensor from an empty tensor list")
    _one_of(tensors, "dtype", "have the same dtype")
    _one_of(tensors, "device", "be on the same device")
    if len({t.dim() for t in tensors}) > 1:
        raise RuntimeError("When constructing a nested tensor, all tensors in list must have the same dim")
    if tensors[0].dim() == 0:
        raise RuntimeError("Cannot construct a nested tensor from a list of zero-dim tensors")
    place = _ragged_place(tensors)
    tensors = [t.to(device=device, dtype=dtype) for t in tensors]
    lengths = [t.shape[place - 1] for t in tensors]
    values = torch.cat(list(tensors), place - 1)
    if offsets is None:
        offsets = _offsets_of(lengths, values.device)
    cache = {"min_seqlen": min(lengths), "max_seqlen": max(lengths)}
    return NestedTensor(values, offsets, _ragged_idx=place, _metadata_cache=cache), offsets


def jagged_from_tensor_and_lengths(tensor: Any, starts: Any, lengths: Any) -> tuple[Any, Any, Any]:
    """Of each row of a (B, S, D...) tensor the ``lengths`` elements from ``starts`` on: a view of it, with holes."""
    batch, longest = tensor.shape[0], tensor.shape[1]
    if lengths.dim() not in (0, 1):
        raise RuntimeError("When constructing jagged nested tensor, lengths must be 0- or 1-dimensional")
    starts, lengths = (
        torch.as_tensor(x, device=tensor.device).expand(batch).to(torch.int64) for x in (starts, lengths)
    )
    offsets = torch.cat(
        (
            torch.arange(batch, device=tensor.device) * longest + starts,
            torch.tensor([batch * longest], device=tensor.device),
        )
    )
    if lengths.numel() and bool((offsets[:-1] + lengths == offsets[1:]).all()):
        return nested_view_from_values_offsets(tensor.flatten(0, 1), offsets), offsets, None
    lengths = lengths.clone()
    return nested_view_from_values_offsets_lengths(tensor.flatten(0, 1), offsets, lengths), offsets, lengths


def _stored(length: int) -> Any:
    return torch.zeros(length, 0)


def _cache_of(min_seqlen: Any, max_seqlen: Any) -> dict[str, int]:
    given = {"min_seqlen": min_seqlen, "max_seqlen": max_seqlen}
    return {
        k: v.shape[0] if isinstance(v, torch.Tensor) and v.dim() == 2 else int(v)
        for k, v in given.items()
        if v is not None
    }


def nested_view_from_values_offsets(
    values: Any, offsets: Any, ragged_idx: int = 1, min_seqlen: Any = None, max_seqlen: Any = None
) -> NestedTensor:
    """A nested tensor that is a view of its values."""
    made = NestedTensor(values, offsets, _ragged_idx=ragged_idx, _metadata_cache=_cache_of(min_seqlen, max_seqlen))
    return _as_view(made, values)


def nested_view_from_values_offsets_lengths(
    values: Any, offsets: Any, lengths: Any, ragged_idx: int = 1, min_seqlen: Any = None, max_seqlen: Any = None
) -> NestedTensor:
    """A view of values, of whose rows only ``lengths`` elements count."""
    cache = _cache_of(min_seqlen, max_seqlen)
    return _as_view(
        NestedTensor(values, offsets, lengths=lengths, _ragged_idx=ragged_idx, _metadata_cache=cache), values
    )


def buffer_from_jagged(jagged: NestedTensor) -> Any:
    """The values of a nested tensor, with their history."""
    return jagged._values


def nested_from_padded(
    padded: Any, offsets: Any, ragged_idx: int = 1, min_seqlen: Any = None, max_seqlen: Any = None, sum_S: Any = None
) -> NestedTensor:
    """The rows of a padded tensor without what pads them."""
    ends = offsets.tolist()
    rows = [padded[b].narrow(ragged_idx - 1, 0, ends[b + 1] - ends[b]) for b in range(len(ends) - 1)]
    cache = _cache_of(min_seqlen, max_seqlen)
    return NestedTensor(torch.cat(rows, ragged_idx - 1), offsets, _ragged_idx=ragged_idx, _metadata_cache=cache)


class ViewBufferFromNested:
    """The values of a nested tensor, as the autograd function of that name gives them."""

    @staticmethod
    def apply(x: NestedTensor) -> Any:
        """The values of ``x``, all rows in one tensor."""
        return x._values


class ViewNestedFromBuffer:
    """A nested tensor of values and offsets, as the autograd function of that name gives it."""

    @staticmethod
    def apply(
        values: Any, offsets: Any, metadata_cache: Any = None, dtype: Any = None, device: Any = None
    ) -> NestedTensor:
        """A nested tensor over ``values``, whose rows begin at ``offsets``."""
        return NestedTensor(values.to(dtype=dtype, device=device), offsets, _metadata_cache=metadata_cache)
