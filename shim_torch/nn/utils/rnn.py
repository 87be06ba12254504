"""Padding of sequences."""

from __future__ import annotations

from typing import Any


def pad_sequence(
    sequences: Any, batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Any:
    """Stacks sequences (L_i, *) into (max L, B, *) or, ``batch_first``, (B, max L, *)."""
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"padding_side should be one of 'left' or 'right', got {padding_side}")
    longest = max(s.size(0) for s in sequences)
    out = sequences[0].new_full((len(sequences), longest, *sequences[0].shape[1:]), padding_value)
    for i, s in enumerate(sequences):
        start = longest - s.size(0) if padding_side == "left" else 0
        out[i, start : start + s.size(0)] = s
    return out if batch_first else out.transpose(0, 1)


def unpad_sequence(padded_sequences: Any, lengths: Any, batch_first: bool = False) -> list[Any]:
    """The inverse of ``pad_sequence``."""
    if not batch_first:
        padded_sequences = padded_sequences.transpose(0, 1)
    return [s[: int(n)] for s, n in zip(padded_sequences, lengths, strict=True)]
