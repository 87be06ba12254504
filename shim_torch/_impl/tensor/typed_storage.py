"""``torch.TypedStorage``: the older view of the bytes under a tensor, as elements of one dtype."""

from __future__ import annotations

import copy
from functools import cache
from operator import index
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.tensor.legacy_storages import DTYPES, NAMES, QUANTIZED, WHOLE, legacy_class_of
from shim_torch._impl.tensor.storage_arguments import check_typed as _check_typed
from shim_torch._impl.tensor.storage_arguments import place_of
from shim_torch._impl.tensor.storage_warning import warns
from shim_torch._impl.tensor.untyped_storage import check_real as _check_real
from shim_torch._impl.tensor.untyped_storage import over

UntypedStorage = _core.UntypedStorage


def _dtype_to_storage_type_map() -> dict[Any, str]:
    return dict(NAMES)


def _storage_type_to_dtype_map() -> dict[str, Any]:
    return DTYPES | QUANTIZED


def _over(storage: Any, dtype: Any) -> Any:
    return over(storage, WHOLE.get(dtype, dtype))


def _bytes_of(sequence: Any, dtype: Any, device: Any) -> Any:
    from shim_torch._impl.tensor.from_data import tensor

    return tensor(list(sequence), dtype=WHOLE.get(dtype, dtype), device=device).untyped_storage()


