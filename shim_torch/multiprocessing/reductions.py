"""``torch.multiprocessing.reductions``: how tensors go to another process: their memory is shared, CUDA's excepted."""

from __future__ import annotations

import os
from multiprocessing.reduction import DupFd, ForkingPickler
from typing import Any

from shim_torch._impl.native import _core

__all__ = [
    "ForkingPickler",
    "StorageWeakRef",
    "init_reductions",
    "rebuild_cuda_tensor",
    "rebuild_storage_empty",
    "rebuild_storage_fd",
    "rebuild_storage_filename",
    "rebuild_tensor",
    "rebuild_typed_storage",
    "reduce_storage",
    "reduce_tensor",
    "reduce_typed_storage",
]

sharing_strategy = "file_descriptor"


class StorageWeakRef:
    """A weak reference to a storage. ``cdata``: a number that no other storage has while the reference is there."""

    __slots__ = ("_free_weak_ref", "cdata")

    def __init__(self, storage: Any) -> None:
        self.cdata = storage._weak_ref()
        self._free_weak_ref = _core.UntypedStorage._free_weak_ref

    @classmethod
    def from_weakref(cls, cdata: int) -> StorageWeakRef:
        """A reference that takes over what ``_weak_ref`` of a storage gave."""
        made = cls.__new__(cls)
        made.cdata, made._free_weak_ref = cdata, _core.UntypedStorage._free_weak_ref
        return made

    def expired(self) -> bool:
        """Whether the storage is gone."""
        return bool(_core.UntypedStorage._expired(self.cdata))

    def __del__(self) -> None:
        self._free_weak_ref(self.cdata)

    def __hash__(self) -> int:
        return int(self.cdata)

    def __eq__(self, other: object) -> bool:
        return self is other or self.cdata == getattr(other, "cdata", None)


def _sent(cls: Any) -> Any:
    """A class as it is sent: ours by name, since the other process may know no module called torch."""
    return cls.__name__ if cls in (_core.UntypedStorage, _core.Tensor, _parameter()) else cls


def rebuild_tensor(cls: Any, storage: Any, metadata: tuple[Any, ...]) -> Any:
    """A tensor over a storage; metadata is (offset, size, stride, requires_grad, dtype), cls a class or the name of ours."""
    offset, size, stride, requires_grad, dtype = metadata
    tensor = _core.empty_tensor((0,), dtype, storage.device).set_(storage, offset, size, stride)
    if cls == "Parameter" or not isinstance(cls, str) and issubclass(cls, _parameter()):
        return (_parameter() if cls == "Parameter" else cls)(tensor, requires_grad=requires_grad)
    tensor.requires_grad = requires_grad
    return tensor


def _parameter() -> Any:
    from shim_torch.nn.parameter import Parameter

    return Parameter


def reduce_tensor(tensor: Any) -> tuple[Any, tuple[Any, ...]]:
    """(function, arguments) that make a tensor over the same memory in another process.

    RuntimeError for a tensor with history; NotImplementedError for CUDA tensors.
    """
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError(
            "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does not support crossing process "
            "boundaries.  If you just want to transfer the data, call detach() on the tensor before serializing (e.g., putting it "
            "on the queue)."
        )
    if tensor.is_cuda:
        raise NotImplementedError(
            "torch.multiprocessing.reductions.reduce_tensor of CUDA tensors is not supported by shim-torch"
        )
    hooks = getattr(tensor, "_backward_hooks", None)
    if hooks:
        from shim_torch.utils.hooks import warn_if_has_hooks

        warn_if_has_hooks(tensor)
    if tensor.is_meta or tensor.layout != _core.strided or tensor.is_conj() or tensor.is_neg():
        return tuple(tensor.__reduce_ex__(2))  # type: ignore[return-value]
    metadata = (tensor.storage_offset(), tensor.size(), tensor.stride(), tensor.requires_grad, tensor.dtype)
    return rebuild_tensor, (_sent(type(tensor)), tensor.untyped_storage(), metadata)


def rebuild_cuda_tensor(*handle: Any) -> Any:
    """NotImplementedError: memory of a GPU isn't shared between processes (``reduce_tensor`` gives no handle of it)."""
    raise NotImplementedError("torch.multiprocessing.reductions.rebuild_cuda_tensor is not supported by shim-torch")


def rebuild_storage_empty(cls: Any) -> Any:
    """A storage of no bytes."""
    return _core.UntypedStorage(0)


def rebuild_storage_fd(cls: Any, df: Any, size: int) -> Any:
    """The storage over a file whose descriptor another process sent."""
    from shim_torch._impl.multiprocessing.shared_memory import attach

    return attach(df.detach(), size)


def rebuild_storage_filename(cls: Any, name: str, size: int) -> Any:
    """The storage over a file that another process named."""
    from shim_torch._impl.multiprocessing.shared_memory import attach

    return attach(os.open(name, os.O_RDWR), size, name)


def reduce_storage(storage: Any) -> tuple[Any, tuple[Any, ...]]:
    """(function, arguments) that map a CPU storage's memory in another process; it is moved to shared memory first."""
    if storage.device.type == "meta":
        raise RuntimeError("Cannot pickle meta storage; try pickling a meta tensor instead")
    if storage.device.type != "cpu":
        raise RuntimeError("Cannot pickle CUDA storage; try pickling a CUDA tensor instead")
    from shim_torch._impl.multiprocessing.shared_memory import share
    from shim_torch.multiprocessing import get_sharing_strategy

    named = get_sharing_strategy() == "file_system"
    block = share(storage, named)
    if block is None:
        return rebuild_storage_empty, (_sent(type(storage)),)
    if block.name is not None:
        return rebuild_storage_filename, (_sent(type(storage)), block.name, storage.nbytes())
    return rebuild_storage_fd, (_sent(type(storage)), DupFd(block.file), storage.nbytes())


def rebuild_typed_storage(storage: Any, dtype: Any) -> Any:
    """A TypedStorage over a storage."""
    from shim_torch._impl.tensor.typed_storage import TypedStorage

    return TypedStorage(wrap_storage=storage, dtype=dtype)


def reduce_typed_storage(storage: Any) -> tuple[Any, tuple[Any, ...]]:
    """(function, arguments) that make a TypedStorage over the same memory in another process."""
    return rebuild_typed_storage, (storage.untyped(), storage.dtype)


def init_reductions() -> None:
    """Tells Python's multiprocessing how tensors, parameters and storages are sent."""
    from shim_torch._impl.tensor.typed_storage import TypedStorage

    ForkingPickler.register(_core.UntypedStorage, reduce_storage)
    ForkingPickler.register(TypedStorage, reduce_typed_storage)
    ForkingPickler.register(_core.Tensor, reduce_tensor)
    ForkingPickler.register(_parameter(), reduce_tensor)
