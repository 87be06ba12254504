"""The words that CUDA's generator makes, in NumPy: block i of a seed's stream is Philox4x32-10 of the counter offset + i."""

from __future__ import annotations

import numpy as np


def words(seed: int, blocks: int, start: int = 0) -> np.ndarray:
    """(blocks, 4) uint32 from block ``start`` of the stream on."""
    low, shift = np.uint64(0xFFFFFFFF), np.uint64(32)
    counter = np.arange(blocks, dtype=np.uint64) + np.uint64(start)
    c = [counter & low, counter >> shift, np.zeros_like(counter), np.zeros_like(counter)]
    key = [seed & 0xFFFFFFFF, seed >> 32]
    for _ in range(10):
        a, b = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        c = [(b >> shift) ^ c[1] ^ np.uint64(key[0]), b & low, (a >> shift) ^ c[3] ^ np.uint64(key[1]), a & low]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return np.stack(c, 1).astype(np.uint32)


def uniform(seed: int, n: int, wide: bool) -> np.ndarray:
    """n numbers of [0, 1): of 24 bits a word in float32, ``wide`` of 53 bits a pair of words in float64."""
    w = words(seed, n).reshape(-1)
    if not wide:
        return (w[:n] >> 8).astype(np.float32) * np.float32(2.0**-24)
    w = w[: 2 * n].reshape(-1, 2).astype(np.uint64)
    return (((w[:, 0] << np.uint64(21)) ^ (w[:, 1] >> np.uint64(11))) & np.uint64((1 << 53) - 1)).astype(
        np.float64
    ) * 2.0**-53


def normal(seed: int, n: int) -> np.ndarray:
    """n standard normal numbers in float64: cosines, then sines, of the angles of words i + half and the radii of words i.

    Their blocks are 2**40 after those of the other draws.
    """
    half = (n + 1) // 2
    w = words(seed, n + 4, 1 << 40).reshape(-1)
    radius = np.sqrt(-2.0 * np.log(((w[:half] >> 8).astype(np.float64) + 1) * 2.0**-24))
    angle = 2.0 * np.pi * (w[half : 2 * half] >> 8).astype(np.float64) * 2.0**-24
    return np.concatenate([radius * np.cos(angle), (radius * np.sin(angle))[: n - half]])


def integers(seed: int, n: int, low: int, span: int) -> np.ndarray:
    """n whole numbers of [low, low + span): remainders of words, or of pairs of words from spans of 2**28 on."""
    if span < 1 << 28:
        return low + (words(seed, n).reshape(-1)[:n] % np.uint32(span)).astype(np.int64)
    w = words(seed, n).reshape(-1)[: 2 * n].reshape(-1, 2).astype(np.uint64)
    return np.array([low + int(x) % span for x in (w[:, 0] << np.uint64(32)) | w[:, 1]], dtype=object).astype(np.int64)
