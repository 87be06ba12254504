"""Sequences of several lengths: padded and packed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from shim_torch._impl.native import _core
from shim_torch._impl.table.arguments import need_tensor as _need_tensor
from shim_torch._impl.table.calls import aten as _aten


def pad_sequence(
    sequences: Any, batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Any:
    """Stacks sequences (L_i, *) into (max L, B, *) or, ``batch_first``, (B, max L, *)."""
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}"
        )
    sequences = sequences.unbind(0) if isinstance(sequences, _core.TensorBase) else tuple(sequences)
    return _aten.pad_sequence(sequences, batch_first, padding_value, padding_side)


def unpad_sequence(padded_sequences: Any, lengths: Any, batch_first: bool = False) -> list[Any]:
    """The inverse of ``pad_sequence``."""
    if not batch_first:
        padded_sequences = padded_sequences.transpose(0, 1)
    return [
        s[: int(n)].clone(memory_format=_core.contiguous_format) for s, n in zip(padded_sequences, lengths, strict=True)
    ]


class PackedSequence(NamedTuple):
    """Sequences of several lengths without padding: the rows step by step, and how many sequences each step has."""

    data: Any
    batch_sizes: Any
    sorted_indices: Any = None
    unsorted_indices: Any = None

    def to(self, *args: Any, **kwargs: Any) -> Any:
        """The sequences with ``data`` on another device or of another dtype; itself if nothing changes."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        orders = {name: getattr(self, name) for name in ("sorted_indices", "unsorted_indices")}
        return self._replace(data=data, **{name: x if x is None else x.to(data.device) for name, x in orders.items()})

    def cpu(self) -> Any:
        """The sequence with its data on the CPU."""
        return self.to("cpu")

    def cuda(self, *args: Any, **kwargs: Any) -> Any:
        """The sequence with its data on a CUDA device."""
        return self.to("cuda" if not args else args[0], **kwargs)

    def double(self) -> Any:
        """The sequence with float64 data."""
        return self.to(self.data.double().dtype)

    def float(self) -> Any:
        """The sequence with float32 data."""
        return self.to(self.data.float().dtype)

    def half(self) -> Any:
        """The sequence with float16 data."""
        return self.to(self.data.half().dtype)

    def long(self) -> Any:
        """The sequence with int64 data."""
        return self.to(_core.int64)

    def int(self) -> Any:
        """The sequence with int32 data."""
        return self.to(_core.int32)

    def short(self) -> Any:
        """The sequence with int16 data."""
        return self.to(_core.int16)

    def char(self) -> Any:
        """The sequence with int8 data."""
        return self.to(_core.int8)

    def byte(self) -> Any:
        """The sequence with uint8 data."""
        return self.to(_core.uint8)

    def is_pinned(self) -> bool:
        """Whether the rows are in pinned memory."""
        return self.data.is_pinned()

    @property
    def is_cuda(self) -> bool:
        """Whether the rows are on a GPU."""
        return self.data.is_cuda


PackedSequence.__module__ = "torch.nn.utils.rnn"


def invert_permutation(permutation: Any) -> Any:
    """Where each place of a permutation came from."""
    if permutation is None:
        return None
    import shim_torch

    return shim_torch.empty_like(permutation).scatter_(
        0, permutation, shim_torch.arange(permutation.numel(), device=permutation.device)
    )


def pack_padded_sequence(input: Any, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True) -> Any:
    """Packs (L, N, *), or with ``batch_first`` (N, L, *); not ``enforce_sorted`` sorts by length first."""
    import shim_torch

    lengths = shim_torch.as_tensor(lengths, dtype=shim_torch.int64, device="cpu")
    _need_tensor(input, "_pack_padded_sequence")
    if not input.numel():
        raise RuntimeError("Cannot pack empty tensors.")
    if lengths.dim() != 1:
        raise RuntimeError(
            f"'lengths' argument should be a 1D CPU int64 tensor, but got {lengths.dim()}D {lengths.device.type} Long tensor"
        )
    order = None
    if not enforce_sorted:
        lengths, order = lengths.sort(descending=True)
        order = order.to(input.device)
    input = _in_order(input, order, batch_first)
    rows, sizes = shim_torch.ops.aten._pack_padded_sequence(input, lengths, batch_first)
    return PackedSequence(rows, sizes, order, invert_permutation(order))


def _in_order(padded: Any, order: Any, batch_first: bool) -> Any:
    """Padded sequences, number ``order[0]`` first; as they are without an order."""
    return padded if order is None else padded.index_select(0 if batch_first else 1, order)


def pad_packed_sequence(
    sequence: Any, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> Any:
    """The padded sequences and their lengths: the inverse of ``pack_padded_sequence``."""
    import shim_torch

    rows, sizes, _, back = sequence
    wanted = len(sizes) if total_length is None else total_length
    if wanted < len(sizes):
        raise ValueError(
            "Expected total_length to be at least the length of the longest sequence in input, but got "
            f"total_length={total_length} and max sequence length being {len(sizes)}"
        )
    padded, lengths = shim_torch.ops.aten._pad_packed_sequence(rows, sizes, batch_first, padding_value, wanted)
    return _in_order(padded, back, batch_first), lengths if back is None else lengths[back.cpu()]


def pack_sequence(sequences: Any, enforce_sorted: bool = True) -> Any:
    """Packs a list of sequences (L_i, *)."""
    lengths = [s.size(0) for s in sequences]
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: Any) -> list[Any]:
    """The list of sequences that were packed."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
