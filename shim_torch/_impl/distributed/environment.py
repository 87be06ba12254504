"""What the build, the environment and torchrun say of torch.distributed."""

from __future__ import annotations

import enum
import os

from shim_torch._impl.distributed.collectives import _all_gather_base as _all_gather_base
from shim_torch._impl.distributed.collectives import _reduce_scatter_base as _reduce_scatter_base
from shim_torch._impl.distributed.library import mpi_library
from shim_torch._impl.distributed.nccl_backend import nccl_library
from shim_torch._impl.distributed.point_to_point import _coalescing_manager as _coalescing_manager
from shim_torch._impl.distributed.point_to_point import _CoalescingManager as _CoalescingManager
from shim_torch._impl.surface import naming


class DebugLevel(enum.IntEnum):
    """How much is logged and checked: the words of TORCH_DISTRIBUTED_DEBUG."""

    OFF, INFO, DETAIL = range(3)


_debug_level = DebugLevel.OFF


def get_debug_level() -> DebugLevel:
    """The level of TORCH_DISTRIBUTED_DEBUG, which changes nothing here."""
    return _debug_level


def set_debug_level(level: DebugLevel) -> None:
    """What ``get_debug_level`` answers."""
    global _debug_level
    _debug_level = level


def set_debug_level_from_env() -> None:
    """Takes the level from TORCH_DISTRIBUTED_DEBUG. Errors: RuntimeError for another word than OFF, INFO, DETAIL."""
    word = os.environ.get("TORCH_DISTRIBUTED_DEBUG", "OFF").upper()
    if word not in DebugLevel.__members__:
        raise RuntimeError("The value of TORCH_DISTRIBUTED_DEBUG must be OFF, INFO, or DETAIL.")
    set_debug_level(DebugLevel[word])


def is_nccl_available() -> bool:
    """Whether there is a GPU, and NCCL."""
    return nccl_library()


def is_gloo_available() -> bool:
    """Its name stands for MPI (``is_mpi_available``), or for a group of one process, which needs no transport."""
    return True


def is_mpi_available() -> bool:
    """Whether the MPI library that groups of several processes need is there."""
    return mpi_library()


def is_ucc_available() -> bool:
    """False: there is no UCC backend."""
    return False


def is_xccl_available() -> bool:
    """False: there is no XCCL backend."""
    return False


def is_backend_available(backend: str) -> bool:
    """Whether a backend is there by its name."""
    asked = backend.lower()
    return asked == "gloo" or (asked == "mpi" and is_mpi_available()) or (asked == "nccl" and is_nccl_available())


def is_torchelastic_launched() -> bool:
    """Whether torchrun started this process."""
    return os.environ.get("TORCHELASTIC_RUN_ID") is not None


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """LOCAL_RANK of the environment. Errors: RuntimeError where there is none, and no fallback."""
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is not None:
        return int(fallback_rank)
    raise RuntimeError(
        "LOCAL_RANK is not in the environment. Consider passing fallback_rank to allow `get_node_local_rank` to work, "
        "assuming you are not running in a multi-device context and want the code to run locally instead."
    )


naming.present(globals(), "torch.distributed.distributed_c10d")
