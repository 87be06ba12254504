"""The format before PyTorch 1.6: five pickles in a row, then the storages' bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from native import _core
from shim_torch._serialization.archive import read_into
from shim_torch._untyped_storage import untyped_tensor
from shim_torch.storage import TypedStorage

MAGIC_NUMBER = 0x1950A86A20F9469CFC6C
PROTOCOL_VERSION = 1001


def _no_storage(pid: Any) -> Any:
    raise RuntimeError(f"torch.load: unexpected persistent id {pid!r}")


def save_legacy(file: Any, data: bytes, storages: Any, dump: Callable[[Any], bytes]) -> None:
    """Writes the pickled object ``data`` and the storages it names.

    Raises:
        RuntimeError: a storage on the meta device.
    """
    import sys

    sizes = {"short": 2, "int": 4, "long": 4}
    info = {"protocol_version": PROTOCOL_VERSION, "little_endian": sys.byteorder == "little", "type_sizes": sizes}
    for value in (MAGIC_NUMBER, PROTOCOL_VERSION, info):
        file.write(dump(value))
    file.write(data)
    keys = sorted(storages.by_key)
    file.write(dump(keys))
    file.flush()
    for key in keys:
        storage = storages.by_key[key]
        if storage.device.type == "meta":
            raise RuntimeError("torch.save: a storage on the meta device has no data to write")
        file.write((storage.nbytes() // storages.itemsize[key]).to_bytes(8, "little"))
        if storage.nbytes():
            file.write(memoryview(_core.to_numpy(untyped_tensor(storage).cpu())).cast("B"))
    file.flush()


def load_legacy(file: Any, restore: Any, unpickler: Callable[[Any], Callable[[Any], Any]]) -> Any:
    """The object in an old file. RuntimeError for a file that is none."""

    def read(persistent_load: Any = _no_storage) -> Any:
        return unpickler(file)(persistent_load)

    if read() != MAGIC_NUMBER:
        raise RuntimeError("Invalid magic number; corrupt file?")
    version = read()
    if version != PROTOCOL_VERSION:
        raise RuntimeError(f"Invalid protocol version: {version}")
    if not read().get("little_endian", True):
        raise NotImplementedError(
            "torch.load: files of a machine with the other byte order are not supported by shim-torch"
        )
    pending: dict[str, tuple[TypedStorage, Any, int]] = {}  # key -> (its storage, its bytes on the CPU, count)
    views: dict[str, TypedStorage] = {}  # of files of PyTorch 0.x, whose storages may be parts of others

    def persistent_load(pid: Any) -> Any:
        kind = pid[0].decode() if isinstance(pid[0], bytes) else pid[0]
        if kind == "module":
            return pid[1]
        _, storage_type, key, location, count, view = pid
        untyped = storage_type is _core.UntypedStorage
        dtype = _core.uint8 if untyped else storage_type.dtype
        if key not in pending:
            cpu = _core.UntypedStorage(count * dtype.itemsize)
            placed = restore(cpu, location.decode() if isinstance(location, bytes) else location)
            pending[key] = (TypedStorage(wrap_storage=placed, dtype=dtype), cpu, count)
        whole = pending[key][0]
        if view is None and untyped:
            return whole.untyped()
        if view is None:
            return whole if whole.dtype == dtype else TypedStorage(wrap_storage=whole.untyped(), dtype=dtype)
        view_key, offset, size = view
        if view_key not in views:
            part = whole.untyped()[offset * dtype.itemsize : (offset + size) * dtype.itemsize]
            views[view_key] = TypedStorage(wrap_storage=part, dtype=dtype)
        return views[view_key]

    result = read(persistent_load)
    for key in read():
        storage, cpu, count = pending[key]
        if int.from_bytes(file.read(8), "little") != count:
            raise RuntimeError("storage has wrong byte size")
        if cpu.nbytes():
            read_into(file, memoryview(_core.to_numpy(untyped_tensor(cpu))), f"storage {key}")
        if storage.untyped() is not cpu and storage.device.type != "meta" and storage._cdata != cpu._cdata:
            untyped_tensor(storage.untyped()).copy_(untyped_tensor(cpu))
    return result
