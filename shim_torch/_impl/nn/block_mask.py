"""``BlockMask``: which blocks of an attention matrix are computed."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.nn.calls import operators
from shim_torch._impl.surface import naming
from shim_torch._impl.table.calls import torch

_DEFAULT_SPARSE_BLOCK_SIZE = 128
_LARGE_SPARSE_BLOCK_SIZE = 1 << 30


def noop_mask(batch: Any, head: Any, token_q: Any, token_kv: Any) -> Any:
    """A mask function that keeps everything."""
    return batch.new_ones(size=(), dtype=_bool(), device=batch.device)


def _bool() -> Any:
    from shim_torch._impl.native import _core

    return _core.bool


def ordered(dense: Any) -> tuple[Any, Any]:
    """(number of blocks in each row, column indices with the present blocks first) of a 0/1 matrix of blocks."""
    dense = dense.to(_core.int32)
    count = dense.sum(-1)
    indices = torch.argsort(dense, dim=-1, descending=True, stable=True)
    return count.to(_core.int32).contiguous(), indices.to(_core.int32).contiguous()


def dense(count: Any, indices: Any, columns: int | None = None) -> Any:
    """The inverse of ``ordered``: the 0/1 matrix of blocks."""
    width = indices.shape[-1] if columns is None else columns
    used = torch.arange(indices.shape[-1], device=count.device) < count.unsqueeze(-1)
    place = torch.where(used, indices.long(), width)
    made = torch.zeros(*count.shape, width + 1, dtype=_core.int32, device=count.device)
    return made.scatter(-1, place, used.to(_core.int32))[..., :width].contiguous()


class BlockMask:
    """The blocks of an attention matrix that a mask leaves: partial ones, on which it is evaluated, and full ones.

    kv_num_blocks (B, H, rows) and kv_indices (B, H, rows, columns): the partial blocks of each row of blocks;
    full_kv_*: the full ones; q_* and full_q_*: the same by column. BLOCK_SIZE: (queries, keys) in a block.
    """

    def __init__(
        self,
        seq_lengths: tuple[int, int],
        kv_num_blocks: Any,
        kv_indices: Any,
        full_kv_num_blocks: Any,
        full_kv_indices: Any,
        q_num_blocks: Any,
        q_indices: Any,
        full_q_num_blocks: Any,
        full_q_indices: Any,
        BLOCK_SIZE: tuple[int, int],
        mask_mod: Callable[..., Any],
        dq_write_order: Any = None,
        dq_write_order_full: Any = None,
        dq_kv_order: bool = True,
    ) -> None:
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        if (full_kv_num_blocks is None) != (full_kv_indices is None):
            raise AssertionError("full_kv_num_blocks and full_kv_indices must be both provided or omitted")
        self.seq_lengths, self.BLOCK_SIZE, self.mask_mod = seq_lengths, BLOCK_SIZE, mask_mod
        self.kv_num_blocks, self.kv_indices = kv_num_blocks, kv_indices
        self.full_kv_num_blocks, self.full_kv_indices = full_kv_num_blocks, full_kv_indices
        self.q_num_blocks, self.q_indices = q_num_blocks, q_indices
        self.full_q_num_blocks, self.full_q_indices = full_q_num_blocks, full_q_indices

    @classmethod
    def from_kv_blocks(
        cls,
        kv_num_blocks: Any,
        kv_indices: Any,
        full_kv_num_blocks: Any = None,
        full_kv_indices: Any = None,
        BLOCK_SIZE: Any = _DEFAULT_SPARSE_BLOCK_SIZE,
        mask_mod: Callable[..., Any] | None = None,
        seq_lengths: tuple[int, int] | None = None,
        compute_q_blocks: bool = True,
        **_: Any,
    ) -> BlockMask:
        """A mask from the blocks of each row; those of each column are derived."""
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        size = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else tuple(BLOCK_SIZE)
        columns = kv_indices.shape[-1]

        def turned(count: Any, indices: Any) -> tuple[Any, Any]:
            if count is None or not compute_q_blocks:
                return None, None
            return ordered(dense(count, indices, columns).transpose(-2, -1))

        lengths = seq_lengths or (kv_indices.shape[-2] * size[0], columns * size[1])
        by_column = turned(kv_num_blocks, kv_indices)
        full_by_column = turned(full_kv_num_blocks, full_kv_indices)
        return cls(
            lengths, kv_num_blocks, kv_indices, full_kv_num_blocks, full_kv_indices, *by_column, *full_by_column, size,
            mask_mod or noop_mask,
        )  # fmt: skip

    def as_tuple(self, flatten: bool = True) -> tuple[Any, ...]:
        """All attributes, in the order of the constructor."""
        lengths = self.seq_lengths if flatten else (self.seq_lengths,)
        size = self.BLOCK_SIZE if flatten else (self.BLOCK_SIZE,)
        return (*lengths, *(getattr(self, n) for n in _TENSORS), *size, self.mask_mod)

    @property
    def shape(self) -> tuple[int, ...]:
        """(B, H, queries, keys)."""
        return (*self.kv_indices.shape[:-2], *self.seq_lengths)

    def __getitem__(self, index: Any) -> BlockMask:
        """The mask of some batches and heads."""
        index = index if isinstance(index, tuple) else (index,)
        index = tuple(slice(i, i + 1 or None) if isinstance(i, int) else i for i in index)
        picked = [None if getattr(self, n) is None else getattr(self, n)[index] for n in _TENSORS[:4]]
        from_kv_blocks: Any = BlockMask.from_kv_blocks
        return from_kv_blocks(*picked, BLOCK_SIZE=self.BLOCK_SIZE, mask_mod=self.mask_mod, seq_lengths=self.seq_lengths)

    def numel(self) -> int:
        """The number of elements of the attention matrices."""
        return math.prod(self.shape)

    def to_dense(self) -> Any:
        """The 0/1 matrix of blocks that are computed."""
        found = dense(self.kv_num_blocks, self.kv_indices)
        if self.full_kv_num_blocks is not None:
            found = found | dense(self.full_kv_num_blocks, self.full_kv_indices)
        return found

    def sparsity(self) -> float:
        """The percentage of the matrix that is not computed."""
        counts = (self.kv_num_blocks, self.full_kv_num_blocks)
        computed = sum(int(count.sum()) for count in counts if count is not None) * math.prod(self.BLOCK_SIZE)
        return 100 * (1 - computed / self.numel())

    def to(self, device: Any) -> BlockMask:
        """The mask on another device."""
        moved: list[Any] = [None if getattr(self, n) is None else getattr(self, n).to(device) for n in _TENSORS]
        return BlockMask(self.seq_lengths, *moved, self.BLOCK_SIZE, self.mask_mod)  # type: ignore[call-arg]

    def __repr__(self) -> str:
        return f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%)"


_TENSORS = """kv_num_blocks kv_indices full_kv_num_blocks full_kv_indices q_num_blocks q_indices full_q_num_blocks
full_q_indices""".split()


def evaluate(mod: Callable[..., Any], prefix: tuple[Any, ...], B: int, H: int, Q: int, K: int, device: Any) -> Any:
    """``mod(*prefix, b, h, q, k)`` for all elements at once: the indices are tensors that broadcast to (B, H, Q, K)."""
    sizes = ((B, 1, 1, 1), (1, H, 1, 1), (1, 1, Q, 1), (1, 1, 1, K))
    places = [torch.arange(max(s), device=device).reshape(s) for s in sizes]
    result = mod(*prefix, *places)
    return result.expand(B, H, Q, K)


def create_mask(
    mod_fn: Callable[..., Any], B: int | None, H: int | None, Q_LEN: int, KV_LEN: int, device: Any = None
) -> Any:
    """The whole mask, (B, H, queries, keys): booleans of a mask function, or 0 and -inf of a score function."""
    import inspect

    B, H = B or 1, H or 1
    count = sum(p.default is p.empty for p in inspect.signature(mod_fn).parameters.values())
    if count == 5:
        score = torch.zeros(B, H, Q_LEN, KV_LEN, device=device)
        found = evaluate(mod_fn, (score,), B, H, Q_LEN, KV_LEN, device)
        return torch.where(torch.isneginf(found), False, True)
    if count != 4:
        raise AssertionError(
            "Unknown mod_fn type: it should take (b, h, q_idx, kv_idx) or (score, b, h, q_idx, kv_idx)"
        )
    return evaluate(mod_fn, (), B, H, Q_LEN, KV_LEN, device).contiguous()


def create_block_mask(
    mask_mod: Callable[..., Any],
    B: int | None,
    H: int | None,
    Q_LEN: int,
    KV_LEN: int,
    device: Any = None,
    BLOCK_SIZE: Any = _DEFAULT_SPARSE_BLOCK_SIZE,
    _compile: bool = False,
    separate_full_blocks: bool = True,
    **_: Any,
) -> BlockMask:
    """The blocks that ``mask_mod(b, h, q_idx, kv_idx)`` leaves; B or H None where the mask is the same for all."""
    size_q, size_kv = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
    mask = create_mask(mask_mod, B, H, Q_LEN, KV_LEN, device)
    rows, columns = -(-Q_LEN // size_q), -(-KV_LEN // size_kv)
    padded = operators.pad(mask, (0, columns * size_kv - KV_LEN, 0, rows * size_q - Q_LEN))
    blocks = padded.reshape(*mask.shape[:2], rows, size_q, columns, size_kv).permute(0, 1, 2, 4, 3, 5)
    total = blocks.sum((-2, -1))
    full = total == size_q * size_kv
    some = (total > 0) & ~full if separate_full_blocks else total > 0
    partial = ordered(some)
    whole = ordered(full) if separate_full_blocks else (None, None)
    from_kv_blocks: Any = BlockMask.from_kv_blocks
    return from_kv_blocks(
        *partial, *whole, BLOCK_SIZE=(size_q, size_kv), mask_mod=mask_mod, seq_lengths=(Q_LEN, KV_LEN)
    )


naming.present(globals(), "torch.nn.attention.flex_attention")
