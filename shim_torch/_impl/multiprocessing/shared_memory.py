"""Memory that processes share: the bytes of a CPU storage in a file that lives in memory only."""

from __future__ import annotations

import mmap
import os
import weakref
from typing import Any

import numpy as np

from shim_torch._impl.native import _core

_FOLDER = "/dev/shm"


class Block(mmap.mmap):
    """A shared file, mapped; it lives as long as the storage over it. ``name`` is its path, for those that have one."""

    file: int
    name: str | None
    owner: int
    address: int

    def __del__(self) -> None:
        if getattr(self, "file", -1) >= 0:
            os.close(self.file)
            self.file = -1
        if self.name is not None and self.owner == os.getpid() and os.path.exists(self.name):
            os.unlink(self.name)


_by_storage: weakref.WeakValueDictionary[int, Block] = weakref.WeakValueDictionary()
_by_file: weakref.WeakValueDictionary[tuple[int, int], Block] = weakref.WeakValueDictionary()


def _mapped(file: int, nbytes: int, name: str | None, owner: int) -> Block:
    block = Block(file, nbytes)
    block.file, block.name, block.owner = file, name, owner
    return block


def _new_file(named: bool) -> tuple[int, str | None]:
    if not named and hasattr(os, "memfd_create"):
        return os.memfd_create("torch_shared"), None
    import tempfile

    file, path = tempfile.mkstemp(prefix=f"torch_{os.getpid()}_", dir=_FOLDER if os.path.isdir(_FOLDER) else None)
    if not named:
        os.unlink(path)
    return file, path if named else None


def _remember(block: Block, storage: Any) -> None:
    status = os.fstat(block.file)
    block.address = storage._cdata
    _by_storage[block.address] = block
    _by_file[status.st_dev, status.st_ino] = block


def block_of(storage: Any) -> Block | None:
    """The shared file under a storage, None if it has none of its own."""
    return _by_storage.get(storage._cdata)


def share(storage: Any, named: bool = False) -> Block | None:
    """Moves a CPU storage's bytes to shared memory, where they are not there yet. None for a storage of no bytes."""
    if not storage.nbytes():
        return None
    block = block_of(storage)
    if block is not None:
        return block
    file, name = _new_file(named)
    os.ftruncate(file, storage.nbytes())
    block = _mapped(file, storage.nbytes(), name, os.getpid())
    memory = np.frombuffer(block, np.uint8)
    memory[:] = _core.to_numpy(
        _core.empty_tensor((0,), _core.uint8, storage.device).set_(storage, 0, memory.shape, (1,))
    )
    storage._become_shared_(_core.from_numpy(memory).untyped_storage())
    _remember(block, storage)
    return block


def attach(file: int, nbytes: int, name: str | None = None) -> Any:
    """The storage over a shared file that another process made; the same one for the same file. Takes the descriptor."""
    status = os.fstat(file)
    known = _by_file.get((status.st_dev, status.st_ino))
    if known is not None and known.file >= 0:
        os.close(file)
        return _core.UntypedStorage._at(known.address)
    block = _mapped(file, nbytes, name, -1)
    storage = _core.from_numpy(np.frombuffer(block, np.uint8)).untyped_storage()
    storage._become_shared_(storage)
    _remember(block, storage)
    return storage
