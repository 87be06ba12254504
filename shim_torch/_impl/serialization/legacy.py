"""The format before PyTorch 1.6: five pickles in a row, then the storages' bytes."""

from __future__ import annotations

import reprlib
from collections.abc import Callable
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.serialization.archive import bytes_left, read_into
from shim_torch._impl.serialization.checked import storage_id
from shim_torch._impl.tensor.typed_storage import TypedStorage
from shim_torch._impl.tensor.untyped_storage import untyped_tensor

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


_TAR_MAGIC_AT, _TAR_MAGIC = 257, b"ustar"


def refuse_tar(file: Any, weights_only: bool, advice: str) -> None:
    """Raises for an archive of PyTorch 0.1.10 or older, a tar file."""
    start = file.tell()
    head = file.read(_TAR_MAGIC_AT + len(_TAR_MAGIC))
    file.seek(start)
    if head[_TAR_MAGIC_AT:] != _TAR_MAGIC:
        return
    if weights_only:
        raise RuntimeError(f"Cannot use ``weights_only=True`` with files saved in the legacy .tar format. {advice}")
    raise NotImplementedError("torch.load: files in the legacy .tar format are not supported by shim-torch")


class _Storages:
    """The storages of a file being read: made when named, filled at the end; together no larger than the file."""

    def __init__(self, file: Any, restore: Any) -> None:
        self._file, self._restore, self._left = file, restore, bytes_left(file)
        self._whole: dict[str, tuple[TypedStorage, Any, int]] = {}  # key -> (its storage, its bytes on the CPU, count)
        self._views: dict[
            str | bytes, TypedStorage
        ] = {}  # of files of PyTorch 0.x, whose storages may be parts of others

    def persistent_load(self, pid: Any) -> Any:
        kind = pid[0] if type(pid) is tuple and pid else None
        if kind in ("module", b"module"):  # only trusted files get here
            return pid[1]
        found, key, location, count, (view,) = storage_id(pid, 6)
        dtype = found or _core.uint8
        if key not in self._whole:
            self._whole[key] = self._made(dtype, location, count)
        whole = self._whole[key][0]
        if view is not None:
            return self._view(whole, dtype, view)
        if found is None:
            return whole.untyped()
        return whole if whole.dtype == dtype else TypedStorage(wrap_storage=whole.untyped(), dtype=dtype)

    def _made(self, dtype: Any, location: str, count: int) -> tuple[TypedStorage, Any, int]:
        self._left -= count * dtype.itemsize
        if self._left < 0:
            raise RuntimeError("torch.load: the file ends before its storages")
        cpu = _core.UntypedStorage(count * dtype.itemsize)
        _core.lend_memory(untyped_tensor(cpu))  # not resizable: tensors over it hold only the file's bytes
        return TypedStorage(wrap_storage=self._restore(cpu, location), dtype=dtype), cpu, count

    def _view(self, whole: TypedStorage, dtype: Any, view: Any) -> TypedStorage:
        if type(view) is not tuple or len(view) != 3:
            raise RuntimeError(
                f"torch.load: a part of a storage is described by three values, not {type(view).__name__}"
            )
        key, offset, size = view
        if not isinstance(key, (str, bytes)) or type(offset) is not int or type(size) is not int:
            raise RuntimeError("torch.load: a part of a storage is described by a key and two integers")
        if not 0 <= offset <= offset + size <= whole.nbytes() // dtype.itemsize:
            raise RuntimeError(f"torch.load: elements {offset} to {offset + size} lie outside of their storage")
        if key not in self._views:
            part = whole.untyped()[offset * dtype.itemsize : (offset + size) * dtype.itemsize]
            self._views[key] = TypedStorage(wrap_storage=part, dtype=dtype)
        return self._views[key]

    def read(self, keys: Any) -> None:
        """Fills the storages, which the file has in the order of ``keys``: all of them, each once."""
        if not isinstance(keys, list) or any(type(k) is not str for k in keys) or sorted(keys) != sorted(self._whole):
            raise RuntimeError("torch.load: the file's storages are not those that it names")
        for key in keys:
            storage, cpu, count = self._whole[key]
            if int.from_bytes(self._file.read(8), "little") != count:
                raise RuntimeError("storage has wrong byte size")
            if cpu.nbytes():
                read_into(self._file, memoryview(_core.to_numpy(untyped_tensor(cpu))), f"storage {key}")
            if storage.untyped() is not cpu and storage.device.type != "meta" and storage._cdata != cpu._cdata:
                untyped_tensor(storage.untyped()).copy_(untyped_tensor(cpu))


def load_legacy(file: Any, restore: Any, unpickler: Callable[[Any], Callable[[Any], Any]]) -> Any:
    """The object in an old file. RuntimeError for a file that is none."""

    def read(persistent_load: Any = _no_storage) -> Any:
        return unpickler(file)(persistent_load)

    if read() != MAGIC_NUMBER:
        raise RuntimeError("Invalid magic number; corrupt file?")
    version = read()
    if version != PROTOCOL_VERSION:
        raise RuntimeError(f"Invalid protocol version: {reprlib.repr(version)}")
    info = read()
    if not isinstance(info, dict) or not info.get("little_endian", True):
        raise NotImplementedError(
            "torch.load: files of a machine with the other byte order are not supported by shim-torch"
        )
    storages = _Storages(file, restore)
    result = read(storages.persistent_load)
    storages.read(read())
    return result
