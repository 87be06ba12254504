"""Settings of ``torch.save`` and ``torch.load``: ``torch.utils.serialization.config`` and its functions."""

from __future__ import annotations

import mmap
import sys
import threading
import warnings
from enum import Enum
from typing import Any

from shim_torch._impl.surface import naming


class LoadEndianness(Enum):
    """The assumed byte order of files without a byte-order mark."""

    NATIVE = 1
    LITTLE = 2
    BIG = 3


def config() -> Any:
    """``torch.utils.serialization.config``."""
    from shim_torch.utils.serialization import config as settings

    return settings


def get_default_load_endianness() -> LoadEndianness | None:
    """The byte order of files without a mark; None: little."""
    found: LoadEndianness | None = config().load.endianness
    return found


def set_default_load_endianness(endianness: LoadEndianness | None) -> None:
    """Sets what :func:`get_default_load_endianness` gives. Errors: TypeError for anything else."""
    if endianness is not None and not isinstance(endianness, LoadEndianness):
        raise TypeError("Invalid argument type in function set_default_load_endianness")
    config().load.endianness = endianness


def byte_order(mark: bytes | None) -> str:
    """The byte order ("little" or "big") of a file with this mark, or none.

    Errors: ValueError for an unknown mark.
    """
    if mark is not None:
        if mark not in (b"little", b"big"):
            raise ValueError("Unknown endianness type: " + mark.decode())
        return mark.decode()
    wanted = get_default_load_endianness()
    if wanted is None and sys.byteorder == "big":
        warnings.warn(
            "The default load endianness for checkpoints without a byteorder mark on big endian machines was changed from 'native' "
            "to 'little' endian, to avoid this behavior please use torch.serialization.set_default_load_endianness to set the "
            "desired default load endianness",
            UserWarning,
            stacklevel=4,
        )
    return {LoadEndianness.NATIVE: sys.byteorder, LoadEndianness.BIG: "big"}.get(wanted, "little")  # type: ignore[arg-type]


def get_default_mmap_options() -> int | None:
    """The flags of ``torch.load(mmap=True)``: ``mmap.MAP_PRIVATE``, unless set."""
    found: int | None = config().load.mmap_flags
    return found


class set_default_mmap_options:
    """Sets those flags to ``mmap.MAP_PRIVATE`` or ``MAP_SHARED``, for good or within a ``with`` block.

    Errors: ValueError for other flags, RuntimeError on Windows, which has none.
    """

    def __init__(self, flags: int) -> None:
        if sys.platform == "win32":
            raise RuntimeError("Changing the default mmap options is currently not supported for Windows")
        if flags not in (mmap.MAP_PRIVATE, mmap.MAP_SHARED):
            raise ValueError(
                "Invalid argument in function set_default_mmap_options, expected mmap.MAP_PRIVATE or mmap.MAP_SHARED, but got "
                f"{flags}"
            )
        self.prev = config().load.mmap_flags
        config().load.mmap_flags = flags

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        config().load.mmap_flags = self.prev


def get_crc32_options() -> bool:
    """Whether ``torch.save`` is to write checksums."""
    return bool(config().save.compute_crc32)


def set_crc32_options(compute_crc32: bool) -> None:
    """PyTorch leaves checksums out when this is False; they are always written here, which every reader accepts."""
    config().save.compute_crc32 = compute_crc32


class _Skipping(threading.local):
    on = False


skipping = _Skipping()


class skip_data:
    """Context in which ``torch.save`` writes zeros for storages, and ``torch.load`` leaves storages uninitialised.

    ``materialize_fake_tensors``: fake tensors are written as tensors of their device, whose bytes are zero.
    """

    def __init__(self, materialize_fake_tensors: bool = False) -> None:
        if materialize_fake_tensors:
            raise NotImplementedError(
                "torch.serialization.skip_data(materialize_fake_tensors=True) is not supported by shim-torch"
            )
        self.materialize_fake_tensors = materialize_fake_tensors

    def __enter__(self) -> None:
        self._old = skipping.on
        skipping.on = True

    def __exit__(self, *_: object) -> None:
        skipping.on = self._old


def check_module_version_greater_or_equal(module: Any, req_version_tuple: Any, error_if_malformed: bool = True) -> bool:
    """Whether ``module.__version__`` is at least a tuple.

    Errors: RuntimeError when it cannot be compared; with ``error_if_malformed=False`` a warning, and True.
    """
    try:
        return _at_least(req_version_tuple, module.__version__)
    except Exception as error:
        compared = f"cannot be compared with tuple {req_version_tuple}"
        message = f"'{module.__name__}' module version string is malformed '{module.__version__}' and {compared}"
        if error_if_malformed:
            raise RuntimeError(message) from error
    warnings.warn(f"{message}, but continuing assuming that requirement is met", stacklevel=2)
    return True


def _at_least(required: Any, version: str) -> bool:
    """Whether a version's parts, each in the type of the one it is compared with, are no less than ``required``."""
    parts = version.split(".")[: len(required)]
    found = tuple(type(least)(part) for least, part in zip(required, parts, strict=True))
    return bool(found >= required)


naming.present(globals(), "torch.serialization")
