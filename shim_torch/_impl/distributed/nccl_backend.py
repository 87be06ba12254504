"""The names that programs ask of NCCL's backend itself: its options, its communicator, how it ends."""

from __future__ import annotations

import functools
import os
from datetime import timedelta
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.surface import naming


@functools.cache
def nccl_library() -> bool:
    """Whether there is a GPU and NCCL, of SHIM_NCCL_PATH, the process, the wheels or the system."""
    if _core.cuda_device_count() == 0 or _core.nccl_why_not() is not None:
        return False
    _core.nccl_failure_handling(int(os.environ.get("TORCH_NCCL_ASYNC_ERROR_HANDLING", "3")))
    return True


class Options:
    """``ProcessGroupNCCL.Options``: whether asynchronous collectives get a stream of high priority."""

    def __init__(self, is_high_priority_stream: bool = False) -> None:
        self.is_high_priority_stream = is_high_priority_stream
        self._timeout: timedelta | None = None
        self.global_ranks_in_group: list[int] = []
        self.group_name = ""


class ProcessGroupNCCL:
    """What serves a group's CUDA tensors; ``group._get_backend(device)`` gives it."""

    Options = Options
    supports_splitting = True

    def __init__(self, *_: Any, **__: Any) -> None:
        raise NotImplementedError(
            "torch.distributed.ProcessGroupNCCL(store, rank, size) is not supported by shim-torch: use init_process_group and "
            "new_group"
        )

    @classmethod
    def _of(cls, group: Any) -> ProcessGroupNCCL:
        made = object.__new__(cls)
        made._group = group  # type: ignore[attr-defined]
        return made

    def rank(self) -> int:
        """This process's number in the group."""
        return int(self._group.rank())  # type: ignore[attr-defined]

    def size(self) -> int:
        """The number of processes."""
        return int(self._group.size())  # type: ignore[attr-defined]

    def name(self) -> str:
        """ "nccl"."""
        return "nccl"

    def _comm_ptr(self) -> int:
        """The ``ncclComm_t`` of the current device."""
        device = _core.cuda_current_device()
        return int(self._group._device_engine.communicator(device)[0])  # type: ignore[attr-defined]

    def eager_connect_single_device(self, device: Any = None) -> None:
        """Makes the communicator now."""
        self._group._device_engine.communicator(device.index)  # type: ignore[attr-defined]

    def abort(self) -> None:
        """Ends what runs on the device; everything that is asked of the group from now on raises DistBackendError."""
        self._group.abort()  # type: ignore[attr-defined]

    def shutdown(self) -> None:
        """Waits for what runs, and ends the communicators."""
        self._group.shutdown()  # type: ignore[attr-defined]


def make_engine(session: Any, members: Any, key: str, name: str, limit: int, options: Any) -> Any:
    """A group over NCCL. Errors: TypeError for other options than ``ProcessGroupNCCL.Options``."""
    if options is not None and not isinstance(options, Options):
        raise TypeError(f"torch.distributed: pg_options of NCCL are ProcessGroupNCCL.Options, got {type(options)}")
    return session.nccl_group(
        list(members), key, name, limit, options.is_high_priority_stream if options is not None else False
    )


def serves(backend: str, device: str) -> str:
    """The backend's name for a kind of device, "" for none: of "nccl", "gloo", "cpu:gloo,cuda:nccl", "undefined"."""
    if backend == "undefined":
        backend = "cpu:gloo,cuda:nccl"
    if ":" not in backend:
        return backend if backend != "nccl" or device == "cuda" else ""
    return dict(part.split(":", 1) for part in backend.split(",")).get(device, "")


naming.present(globals(), "torch.distributed.distributed_c10d")