class TypedStorage:
    """A storage that counts in elements of one dtype.

    TypedStorage(size or sequence, dtype=, device=) or TypedStorage(wrap_storage=untyped, dtype=).
    """

    is_sparse = False
    _fixed_dtype: Any = None

    def __init__(self, *args: Any, wrap_storage: Any = None, dtype: Any = None, device: Any = None, **_: Any) -> None:
        _check_typed(args, wrap_storage, self._fixed_dtype if dtype is None else dtype, device)
        dtype = dtype if dtype is not None else self._fixed_dtype or _core.get_default_dtype()
        self.dtype = dtype
        if wrap_storage is not None:
            self._untyped_storage = wrap_storage
        elif not args:
            self._untyped_storage = UntypedStorage(0, device=device)
        elif hasattr(args[0], "__index__"):  # NumPy's integers too
            self._untyped_storage = UntypedStorage(index(args[0]) * dtype.itemsize, device=device)
        else:
            self._untyped_storage = _bytes_of(args[0], dtype, device)

    @property
    def device(self) -> Any:
        """The device that the bytes are on."""
        return self._untyped_storage.device

    @property
    def is_cuda(self) -> bool:
        """Whether the bytes are on a GPU."""
        return self.device.type == "cuda"

    @property
    def filename(self) -> str | None:
        """The file that the memory is mapped from, or None."""
        return self._untyped_storage.filename

    @property
    def _cdata(self) -> int:
        return self._untyped_storage._cdata

    def untyped(self) -> Any:
        """The bytes."""
        return self._untyped_storage

    def _new(self, storage: Any) -> TypedStorage:
        return TypedStorage(wrap_storage=storage, dtype=self.dtype)

    def size(self) -> int:
        """The number of elements."""
        return self._untyped_storage.nbytes() // self.dtype.itemsize

    __len__ = _size = size

    def nbytes(self) -> int:
        """The size in bytes."""
        return self._untyped_storage.nbytes()

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.nbytes()

    def element_size(self) -> int:
        """The size of an element in bytes."""
        return self.dtype.itemsize

    def data_ptr(self) -> int:
        """The address of the first byte."""
        return self._untyped_storage.data_ptr()

    def _weak_ref(self) -> int:
        return self._untyped_storage._weak_ref()

    _expired = staticmethod(_core.UntypedStorage._expired)
    _free_weak_ref = staticmethod(_core.UntypedStorage._free_weak_ref)

    def get_device(self) -> int:
        """The index of the device; -1 for the CPU."""
        if self.device.type == "cpu":
            return -1
        return int(self.device.index or 0)

    def tolist(self) -> list[Any]:
        """The elements as a list of Python's numbers."""
        _check_real(self)
        return _over(self._untyped_storage, self.dtype).tolist()

    def __iter__(self) -> Any:
        return iter(self.tolist())

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        if not isinstance(index, int):
            raise RuntimeError(f"can't index a {type(self)} with {type(index)}")
        _check_real(self)
        return _over(self._untyped_storage, self.dtype)[place_of(index, len(self), type(self), type(index))].item()

    def __setitem__(self, index: Any, value: Any) -> None:
        if not isinstance(index, (int, slice)):
            raise RuntimeError(f"can't index a {type(self)} with {type(index)}")
        if isinstance(value, (TypedStorage, UntypedStorage)):
            raise RuntimeError(f"cannot set item with value type {type(value)}")
        if self.device.type != "meta":
            _over(self._untyped_storage, self.dtype)[index] = value

    def fill_(self, value: Any) -> TypedStorage:
        """Makes every element ``value``; RuntimeError for a storage."""
        if isinstance(value, (TypedStorage, UntypedStorage)):
            raise RuntimeError(f"cannot set item with value type {type(value)}")
        _over(self._untyped_storage, self.dtype).fill_(value)
        return self

    def copy_(self, source: Any, non_blocking: Any = None) -> TypedStorage:
        """Takes the elements of ``source`` over, converted to this dtype.

        Errors: RuntimeError for another size in bytes of the same dtype, NotImplementedError for a source without data.
        """
        other = source.dtype if isinstance(source, TypedStorage) else _core.uint8
        bytes_ = source.untyped() if isinstance(source, TypedStorage) else source
        if bytes_.nbytes() != self.nbytes() and other == self.dtype:
            raise RuntimeError(
                f"size does not match, self was {self.nbytes()} bytes but src was {bytes_.nbytes()} bytes"
            )
        if bytes_.device.type == "meta" and self.device.type != "meta":
            raise NotImplementedError("Cannot copy out of meta tensor; no data!")
        _over(self._untyped_storage, self.dtype).copy_(_over(bytes_, other))
        return self

    def clone(self) -> TypedStorage:
        """A storage of the same elements with memory of its own."""
        return self._new(self._untyped_storage.clone())

    def cpu(self) -> TypedStorage:
        """The storage in the CPU's memory."""
        return self._new(self._untyped_storage.cpu())

    def cuda(self, device: Any = None, non_blocking: bool = False) -> TypedStorage:
        """The storage in the current GPU's memory."""
        return self._new(self._untyped_storage.cuda())

    def is_pinned(self, device: Any = None) -> bool:
        """Whether the memory is page-locked."""
        return self._untyped_storage.is_pinned()

    @property
    def _dtype(self) -> Any:
        return self.dtype

    def _share_fd_cpu_(self, *args: Any) -> Any:
        return self._untyped_storage._share_fd_cpu_(*args)

    def _share_filename_cpu_(self, *args: Any) -> Any:
        return self._untyped_storage._share_filename_cpu_(*args)

    def share_memory_(self) -> TypedStorage:
        """Moves the bytes to memory that other processes can map; gives the storage itself."""
        self._untyped_storage.share_memory_()
        return self

    _share_memory_ = share_memory_

    @classmethod
    def _new_shared(cls, size: int) -> Any:
        """A storage of bytes in memory that other processes can map."""
        return UntypedStorage._new_shared(size)

    def _write_file(self, *args: Any) -> None:
        self._untyped_storage._write_file(*args)

    def is_shared(self) -> bool:
        """Whether other processes can map the memory."""
        return self._untyped_storage.is_shared()

    _is_shared = is_shared

    def resizable(self) -> bool:
        """Whether ``resize_`` may change the size."""
        return self._untyped_storage.resizable()

    def resize_(self, size: int) -> None:
        """Changes the size to that many elements."""
        if self.device.type not in ("cpu", "cuda", "meta"):
            raise RuntimeError(f"UntypedStorage.resize_: got unexpected device type {self.device.type}")
        self._untyped_storage.resize_(size * self.dtype.itemsize)

    _resize_ = resize_

    def pin_memory(self, device: Any = None) -> TypedStorage:
        """A copy in page-locked memory."""
        return self._new(self._untyped_storage.pin_memory(device))

    def _to(self, dtype: Any) -> TypedStorage:
        if self.dtype in WHOLE:
            raise NotImplementedError(
                f"elements of {self.dtype} are not converted: quantized tensors are not supported"
            )
        return self._new_of(_over(self._untyped_storage, self.dtype).to(dtype).clone())

    @staticmethod
    def _new_of(tensor: Any) -> TypedStorage:
        return TypedStorage(wrap_storage=tensor.untyped_storage(), dtype=tensor.dtype)

    def pickle_storage_type(self) -> str:
        """``"FloatStorage"``: the name under which files know this dtype; KeyError for the dtypes without."""
        return NAMES[self.dtype]

    _pickle_storage_type = pickle_storage_type

    def type(self, dtype: Any = None, non_blocking: bool = False) -> Any:
        """The name of the storage's class, "torch.FloatStorage"; given a dtype, a copy of that dtype."""
        if dtype is None:
            return f"torch.{'cuda.' if self.is_cuda else ''}{NAMES[self.dtype]}"
        return self._to(dtype)

    def __copy__(self) -> TypedStorage:
        return self.clone()

    def __deepcopy__(self, memo: dict[int, Any]) -> TypedStorage:
        return self._new(copy.deepcopy(self._untyped_storage, memo))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TypedStorage) and self._cdata == other._cdata and self.dtype == other.dtype

    def __hash__(self) -> int:
        return hash((self._cdata, self.dtype))

    def __str__(self) -> str:
        head = f"[torch.storage.TypedStorage(dtype={self.dtype}, device={self.device}) of size {len(self)}]"
        if self.device.type == "meta":
            return "...\n" + head
        return " " + "\n ".join(str(x) for x in self) + "\n" + head

    __repr__ = __str__
    _setitem, _getitem, _element_size, _deepcopy = __setitem__, __getitem__, element_size, __deepcopy__
    _data_ptr, _nbytes = data_ptr, nbytes


for _name in "double float half long int short char byte bool bfloat16 complex_double complex_float".split():
    _dtype = {"byte": "uint8", "char": "int8", "complex_double": "complex128", "complex_float": "complex64"}.get(
        _name, _name
    )
    setattr(TypedStorage, _name, lambda self, _to=getattr(_core, _dtype): self._to(_to))


def legacy_storage(name: str, device_type: str = "cpu") -> Any:
    """``torch.FloatStorage`` and its like: a TypedStorage of one dtype on one device. KeyError for an unknown name."""
    return _legacy_storage(name, device_type)


@cache  # by both arguments, in one way to write them: one class each
def _legacy_storage(name: str, device_type: str) -> Any:
    return legacy_class_of(TypedStorage, name, device_type)


def storage_classes() -> set[Any]:
    """All classes of storages, ``torch._storage_classes``."""
    cpu, cuda = ([legacy_storage(n, kind) for n in of] for of, kind in ((DTYPES | QUANTIZED, "cpu"), (DTYPES, "cuda")))
    return {UntypedStorage, TypedStorage, *cpu, *cuda}


TypedStorage.__module__ = "torch.storage"
warns(TypedStorage)
