"""``torch.serialization``: ``torch.save`` and ``torch.load``, in the zip format of PyTorch 1.6 and later."""

from __future__ import annotations

import contextlib
import io
import mmap
import os
import pickle
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from shim_torch import _weights_only_unpickler as _weights_only
from shim_torch._impl.native import _core
from shim_torch._impl.serialization import archive
from shim_torch._impl.serialization import pickler as _pickler
from shim_torch._impl.serialization.allowed import layouts, table
from shim_torch._impl.serialization.checked import storage_id
from shim_torch._impl.serialization.locations import default_restore_location, location_tag, register_package
from shim_torch._impl.serialization.locations import restorer as _restorer
from shim_torch._impl.serialization.pickler import Storages
from shim_torch._impl.serialization.refusals import REFUSED
from shim_torch._impl.serialization.settings import (
    LoadEndianness,
    check_module_version_greater_or_equal,
    get_crc32_options,
    get_default_load_endianness,
    get_default_mmap_options,
    set_crc32_options,
    set_default_load_endianness,
    set_default_mmap_options,
    skip_data,
)
from shim_torch._impl.serialization.settings import byte_order as _byte_order
from shim_torch._impl.serialization.settings import config as _config
from shim_torch._impl.serialization.settings import skipping as _skipping
from shim_torch._impl.serialization.unpickler import unpickle
from shim_torch._impl.surface.missing import module_getattr as _module_getattr
from shim_torch.storage import TypedStorage

__all__ = [
    "LoadEndianness", "SourceChangeWarning", "add_safe_globals", "check_module_version_greater_or_equal",
    "clear_safe_globals", "default_restore_location", "get_crc32_options", "get_default_load_endianness",
    "get_default_mmap_options", "get_safe_globals", "get_unsafe_globals_in_checkpoint", "load", "location_tag",
    "register_package", "safe_globals", "save", "set_crc32_options", "set_default_load_endianness",
    "set_default_mmap_options", "skip_data",
]  # fmt: skip

DEFAULT_PROTOCOL = 2
MAGIC_NUMBER = 0x1950A86A20F9469CFC6C
PROTOCOL_VERSION = 1001
STORAGE_KEY_SEPARATOR = ","
STORAGE: TypeAlias = TypedStorage | _core.UntypedStorage
MAP_LOCATION: TypeAlias = Callable[[Any, str], Any] | _core.device | str | dict[str, str] | None
_SEEKABLE = (
    "You can only torch.load from a file that is seekable. Please pre-load the data into a buffer like io.BytesIO and try to load "
    "from it instead."
)


class SourceChangeWarning(Warning):
    """A class's source differs from the one in the file."""


def _get_layout(name: str) -> Any:
    """The layout that a file calls ``name`` ("torch.strided"); KeyError for any other name."""
    return layouts()[name]


def save(
    obj: Any,
    f: Any,
    pickle_module: Any = pickle,
    pickle_protocol: int = DEFAULT_PROTOCOL,
    _use_new_zipfile_serialization: bool = True,
    _disable_byteorder_record: bool = False,
) -> None:
    """Writes an object to a file or path, in a form PyTorch reads too.

    Tensors that share a storage share it in the file; CUDA tensors are copied to the CPU for writing.
    """
    if _skipping.on and not _use_new_zipfile_serialization:
        raise RuntimeError("Cannot use skip_data=True with _use_new_zipfile_serialization=False")
    is_path = isinstance(f, (str, os.PathLike))
    if not is_path and not hasattr(f, "write"):
        raise AttributeError("expected 'f' to be string, path, or a file-like object with a 'write' attribute")
    storages, data = Storages(() if _use_new_zipfile_serialization else (None,)), io.BytesIO()
    _pickler.of(pickle_module)(data, pickle_protocol, storages.persistent_id).dump(obj)
    if not _use_new_zipfile_serialization:
        from shim_torch._impl.serialization.legacy import save_legacy

        with open(f, "wb") if is_path else contextlib.nullcontext(f) as file:
            save_legacy(file, data.getvalue(), storages, lambda value: pickle_module.dumps(value, pickle_protocol))
        return
    if is_path:
        path = os.fspath(f)
        if os.path.dirname(path) and not os.path.isdir(os.path.dirname(path)):
            raise RuntimeError(f"Parent directory {os.path.dirname(path)} does not exist.")
        name = os.path.splitext(os.path.basename(path))[0] or "archive"
        with open(path, "wb") as file:
            _write(file, name, data.getbuffer(), storages, not _disable_byteorder_record)
        return
    target = archive.buffer_of(f)
    _write(target, "archive", data.getbuffer(), storages, not _disable_byteorder_record)
    if target is not f:
        f.write(target.getvalue())


