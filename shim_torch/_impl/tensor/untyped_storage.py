"""The Python part of ``UntypedStorage``: indexing, files, copies, and storages on ``meta``, which have no memory."""

from __future__ import annotations

import sys
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.tensor.storage_arguments import place_of

UntypedStorage = _core.UntypedStorage


def untyped_tensor(storage: Any) -> Any:
    """A uint8 tensor over all bytes of a storage."""
    return over(storage, _core.uint8)


def over(storage: Any, dtype: Any) -> Any:
    """A one-dimensional tensor of ``dtype`` over a whole storage."""
    count = storage.nbytes() // dtype.itemsize
    return _core.empty_tensor((0,), dtype, storage.device).set_(storage, 0, (count,), (1,))


def over_either(storage: Any, dtype: Any) -> Any:
    """The same over either kind of storage; RuntimeError for a TypedStorage of another dtype."""
    from shim_torch._impl.table.rules import type_name

    if isinstance(storage, _core.UntypedStorage):
        return over(storage, dtype)
    if storage.dtype != dtype:
        raise RuntimeError(
            f"Expected a Storage of type {type_name(dtype)} or an UntypedStorage, but got {type_name(storage.dtype)}"
        )
    return over(storage.untyped(), dtype)


def check_real(storage: Any) -> None:
    """NotImplementedError for a storage that has no bytes."""
    if storage.device.type == "meta":
        raise NotImplementedError("Not available for 'meta' device type")


def _item(self: Any, index: Any) -> Any:
    """A byte, or the storage of a range of bytes, which it shares."""
    check_real(self)
    array = _core.to_numpy(untyped_tensor(self.cpu()))
    if not isinstance(index, slice):
        return int(array[place_of(index, len(array), "torch.UntypedStorage", type(index).__name__)])
    if index.indices(len(array))[2] != 1:  # ValueError for a step of 0
        raise RuntimeError(f"Trying to slice with a step of {index.step}, but only a step of 1 is supported")
    return _core.from_numpy(array[index]).untyped_storage()


_mapped: dict[int, str] = {}  # the files whose bytes storages share, by the address of their first byte


def map_file(filename: str, shared: bool, nbytes: int) -> Any:
    """A NumPy array of bytes over a file. Shared: writes reach the file, which is made or grows where it is too short.

    Otherwise writes go to private copies of its pages; RuntimeError where the file is too short.
    """
    import os
    import weakref

    import numpy as np

    have = os.path.getsize(filename) if shared and os.path.exists(filename) else None
    if shared and (have is None or have < nbytes):
        with open(filename, "ab") as file:
            file.truncate(nbytes)
    elif not shared:
        have = os.stat(filename).st_size
        if have < nbytes:
            raise RuntimeError(f"file <{filename}> size <{have}> is smaller than the required mapping size <{nbytes}>")
    array = np.memmap(filename, np.uint8, "r+" if shared else "c", 0, (nbytes,))
    if shared:
        address = array.ctypes.data
        _mapped[address] = filename
        weakref.finalize(array, _mapped.pop, address, None).atexit = False
    return array


def _filename(self: Any) -> str | None:
    """The path of the shared file behind the storage; None for other memory."""
    return _mapped.get(self.data_ptr()) if _mapped and self.device.type == "cpu" and not _of_wrapper(self) else None


def _from_buffer(buffer: Any, byte_order: str | None = None, count: int = -1, offset: int = 0, dtype: Any = ...) -> Any:
    """A storage with a copy of ``count`` elements (-1: all) of an object with the buffer protocol, from ``offset`` bytes on.

    ``byte_order`` ("native", "little" or "big") is that of the buffer's elements; bytes need none.
    Errors: RuntimeError without a dtype, or without a byte order that it needs; ValueError for sizes that do not fit.
    """
    from shim_torch._impl.tensor.legacy_storages import elements_of

    if dtype is ...:
        raise RuntimeError("argument 'dtype' cannot be None")
    if not isinstance(dtype, _core.dtype):
        raise RuntimeError("argument 'dtype' must be of type torch.dtype")
    if byte_order is None and dtype not in (_core.uint8, _core.int8):
        raise RuntimeError("function missing required argument 'byte_order' (pos 2)")
    return elements_of(buffer, dtype, byte_order or "native", count, offset).untyped_storage()


