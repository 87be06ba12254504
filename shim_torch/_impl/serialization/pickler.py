"""Pickles under PyTorch's names: ``shim_torch.nn.modules.linear.Linear`` is written ``torch.nn.modules.linear.Linear``."""

from __future__ import annotations

import pickle
from collections import OrderedDict
from collections.abc import Callable
from types import FunctionType
from typing import IO, Any

from shim_torch import _tensor, _utils
from shim_torch._impl.native import _core
from shim_torch._impl.serialization import class_pickling
from shim_torch._impl.serialization.class_pickling import ROOT
from shim_torch._impl.serialization.locations import location_tag
from shim_torch._impl.tensor.typed_storage import TypedStorage, legacy_storage
from shim_torch._impl.tensor.wrapper_subclasses import is_wrapper, wrapper_arguments
from shim_torch.nn.parameter import Parameter


def torch_module(name: str) -> str | None:
    """The torch name of a module of ours; None for other modules."""
    if name == ROOT or name.startswith(ROOT + "."):
        return "torch" + name[len(ROOT) :]
    return name if name == "torch" or name.startswith("torch.") else None


_PICKLER: Any = pickle._Pickler  # type: ignore[attr-defined]


class Pickler(_PICKLER):
    """``pickle.Pickler`` that writes tensors as PyTorch does; storages go to ``persistent_id``."""

    dispatch: dict[Any, Any] = dict(_PICKLER.dispatch)

    def __init__(self, file: IO[bytes], protocol: int, persistent_id: Callable[[Any], Any]) -> None:
        super().__init__(file, protocol)
        self._storage_id = persistent_id

    def save(self, obj: Any, save_persistent_id: bool = True) -> None:
        """Skips the hooks for strings, numbers and plain containers: they have no persistent id and no reducer."""
        direct = _DIRECT.get(type(obj))
        if direct is None or self.proto != 2:  # later protocols make frames
            super().save(obj, save_persistent_id)
        elif (known := self.memo.get(id(obj))) is not None:
            self.write(self.get(known[0]))
        else:
            direct(self, obj)

    def persistent_id(self, obj: Any) -> Any:
        """The id under which a storage is written beside the pickle; None for other objects."""
        return self._storage_id(obj) if isinstance(obj, (TypedStorage, _core.UntypedStorage)) else None

    def reducer_override(self, obj: Any) -> Any:
        """How tensors, dtypes and objects of our modules are pickled under PyTorch's names."""
        if isinstance(obj, _core.TensorBase):
            return _reduce_tensor(obj, self.proto)
        if isinstance(obj, (_core.dtype, _core.memory_format)):
            return str(obj).removeprefix("torch.")
        if isinstance(obj, _core.layout):
            from shim_torch.serialization import _get_layout

            return _get_layout, (str(obj),)
        if isinstance(obj, _core.device):
            return _core.device, (obj.type,) if obj.index is None else (obj.type, obj.index)
        if type(obj) is _core.Size:
            return _core.Size, (tuple(obj),)
        if getattr(type(obj), "__reduce_ex__", None) is class_pickling.reduce_ex:
            return object.__reduce_ex__(obj, self.proto)  # save_global writes PyTorch's names
        return NotImplemented

    def save_global(self, obj: Any, name: str | None = None) -> None:
        """Writes a class or function by PyTorch's module and name."""
        if isinstance(obj, (_core.dtype, _core.memory_format)):
            module: str | None = "torch"
        else:
            module = torch_module(getattr(obj, "__module__", None) or "")
        if module is None:
            super().save_global(obj, name)
            return
        name = name or obj.__qualname__
        if self.proto >= 4:
            self.save(module)
            self.save(name)
            self.write(pickle.STACK_GLOBAL)
        else:
            self.write(pickle.GLOBAL + f"{module}\n{name}\n".encode())
        self.memoize(obj)


Pickler.dispatch[FunctionType] = Pickler.save_global
_DIRECT: dict[type, Any] = {t: Pickler.dispatch[t] for t in (str, int, bool, float, type(None), tuple, list, dict)}


