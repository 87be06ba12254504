"""Counter-based random numbers: Philox4x32-10, the same stream on every device."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from native import _core
from shim_torch._arguments import type_name

_M0, _M1, _W0, _W1 = 0xD2511F53, 0xCD9E8D57, 0x9E3779B9, 0xBB67AE85
_DEFAULT_SEED = 67280421310721


def philox(xp: Any, seed: int, offset: int, blocks: int) -> Any:
    """uint32 array (blocks, 4): block i is Philox4x32-10 of counter offset + i under key seed."""
    if xp is np:
        words = np.empty((blocks, 4), np.uint32)
        _core.philox_words(seed, offset, words)
        return words
    return philox_reference(xp, seed, offset, blocks)


def philox_reference(xp: Any, seed: int, offset: int, blocks: int) -> Any:
    """``philox`` in array operations: CuPy's, and what the native one is tested against."""
    u64 = xp.uint64
    counter = xp.arange(blocks, dtype=u64) + u64(offset)
    c0, c1 = counter & u64(0xFFFFFFFF), counter >> u64(32)
    c2 = xp.zeros(blocks, u64)
    c3 = xp.zeros(blocks, u64)
    k0, k1 = seed & 0xFFFFFFFF, (seed >> 32) & 0xFFFFFFFF
    low = u64(0xFFFFFFFF)
    for _ in range(10):
        p0, p1 = c0 * u64(_M0), c2 * u64(_M1)
        c0, c1, c2, c3 = (p1 >> u64(32)) ^ c1 ^ u64(k0), p1 & low, (p0 >> u64(32)) ^ c3 ^ u64(k1), p0 & low
        k0, k1 = (k0 + _W0) & 0xFFFFFFFF, (k1 + _W1) & 0xFFFFFFFF
    return xp.stack([c0, c1, c2, c3], axis=1).astype(xp.uint32)


class Generator:
    """A source of random numbers (torch.Generator): a seed and an offset into its stream."""

    def __init__(self, device: Any = "cpu") -> None:
        if device is None:
            device = "cpu"
        if isinstance(device, bool) or not isinstance(device, (_core.device, str, int)):
            raise TypeError(f"Generator(): argument 'device' (position 1) must be torch.device, not {type_name(device)}")
        self._device = device if isinstance(device, _core.device) else _core.device(device)
        if self._device.type not in ("cpu", "cuda"):
            raise RuntimeError(f"{self._device.type.upper()} device type not an accelerator.")
        if self._device.type == "cuda" and self._device.index is None:
            self._device = _core.device("cuda", _core.cuda_current_device())
        self._seed, self._offset = _DEFAULT_SEED, 0

    @property
    def device(self) -> Any:
        """The device whose numbers these are (torch.device)."""
        return self._device

    def manual_seed(self, seed: int) -> Generator:
        """Starts the stream of ``seed`` (negative seeds count from 2**64)."""
        seed = int(seed)
        if not -0x8000_0000_0000_0000 <= seed <= 0xFFFF_FFFF_FFFF_FFFF:
            raise RuntimeError("Overflow when unpacking long long")
        self._seed, self._offset = seed & 0xFFFF_FFFF_FFFF_FFFF, 0
        return self

    def seed(self) -> int:
        """Starts a stream of the system's randomness; returns its seed."""
        self.manual_seed(int.from_bytes(os.urandom(8), "little") >> 11)
        return self._seed

    def initial_seed(self) -> int:
        """The seed of the stream."""
        return self._seed

    def get_state(self) -> Any:
        """Seed and offset, int64 each, as a uint8 tensor of 16 elements."""
        raw = np.array([self._seed, self._offset], dtype=np.uint64).view(np.uint8)
        return _core.from_numpy(raw.copy())

    def set_state(self, state: Any) -> Generator:
        """Takes what ``get_state`` gave."""
        if not isinstance(state, _core.TensorBase) or state.dtype != _core.uint8 or state.numel() != 16:
            raise TypeError("expected a torch.ByteTensor of 16 elements (seed and offset)")
        self._seed, self._offset = (int(v) for v in _core.to_numpy(state.contiguous()).view(np.uint64))
        return self

    def clone_state(self) -> Generator:
        """A generator at the same place of the same stream."""
        copy = Generator(self.device)
        copy._seed, copy._offset = self._seed, self._offset
        return copy

    def graphsafe_set_state(self, other: Generator) -> Generator:
        self._seed, self._offset = other._seed, other._offset
        return self

    graphsafe_get_state = clone_state

    def set_offset(self, offset: int) -> Generator:
        """Moves to a place of the stream."""
        self._offset = int(offset) // 4
        return self

    def get_offset(self) -> int:
        """The place in the stream, in numbers."""
        return self._offset * 4

    def take(self, count: int) -> tuple[int, int]:
        """Reserves ``count`` 32-bit numbers: (seed, first block)."""
        start = self._offset
        self._offset += (count + 3) // 4
        return self._seed, start

    def __reduce__(self) -> Any:
        return _rebuild, (str(self.device), self._seed, self._offset)

    def __repr__(self) -> str:
        return f"<torch.Generator device={self.device}>"


def _rebuild(device: str, seed: int, offset: int) -> Generator:
    g = Generator(device)
    g._seed, g._offset = seed, offset
    return g


Generator.__module__ = "torch"
default_generator = Generator()
_cuda: dict[int, Generator] = {}


def cuda_generator(index: int) -> Generator:
    """The default generator of a CUDA device."""
    if index not in _cuda:
        _cuda[index] = Generator(_core.device("cuda", index)).manual_seed(default_generator._seed)
    return _cuda[index]


def default_for(device: Any) -> Generator:
    """The default generator of a device."""
    if device.type == "cuda":
        return cuda_generator(_core.cuda_current_device() if device.index is None else device.index)
    return default_generator


def chosen(generator: Any, device: Any) -> Generator:
    """The generator to use: the given one, checked, or the device's default."""
    if generator is None:
        return default_for(device)
    if generator.device.type != device.type:
        raise RuntimeError(f"Expected a '{device.type}' device type for generator but found '{generator.device.type}'")
    return generator
