"""``torch.random``: seeds and states of the default generators."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.tensor.generator import Generator, default_generator
from shim_torch._impl.tensor.generator import cuda_generator as _cuda_generator

__all__ = ["default_generator", "fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state"]


def manual_seed(seed: int) -> Generator:
    """Seeds the default generators of all devices."""
    _seed_cuda(seed, all_devices=True)
    return default_generator.manual_seed(seed)


def _seed_cuda(seed: int, all_devices: bool) -> None:
    """Seeds the CUDA devices' default generators; without a device there is nothing to seed."""
    count = _core.cuda_device_count()
    for index in range(count) if all_devices else [_core.cuda_current_device()] if count else []:
        _cuda_generator(index).manual_seed(seed)


def seed() -> int:
    """Seeds the default generators from the system; returns the seed."""
    value = default_generator.seed()
    _seed_cuda(value, all_devices=True)
    return value


def initial_seed() -> int:
    """The default generator's seed."""
    return default_generator.initial_seed()


def get_rng_state() -> Any:
    """The default generator's state."""
    return default_generator.get_state()


def set_rng_state(new_state: Any) -> None:
    """Sets the default generator's state."""
    default_generator.set_state(new_state)


def _index(device: Any) -> int:
    from shim_torch._impl.cuda.devices import index_of

    return index_of(device)


@contextlib.contextmanager
def fork_rng(
    devices: Any = None,
    enabled: bool = True,
    _caller: str = "fork_rng",
    _devices_kw: str = "devices",
    device_type: str = "cuda",
) -> Iterator[None]:
    """Random states are put back at the end of the block."""
    if not enabled:
        yield
        return
    indices = range(_core.cuda_device_count()) if devices is None else [_index(d) for d in devices]
    before = get_rng_state(), [(i, _cuda_generator(i).get_state()) for i in indices]
    try:
        yield
    finally:
        set_rng_state(before[0])
        for i, state in before[1]:
            _cuda_generator(i).set_state(state)
