"""The names of communication backends: "gloo" and "mpi" are the same MPI library; a group of one process needs none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from shim_torch._impl.distributed.library import mpi_library
from shim_torch._impl.distributed.nccl_backend import nccl_library
from shim_torch._impl.native import _core
from shim_torch._impl.surface import naming

__all__ = ["Backend"]


class Backend(str):
    """``Backend("NCCL")`` is the string "nccl". Errors: ValueError for what is no string."""

    __slots__ = ()

    UNDEFINED: ClassVar[str] = "undefined"
    GLOO: ClassVar[str] = "gloo"
    NCCL: ClassVar[str] = "nccl"
    UCC: ClassVar[str] = "ucc"
    MPI: ClassVar[str] = "mpi"
    XCCL: ClassVar[str] = "xccl"
    FAKE: ClassVar[str] = "fake"

    backend_list: ClassVar[list[str]] = ["undefined", "gloo", "nccl", "xccl", "ucc", "mpi", "fake"]
    default_device_backend_map: ClassVar[dict[str, str]] = {"cpu": "gloo", "cuda": "nccl", "xpu": "xccl", "mps": "gloo"}
    backend_capability: ClassVar[dict[str, list[str]]] = {
        "gloo": ["cpu", "cuda"],
        "nccl": ["cuda"],
        "xccl": ["xpu"],
        "ucc": ["cpu", "cuda"],
        "mpi": ["cpu", "cuda"],
        "fake": ["cpu", "cuda", "hpu", "xpu"],
    }

    def __new__(cls, name: str) -> str:  # type: ignore[misc]
        if not isinstance(name, str):
            raise ValueError("Backend constructor parameter must be string-ish")
        return getattr(cls, name.upper(), "") if name.lower() in cls.backend_list else name.lower()

    @classmethod
    def register_backend(
        cls,
        name: str,
        func: Callable[..., Any],
        extended_api: bool = False,
        devices: str | Sequence[str] | None = None,
    ) -> None:
        """Backends of others are not supported. Errors: NotImplementedError."""
        raise NotImplementedError(
            f"torch.distributed.Backend.register_backend({name!r}): shim-torch has no backends of others"
        )


def check_backend(name: str, size: int) -> None:
    """Whether a group of that size can have the backend.

    Errors: AssertionError for an unknown one, ValueError for NCCL without a GPU, NotImplementedError for what connects no
    processes here, RuntimeError where the MPI library is missing.
    """
    kinds = {part.partition(":")[2] or part for part in name.split(",")}
    for kind in kinds - set(Backend.backend_list):
        raise AssertionError(f"Unknown backend type {kind}")
    if kinds == {"nccl"}:
        from shim_torch import cuda

        if not cuda.is_available():
            raise ValueError("ProcessGroupNCCL is only supported with GPUs, no GPUs found!")
    if size == 1:
        return
    if not kinds & {"undefined", "gloo", "mpi", "nccl"}:
        raise NotImplementedError(
            f"torch.distributed: the backend {name} for a group of {size} processes: shim-torch connects processes by MPI, "
            'for CPU tensors, as "gloo" or "mpi", and by NCCL'
        )
    if "nccl" in kinds and not nccl_library():
        raise RuntimeError(
            f"torch.distributed: a group of {size} processes on GPUs needs NCCL: pip install shim-torch[nccl13] (or "
            f"[nccl12]), or set SHIM_NCCL_PATH ({_core.nccl_why_not()})"
        )
    if kinds == {"nccl"} or (kinds == {"undefined"} and nccl_library()):
        return
    if not mpi_library():
        raise RuntimeError(
            f"torch.distributed: a group of {size} processes needs an MPI library: pip install shim-torch[mpi] "
            f"({_core.mpi_why_not()})"
        )


naming.present(globals(), "torch.distributed.distributed_c10d")
