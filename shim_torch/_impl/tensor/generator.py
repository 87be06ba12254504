"""Generators: MT19937 on the CPU, with the numbers that PyTorch draws from a seed; the counter-based Philox4x32-10 on CUDA."""

from __future__ import annotations

import os
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from shim_torch._impl.native import _core
from shim_torch._impl.table.arguments import type_name

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
    """A source of random numbers (torch.Generator): on the CPU a state of MT19937, on CUDA a seed and an offset into its stream."""

    def __init__(self, device: Any = "cpu") -> None:
        if device is None:
            device = "cpu"
        if isinstance(device, bool) or not isinstance(device, (_core.device, str, int)):
            raise TypeError(
                f"Generator(): argument 'device' (position 1) must be torch.device, not {type_name(device)}"
            )
        self._device = device if isinstance(device, _core.device) else _core.device(device)
        if self._device.type not in ("cpu", "cuda"):
            raise RuntimeError(f"{self._device.type.upper()} device type not an accelerator.")
        if self._device.type == "cuda" and self._device.index is None:
            self._device = _core.device("cuda", _core.cuda_current_device())
        self._engine = _core.Mersenne(_DEFAULT_SEED) if self._device.type == "cpu" else None
        self._seed, self._offset = _DEFAULT_SEED, 0  # of CUDA's stream
        self._times_set = 0

    @property
    def device(self) -> Any:
        """The generator's torch.device."""
        return self._device

    def manual_seed(self, seed: int) -> Generator:
        """Restarts the stream with ``seed`` (negative seeds count from 2**64)."""
        seed = int(seed)
        if not -0x8000_0000_0000_0000 <= seed <= 0xFFFF_FFFF_FFFF_FFFF:
            raise ValueError("Overflow when unpacking long long")
        seed &= 0xFFFF_FFFF_FFFF_FFFF
        if self._engine is None:
            self._seed, self._offset, self._times_set = seed, 0, self._times_set + 1
        else:
            self._engine.restart(seed)
        return self

    def seed(self) -> int:
        """Seeds from the system's randomness (on CUDA with 53 bits of it); returns the seed."""
        bits = int.from_bytes(os.urandom(8), "little")
        return self.manual_seed(bits if self._engine is not None else bits >> 11).initial_seed()

    def initial_seed(self) -> int:
        """The seed of the stream."""
        return self._seed if self._engine is None else self._engine.seed

    def get_state(self) -> Any:
        """The state as a uint8 tensor: 5056 elements, PyTorch's, on the CPU; on CUDA 16, seed and offset as int64."""
        if self._engine is not None:
            return _core.from_numpy(np.frombuffer(bytearray(self._engine.get_state()), np.uint8))
        raw = np.array([self._seed, self._offset], dtype=np.uint64).view(np.uint8)
        return _core.from_numpy(raw.copy())

    def set_state(self, state: Any) -> Generator:
        """Restores a state from ``get_state``."""
        if not isinstance(state, _core.TensorBase):
            raise TypeError(f"expected a torch.ByteTensor, but got {type_name(state)}")
        if state.dtype != _core.uint8 or state.device.type != "cpu":
            raise TypeError("RNG state must be a torch.ByteTensor")
        raw = _core.to_numpy(state.contiguous())
        if self._engine is not None:
            if raw.size != 5056:
                raise RuntimeError(
                    f"Expected a CPUGeneratorImplState of size 5056 but found the input RNG state size to be {raw.size}"
                )
            self._engine.set_state(raw.tobytes())
        elif raw.size != 16:
            raise RuntimeError("RNG state is wrong size")
        else:
            self._seed, self._offset = (int(v) for v in raw.view(np.uint64))
            self._times_set += 1
        return self

    def clone_state(self) -> Generator:
        """A new generator with the same state."""
        return Generator(self.device).set_state(self.get_state())

    def _check_graphs(self, name: str) -> None:
        if self._engine is not None:
            raise NotImplementedError(f"{name} is not supported in this Generator")

    def graphsafe_get_state(self) -> Generator:
        """``clone_state`` of a CUDA generator."""
        self._check_graphs("graphsafe_get_state")
        return self.clone_state()

    def graphsafe_set_state(self, other: Generator) -> Generator:
        """Takes over another CUDA generator's state."""
        self._check_graphs("graphsafe_set_state")
        self._seed, self._offset, self._times_set = other._seed, other._offset, self._times_set + 1
        return self

    def _check_offsets(self) -> None:
        if self._engine is not None:
            raise RuntimeError("CPU Generator does not use offset")

    def set_offset(self, offset: int) -> Generator:
        """Sets the offset in the stream, in 32-bit numbers."""
        self._check_offsets()
        self._offset = int(offset) // 4
        self._times_set += 1
        return self

    def get_offset(self) -> int:
        """The offset in the stream, in 32-bit numbers."""
        self._check_offsets()
        return self._offset * 4

    def _take(self, count: int) -> tuple[int, int]:
        """Reserves ``count`` 32-bit numbers of a CUDA stream: (seed as a schema's int has it, first block)."""
        start = self._offset
        self._offset += (count + 3) // 4
        return self._seed - (self._seed >> 63 << 64), start

    def __reduce__(self) -> Any:
        return _rebuild, (str(self.device), self.initial_seed(), self.get_state())

    def __setstate__(self, state: tuple[int, int | None, Any]) -> None:
        """Restores what PyTorch's pickles hold: the seed, the offset on CUDA, the state."""
        seed, offset, bits = state
        self.manual_seed(seed)
        if offset is not None:
            self.set_offset(offset)
        self.set_state(bits)

    def __repr__(self) -> str:
        return f"<torch.Generator device={self.device}>"


def _rebuild(device: str, seed: int, state: Any) -> Generator:
    return Generator(device).manual_seed(seed).set_state(state)


Generator.__module__ = "torch"
default_generator = Generator().manual_seed(
    int.from_bytes(os.urandom(8), "little")
)  # a process draws numbers of its own
_drawn_from: WeakValueDictionary[int, Generator] = WeakValueDictionary()
_cuda: dict[int, Generator] = {}


def cuda_generator(index: int) -> Generator:
    """The default generator of a CUDA device."""
    if index not in _cuda:
        _cuda[index] = Generator(_core.device("cuda", index)).manual_seed(default_generator.initial_seed())
    return _cuda[index]


def number_of(generator: Generator) -> int:
    """A handle (int) by which operators of our own take a CPU generator."""
    _drawn_from[id(generator)] = generator
    return id(generator)


def numbered(number: int) -> Generator:
    """The generator of a handle. RuntimeError if it was freed."""
    found = _drawn_from.get(number)
    if found is None:
        raise RuntimeError("the generator that these random numbers were to come from is gone")
    return found


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