def _reduce_tensor(t: Any, protocol: int) -> Any:
    cls = type(t)
    if isinstance(t, Parameter) and cls is Parameter:
        state = {k: v for k, v in t.__dict__.items() if not k.startswith("_is_param")}
        if state:
            return _utils._rebuild_parameter_with_state, (t.data, t.requires_grad, OrderedDict(), state)
        return _utils._rebuild_parameter, (t.data, t.requires_grad, OrderedDict())
    if cls.__reduce_ex__ is not _core.Tensor.__reduce_ex__:
        return NotImplemented
    if cls is not _core.Tensor and is_wrapper(t):
        func, args = _utils._rebuild_wrapper_subclass, wrapper_arguments(t)
    else:
        func, args = _rebuild_arguments(t)
    state = {} if cls is _core.Tensor and not t.__dict__ else _utils._get_obj_state(t)
    if cls is _core.Tensor and not state:
        return func, args
    return _tensor._rebuild_from_type_v2, (func, cls, args, state)


def _rebuild_arguments(t: Any) -> tuple[Any, tuple[Any, ...]]:
    if t.layout != _core.strided:
        from shim_torch._impl.sparse.pickling import arguments

        return _utils._rebuild_sparse_tensor, arguments(t)
    if t.device.type == "meta":
        return _utils._rebuild_meta_tensor_no_storage, (t.dtype, tuple(t.shape), t.stride(), t.requires_grad)
    storage, place = t.untyped_storage(), (t.storage_offset(), tuple(t.shape), tuple(t.stride()))
    typed = TypedStorage(wrap_storage=storage, dtype=t.dtype)
    bits = _utils.get_tensor_metadata(t)
    metadata = (bits,) if bits else ()
    try:
        typed.pickle_storage_type()
    except KeyError:  # newer dtypes have no storage class: the bytes, and the dtype beside them
        typed = TypedStorage(wrap_storage=storage, dtype=_core.uint8)
        typed._as_untyped = True  # type: ignore[attr-defined]
        return _utils._rebuild_tensor_v3, (typed, *place, t.requires_grad, OrderedDict(), t.dtype, *metadata)
    return _utils._rebuild_tensor_v2, (typed, *place, t.requires_grad, OrderedDict(), *metadata)


def of(module: Any) -> Any:
    """``Pickler`` over another pickle module's: (file, protocol, persistent_id)."""
    if module is pickle:
        return Pickler

    class Own(module.Pickler):  # type: ignore[misc]
        def __init__(self, file: Any, protocol: int, persistent_id: Callable[[Any], Any]) -> None:
            super().__init__(file, protocol)
            self._storage_id = persistent_id

        persistent_id = Pickler.persistent_id

        def reducer_override(self, obj: Any) -> Any:
            return _reduce_tensor(obj, 2) if isinstance(obj, _core.TensorBase) else NotImplemented

    return Own


class Storages:
    """The storages of a file being written: gives each a key, and refuses two dtypes over one."""

    def __init__(self, more: tuple[Any, ...] = ()) -> None:
        self.by_key: dict[str, Any] = {}
        self.itemsize: dict[str, int] = {}
        self._more = more  # what the older format has behind each storage
        self._keys: dict[int, str] = {}
        self._dtypes: dict[int, Any] = {}

    def persistent_id(self, obj: Any) -> tuple[Any, ...]:
        """What stands for a storage: ("storage", class, key, device, number of elements) and what the format adds.

        Errors: RuntimeError where its memory was written as another dtype before.
        """
        untyped_only = not isinstance(obj, TypedStorage) or getattr(obj, "_as_untyped", False)
        storage = obj if not isinstance(obj, TypedStorage) else obj.untyped()
        if untyped_only:
            kind, dtype = _core.UntypedStorage, _core.uint8
        else:
            kind, dtype = legacy_storage(obj.pickle_storage_type()), obj.dtype
        pointer = 0 if storage.device.type == "meta" else storage.data_ptr()
        if pointer and self._dtypes.setdefault(pointer, dtype) != dtype:
            raise RuntimeError("Cannot save multiple tensors or storages that view the same data as different types")
        key = self._keys.setdefault(storage._cdata, str(len(self._keys)))
        self.by_key[key] = storage
        self.itemsize.setdefault(key, dtype.itemsize)
        return ("storage", kind, key, location_tag(storage), storage.nbytes() // dtype.itemsize, *self._more)