def _write(file: Any, name: str, data: Any, storages: Storages, order: bool) -> None:
    from shim_torch._impl.tensor.untyped_storage import untyped_tensor

    alignment = _config().save.storage_alignment
    with archive.Writer(file, name, alignment) as out:
        out.write("data.pkl", data)
        out.write(".format_version", b"1")
        out.write(".storage_alignment", str(alignment).encode())
        if order:
            out.write("byteorder", sys.byteorder.encode())
        for key, storage in storages.by_key.items():
            if storage.device.type == "meta":
                raise RuntimeError("torch.save: a storage on the meta device has no data to write")
            if _skipping.on:
                out.write(f"data/{key}", bytes(storage.nbytes()))
                continue
            out.write(f"data/{key}", memoryview(_core.to_numpy(untyped_tensor(storage).cpu())))


def load(
    f: Any,
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """Reads what ``torch.save`` wrote, ours or PyTorch's.

    weights_only (the default): tensors, plain containers and what ``add_safe_globals`` allows; False runs any code the file
    asks for. map_location: a device, a dict of locations, or a function (storage, location) -> storage.
    mmap: storages stay in the file until they are touched; needs a path.
    """
    weights_only = _weights_only_wanted(weights_only, pickle_module)
    if weights_only and pickle_load_args:
        warnings.warn("pickle_load_args only works if `weights_only=False`.", stacklevel=2)
    if mmap is None:
        mmap = _config().load.mmap
    if pickle_module not in (None, pickle):
        pickle_load_args["pickle_module"] = pickle_module
    pickle_load_args.setdefault("encoding", "utf-8")
    with _opened(f) as file:
        if archive.is_zip(file):
            return _load_zip(file, _restorer(map_location), weights_only, f if mmap else None, pickle_load_args)
        if mmap:
            raise RuntimeError(
                f"mmap can only be used with files saved with `torch.save({f}, _use_new_zipfile_serialization=True), please "
                "torch.save your checkpoint with this option in order to use mmap."
            )
        if _skipping.on:
            raise RuntimeError("Cannot use skip_data=True with _use_new_zipfile_serialization=False")
        from shim_torch._impl.serialization.legacy import load_legacy, refuse_tar

        refuse_tar(file, weights_only, REFUSED)
        return load_legacy(file, _restorer(map_location), lambda s: unpickle(s, weights_only, pickle_load_args))


def _weights_only_wanted(given: bool | None, pickle_module: Any) -> bool:
    true = ("1", "y", "yes", "true")
    force, deny = (
        os.environ.get(n, "0").lower() in true
        for n in ("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD")
    )
    if force and deny:
        raise RuntimeError(
            "Only one of `TORCH_FORCE_WEIGHTS_ONLY_LOAD` or `TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD` should be set, but both were set."
        )
    if force:
        return True
    if given is None:
        return not deny and pickle_module is None
    if given and pickle_module is not None:
        raise RuntimeError("Can not safely load weights when explicit pickle_module is specified")
    return given


@contextlib.contextmanager
def _opened(f: Any) -> Iterator[Any]:
    if isinstance(f, (str, os.PathLike)):
        with open(f, "rb") as file:
            yield file
        return
    _check_seekable(f)
    yield f if hasattr(f, "seekable") else archive.Seekable(f)


def _check_seekable(f: Any) -> bool:
    for method in ("seek", "tell", "read", "readline"):
        if not hasattr(f, method):
            raise AttributeError(f"'{type(f).__name__}' object has no attribute '{method}'. {_SEEKABLE}")
    return True


def _is_zipfile(f: Any) -> bool:
    """Whether a file begins as a zip archive; leaves its position."""
    return archive.is_zip(f)


def _load_zip(file: Any, restore: Any, weights_only: bool, path: Any, arguments: dict[str, Any]) -> Any:
    reader = archive.Reader(file)
    if reader.has("constants.pkl"):
        raise NotImplementedError("torch.load: TorchScript archives are not supported by shim-torch")
    swapped = _byte_order(reader.read("byteorder") if reader.has("byteorder") else None) != sys.byteorder
    if path is not None and not isinstance(path, (str, os.PathLike)):
        raise ValueError("f must be a file path in order to use the mmap argument")
    loaded: dict[str, Any] = {}

    def persistent_load(pid: Any) -> Any:
        if type(pid) is tuple and pid and pid[0] != "storage":
            raise RuntimeError(f"Unknown typename for persistent_load, expected 'storage' but got '{pid[0]}'")
        dtype, key, location, count, _ = storage_id(pid, 5)
        dtype = dtype or _core.uint8
        if key not in loaded:
            nbytes, record = count * dtype.itemsize, f"data/{key}"
            if _skipping.on:
                cpu = _core.UntypedStorage(nbytes)
            elif path is None:
                cpu = reader.storage(record, nbytes)
            else:
                cpu = reader.mapped(record, nbytes, os.fspath(path), get_default_mmap_options())
            if swapped and not _skipping.on:
                cpu.byteswap(dtype)
            loaded[key] = restore(cpu, location)
        return TypedStorage(wrap_storage=loaded[key], dtype=dtype)

    return unpickle(io.BytesIO(reader.read("data.pkl")), weights_only, arguments)(persistent_load)


def add_safe_globals(safe_globals: list[Any]) -> None:
    """Lets ``torch.load(weights_only=True)`` use these classes and functions."""
    _weights_only.add_safe_globals(safe_globals)


def get_safe_globals() -> list[Any]:
    """What was added with ``add_safe_globals``."""
    return _weights_only.safe_globals()


def clear_safe_globals() -> None:
    """Forgets what was added with ``add_safe_globals``."""
    _weights_only.replace_safe_globals([])


class safe_globals:
    """``add_safe_globals`` within a ``with`` block."""

    def __init__(self, safe_globals: list[Any]) -> None:
        self.safe_globals = safe_globals

    def __enter__(self) -> None:
        self._old = get_safe_globals()
        add_safe_globals(self.safe_globals)

    def __exit__(self, *_: object) -> None:
        _weights_only.replace_safe_globals(self._old)


def get_unsafe_globals_in_checkpoint(f: Any) -> list[str]:
    """The names in a file that ``weights_only`` would refuse."""
    with _opened(f) as file:
        if not archive.is_zip(file):
            raise ValueError("Expected input to be a checkpoint returned by torch.save")
        names = _weights_only.globals_in(archive.Reader(file).read("data.pkl"))
    return sorted(names - table().names.keys() - _weights_only._user.keys())


def normalize_storage_type(storage_type: type) -> Any:
    """The class of that name in ``torch``, which files name: ``torch.FloatStorage`` for ``torch.cuda.FloatStorage``."""
    import shim_torch

    return getattr(shim_torch, storage_type.__name__)


SHORT_SIZE, INT_SIZE, LONG_SIZE = 2, 4, 4  # bytes of the numbers in files older than PyTorch 1.6
MAP_SHARED, MAP_PRIVATE = mmap.MAP_SHARED, mmap.MAP_PRIVATE

_OPENERS = (
    "_opener _open_file _open_buffer_reader _open_buffer_writer _open_file_like _open_zipfile_reader _open_zipfile_writer "
    "_open_zipfile_writer_buffer _open_zipfile_writer_file"
).split()
_missing = _module_getattr(__name__)


def __getattr__(name: str) -> Any:
    if name not in _OPENERS:
        return _missing(name)
    from shim_torch._impl.serialization import openers

    return getattr(openers, name)
