"""``torch.cuda.random``: the generators of the GPUs."""

from __future__ import annotations

from shim_torch._missing import asked_of as _asked_of
from shim_torch.cuda import current_device, device_count, is_initialized, manual_seed, manual_seed_all
from shim_torch.random import cuda_get_rng_state as get_rng_state
from shim_torch.random import cuda_get_rng_state_all as get_rng_state_all
from shim_torch.random import cuda_initial_seed as initial_seed
from shim_torch.random import cuda_seed as seed
from shim_torch.random import cuda_seed_all as seed_all
from shim_torch.random import cuda_set_rng_state as set_rng_state
from shim_torch.random import cuda_set_rng_state_all as set_rng_state_all

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

__getattr__ = _asked_of(__name__)
