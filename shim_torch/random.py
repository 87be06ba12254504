"""``torch.random``: seeds and states of the default generators."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from native import _core
from shim_torch._generator import Generator, cuda_generator, default_generator
from shim_torch._missing import asked_of as _asked_of

__all__ = ["default_generator", "fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state"]


def manual_seed(seed: int) -> Generator:
    """Seeds the default generators of all devices."""
    manual_seed_cuda(seed, all_devices=True)
    return default_generator.manual_seed(seed)


def manual_seed_cuda(seed: int, all_devices: bool) -> None:
    """Seeds the CUDA devices' default generators; without a device there is nothing to seed."""
    count = _core.cuda_device_count()
    for index in range(count) if all_devices else [_core.cuda_current_device()] if count else []:
        cuda_generator(index).manual_seed(seed)


def seed() -> int:
    """Seeds the default generators from the system; returns the seed."""
    value = default_generator.seed()
    manual_seed_cuda(value, all_devices=True)
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
    from shim_torch.cuda._streams import index_of

    return index_of(device)


def cuda_get_rng_state(device: Any = "cuda") -> Any:
    return cuda_generator(_index(device)).get_state()


def cuda_set_rng_state(new_state: Any, device: Any = "cuda") -> None:
    cuda_generator(_index(device)).set_state(new_state)


def cuda_get_rng_state_all() -> list[Any]:
    return [cuda_generator(i).get_state() for i in range(_core.cuda_device_count())]


def cuda_set_rng_state_all(new_states: Any) -> None:
    for i, state in enumerate(new_states):
        cuda_generator(i).set_state(state)


def cuda_seed() -> None:
    cuda_generator(_core.cuda_current_device()).seed()


def cuda_seed_all() -> None:
    manual_seed_cuda(Generator().seed(), all_devices=True)


def cuda_initial_seed() -> int:
    return cuda_generator(_core.cuda_current_device()).initial_seed()


def cuda_default_generators() -> tuple[Generator, ...]:
    return tuple(cuda_generator(i) for i in range(_core.cuda_device_count()))


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
    before = get_rng_state(), [(i, cuda_generator(i).get_state()) for i in indices]
    try:
        yield
    finally:
        set_rng_state(before[0])
        for i, state in before[1]:
            cuda_generator(i).set_state(state)

__getattr__ = _asked_of(__name__)
