"""The names of communication backends. Only groups of one process exist here, for which the name is all there is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

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
        """Backends of others would connect processes, of which there is one here. Errors: NotImplementedError."""
        raise NotImplementedError(
            f"torch.distributed.Backend.register_backend({name!r}): shim-torch has groups of one process only"
        )


naming.present(globals(), "torch.distributed.distributed_c10d")