def _from_file(filename: Any, shared: bool = False, nbytes: int = 0) -> Any:
    """A storage over a file's bytes; writes go to the file when ``shared``, otherwise to private copies of its pages."""
    import os

    if not nbytes:
        nbytes = os.path.getsize(filename) if os.path.exists(filename) else 0
    if not nbytes:
        return UntypedStorage(0)
    return _core.from_numpy(map_file(filename, shared, nbytes)).untyped_storage()


def _is_shared(self: Any) -> bool:
    """Whether other processes may map the bytes; always True for CUDA memory."""
    if self.device.type == "cuda":
        return True
    shared = sys.modules.get("shim_torch._impl.multiprocessing.shared_memory")  # not loaded: nothing is shared
    return shared is not None and shared.block_of(self) is not None


def _share_memory(self: Any) -> Any:
    """Moves the bytes to memory that other processes can map; CUDA memory stays where it is."""
    if self.device.type == "cpu":
        from shim_torch._impl.multiprocessing.shared_memory import share
        from shim_torch.multiprocessing import get_sharing_strategy  # which also tells pickles how storages are sent

        share(self, get_sharing_strategy() == "file_system")
    elif self.device.type != "cuda":
        raise RuntimeError("_share_fd_: only available on CPU")
    return self


def _share_fd(self: Any) -> tuple[int, int]:
    """(descriptor of the shared file, bytes)."""
    if self.device.type != "cpu":
        raise RuntimeError("_share_fd_: only available on CPU")
    from shim_torch._impl.multiprocessing.shared_memory import share

    block = share(self)
    return (block.file if block else -1), self.nbytes()


def _share_filename(self: Any) -> tuple[bytes, bytes, int]:
    """(nothing, path of the shared file, bytes)."""
    if self.device.type != "cpu":
        raise RuntimeError("_share_filename_: only available on CPU")
    from shim_torch._impl.multiprocessing.shared_memory import share

    block = share(self, named=True)
    return b"", (block.name or "").encode() if block else b"", self.nbytes()


def _new_shared(cls: Any, size: int, *, device: Any = "cpu") -> Any:
    """A storage of ``size`` bytes in memory that other processes can map."""
    return UntypedStorage(size, device=device).share_memory_()


