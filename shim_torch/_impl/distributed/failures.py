"""The exceptions of torch.distributed."""

from __future__ import annotations

from shim_torch._impl.native import _core


class DistError(RuntimeError):
    """What goes wrong between processes."""

    __module__ = "torch.distributed"


class DistBackendError(DistError):
    """A backend's failure."""

    __module__ = "torch.distributed"


class DistNetworkError(DistError):
    """A failure of the network."""

    __module__ = "torch.distributed"


class DistStoreError(DistError):
    """A key that did not come in time."""

    __module__ = "torch.distributed"


class QueueEmptyError(DistStoreError):
    """A queue of a store with nothing in it."""

    __module__ = "torch.distributed"


_core.distributed_errors(DistBackendError, DistNetworkError, DistStoreError, QueueEmptyError)
