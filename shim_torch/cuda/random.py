"""``torch.cuda.random``: the generators of the GPUs."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.tensor.generator import Generator
from shim_torch._impl.tensor.generator import cuda_generator as _cuda_generator
from shim_torch.cuda import current_device, device_count, is_initialized
from shim_torch.random import _index, _seed_cuda

__all__ = [
    "current_device",
    "device_count",
    "get_rng_state",
    "get_rng_state_all",
    "initial_seed",
    "is_initialized",
    "manual_seed",
    "manual_seed_all",
    "seed",
    "seed_all",
    "set_rng_state",
    "set_rng_state_all",
]


def manual_seed(seed: int) -> None:
    """Seeds the current device's generator."""
    _seed_cuda(seed, all_devices=False)


def manual_seed_all(seed: int) -> None:
    """Seeds every device's generator."""
    _seed_cuda(seed, all_devices=True)


def get_rng_state(device: Any = "cuda") -> Any:
    """The state of a device's generator: a uint8 tensor on the CPU."""
    return _cuda_generator(_index(device)).get_state()


def set_rng_state(new_state: Any, device: Any = "cuda") -> None:
    """Sets the state of a device's generator."""
    _cuda_generator(_index(device)).set_state(new_state)


def get_rng_state_all() -> list[Any]:
    """The states of every device's generator."""
    return [_cuda_generator(i).get_state() for i in range(_core.cuda_device_count())]


def set_rng_state_all(new_states: Any) -> None:
    """Sets the states of the devices' generators, in their order."""
    for i, state in enumerate(new_states):
        _cuda_generator(i).set_state(state)


def seed() -> None:
    """Seeds the current device's generator from the system."""
    _cuda_generator(_core.cuda_current_device()).seed()


def seed_all() -> None:
    """Seeds every device's generator with one number from the system."""
    _seed_cuda(Generator().seed(), all_devices=True)


def initial_seed() -> int:
    """The seed of the current device's generator."""
    return _cuda_generator(_core.cuda_current_device()).initial_seed()


def _default_generators() -> tuple[Generator, ...]:
    return tuple(_cuda_generator(i) for i in range(_core.cuda_device_count()))