def _write_file(self: Any, *args: Any) -> None:
    """(file, is_real_file, save_size, element_size): the count of elements (if ``save_size``) and the bytes, where the file stands."""
    if self.device.type == "meta":
        raise NotImplementedError("Cannot copy out of meta tensor; no data!")
    _need_memory(self, "_write_file")
    if len(args) != 4:
        raise TypeError("_write_file takes exactly 4 arguments")
    file, _, save_size, element_size = args
    if save_size:
        file.write((self.nbytes() // element_size).to_bytes(8, "little"))
    file.write(memoryview(_core.to_numpy(untyped_tensor(self.cpu()))))
    file.flush()


# Methods that give the bytes' values in another dtype.
_CONVERSIONS = {
    "double": "float64", "float": "float32", "half": "float16", "bfloat16": "bfloat16", "long": "int64", "int": "int32",
    "short": "int16", "char": "int8", "byte": "uint8", "bool": "bool", "complex_double": "complex128",
    "complex_float": "complex64", **{name: name for name in ("float8_e5m2", "float8_e4m3fn", "float8_e5m2fnuz", "float8_e4m3fnuz")},
}  # fmt: skip


def _conversion(name: str, dtype: Any) -> Any:
    def method(self: Any) -> Any:
        check_real(self)
        return untyped_tensor(self).to(dtype, copy=True)._typed_storage()

    method.__name__ = name
    method.__doc__ = f"A TypedStorage of {dtype} with a copy of each byte's value."
    return method


def _to(self: Any, *, device: Any, non_blocking: bool = False) -> Any:
    """A storage on a device: this one where it is there."""
    device = _core.device(device)
    if device == self.device or (device.type == self.device.type and device.index is None):
        return self
    return untyped_tensor(self).to(device, non_blocking=non_blocking).untyped_storage()


def _type(self: Any, dtype: Any = None, non_blocking: bool = False) -> Any:
    """The type's name; with a storage class or its name, the bytes' values as that class holds them."""
    if dtype is None:
        return "torch.storage.UntypedStorage"
    if dtype is UntypedStorage:
        return self
    from shim_torch._impl.tensor.legacy_storages import DTYPES

    name = dtype if isinstance(dtype, str) else f"{dtype.__module__}.{dtype.__name__}"
    *parts, last = name.split(".")
    if last not in DTYPES:
        raise RuntimeError(f"invalid type: '{name}'")
    moved = self.cuda() if "cuda" in parts else self
    return untyped_tensor(moved).to(DTYPES[last], copy=True)._typed_storage()


def _deepcopy(self: Any, memo: dict[Any, Any]) -> Any:
    """A deep copy, one for all objects of the same copy that share this storage."""
    key = ("storage", self._cdata)
    if key not in memo:
        memo[key] = self.clone()
    return memo[key]


def _without_memory(name: str, on_meta: Any) -> Any:
    """A method with a different implementation for storages on ``meta``."""
    plain = getattr(UntypedStorage, name)

    def method(self: Any, *args: Any) -> Any:
        return on_meta(self, *args) if self.device.type == "meta" else plain(self, *args)

    method.__name__ = name
    return method


def _resize_meta(self: Any, size: int) -> Any:
    _core.empty_tensor((0,), _core.uint8, self.device).set_(self, 0, (size,), (1,))
    return self


def _of_wrapper(self: Any) -> bool:
    """Whether the storage is that of a wrapper subclass, which has a size and no memory."""
    return bool(self.nbytes() and self.device.type != "meta" and untyped_tensor(self).data_ptr() == 0)


def _need_memory(self: Any, name: str) -> None:
    if _of_wrapper(self):
        raise RuntimeError(f"Attempted to call {name}() on an invalid python storage.")


def _fill(self: Any, value: int) -> Any:
    _need_memory(self, "fill_")
    untyped_tensor(self).fill_(value)
    return self


def _pin_memory(self: Any, device: Any = None) -> Any:
    if self.device.type != "cpu":
        raise TypeError("cannot pin 'torch.storage.UntypedStorage' only CPU memory can be pinned")
    return untyped_tensor(self).pin_memory().untyped_storage()


def _byteswap(self: Any, dtype: Any) -> None:
    """Reverses the bytes of each element of ``dtype``; for complex numbers of each part."""
    size = dtype.itemsize // 2 if dtype.is_complex else dtype.itemsize
    if size > 1:
        bytes_ = _core.to_numpy(untyped_tensor(self)).reshape(-1, size)
        bytes_[:] = bytes_[:, ::-1].copy()


def install() -> None:
    """Gives UntypedStorage what needs NumPy, and what needs no memory."""
    UntypedStorage._fix_weakref = lambda self: None  # storages from weak references stay valid
    UntypedStorage.clone = _without_memory("clone", lambda self: UntypedStorage(self.nbytes(), device="meta"))
    UntypedStorage.resize_ = _without_memory("resize_", _resize_meta)
    UntypedStorage.tolist = _without_memory("tolist", check_real)
    UntypedStorage.__repr__ = _without_memory(
        "__repr__", lambda self: f"...\n[torch.storage.UntypedStorage(device=meta) of size {self.nbytes()}]"
    )
    UntypedStorage.fill_, UntypedStorage.pin_memory = _fill, _pin_memory
    UntypedStorage.__getitem__ = _item
    UntypedStorage.from_file = staticmethod(_from_file)
    UntypedStorage.from_buffer = staticmethod(_from_buffer)
    UntypedStorage.untyped = UntypedStorage._untyped = lambda self: self
    UntypedStorage._share_fd_cpu_, UntypedStorage._share_filename_cpu_ = _share_fd, _share_filename
    UntypedStorage.share_memory_, UntypedStorage.is_shared = _share_memory, _is_shared
    UntypedStorage._new_shared = classmethod(_new_shared)
    UntypedStorage._write_file = _write_file
    UntypedStorage.__deepcopy__ = _deepcopy
    UntypedStorage.__copy__ = lambda self: self.clone()
    UntypedStorage.__sizeof__ = lambda self: object.__sizeof__(self) + self.nbytes()
    UntypedStorage.byteswap = _byteswap
    UntypedStorage.is_sparse = False
    UntypedStorage.is_sparse_csr = UntypedStorage.is_hpu = False
    UntypedStorage.filename = property(_filename)
    UntypedStorage.to, UntypedStorage.type = _to, _type
    UntypedStorage.new = lambda self: UntypedStorage(0, device=self.device)
    for name, dtype in _CONVERSIONS.items():
        setattr(UntypedStorage, name, _conversion(name, getattr(_core, dtype)))
