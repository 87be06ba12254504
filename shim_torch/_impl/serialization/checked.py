"""What files read with ``weights_only=True`` call: the functions of ``torch._utils`` and a few classes, with every argument checked.

Files are not trusted. They can call these with any argument they can build, in any order. So each checks its arguments,
allocates no more memory than the file has bytes for, and runs no code but ours. Each raises UnpicklingError otherwise.
"""

from __future__ import annotations

import pickle
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable
from typing import Any

from shim_torch import _utils
from shim_torch._impl.native import _core

_INT64 = 1 << 63
_DEEPEST = 100  # depth of nested tuples as keys: hash() recurses without a limit
_FLAGS = ("conj", "neg")


class DamagedFile(pickle.UnpicklingError):
    """The error for content that ``torch.save`` never writes; ``weights_only=False`` would not help."""


def refuse(function: str, why: str) -> DamagedFile:
    """The error for a file that asks ``function`` for what it must not."""
    return DamagedFile(f"{function}: {why}: the file is damaged, or was made to do harm")


def need(good: bool, function: str, what: str, given: Any) -> None:
    """DamagedFile unless ``good``: ``what`` was expected, ``given`` stands in the file."""
    if not good:
        raise refuse(function, f"{what} expected, but the file has {type(given).__name__}")


def ints(values: Any, function: str, what: str) -> tuple[int, ...]:
    """``values`` as a tuple, if they are integers from 0 to 2^63 - 1; else DamagedFile."""
    good = isinstance(values, (tuple, list)) and all(type(v) is int and 0 <= v < _INT64 for v in values)
    need(good, function, f"{what} of integers from 0 on", values)
    return tuple(values)


def keys(found: Iterable[Any]) -> None:
    """DamagedFile for keys of dicts and members of sets that ``torch.save`` never writes."""
    for key in found:
        if type(key) is not tuple:
            continue  # other hashable objects that a file can make do not nest
        layer, depth = [key], 0
        while any(type(k) in (tuple, _core.Size) for k in layer):
            layer, depth = [part for k in layer if isinstance(k, tuple) for part in k], depth + 1
            if depth > _DEEPEST or len(layer) > 10_000:
                raise refuse("dict", "a key of tuples within tuples")


def _pairs(function: str, args: tuple[Any, ...]) -> Any:
    """The one argument of a mapping's constructor: nothing, a dict, or a list of pairs."""
    need(len(args) <= 1, function, "one argument", args)
    if not args:
        return ()
    (given,) = args
    if isinstance(given, dict):
        return given
    good = isinstance(given, (list, tuple)) and all(isinstance(p, (list, tuple)) and len(p) == 2 for p in given)
    need(good, function, "a dict or a list of pairs", given)
    keys(p[0] for p in given)
    return given


def ordered_dict(*args: Any) -> Any:
    """An OrderedDict of checked pairs."""
    return OrderedDict(_pairs("OrderedDict", args))


def counter(*args: Any) -> Any:
    """A Counter of a checked dict or pairs."""
    found = _pairs("Counter", args)
    return Counter(found if isinstance(found, dict) else dict(found))


def set_of(*args: Any) -> set[Any]:
    """A set of a list's members."""
    need(len(args) <= 1 and all(isinstance(a, (list, tuple)) for a in args), "set", "a list", args[0] if args else None)
    members = args[0] if args else ()
    keys(members)
    return set(members)


def byte_array(*args: Any) -> bytearray:
    """A bytearray of bytes, or of text and encoding; a number is refused, as it would allocate memory."""
    if len(args) == 2 and isinstance(args[0], str):
        return bytearray(encode(*args))
    need(len(args) <= 1 and all(isinstance(a, bytes) for a in args), "bytearray", "bytes", args[0] if args else None)
    return bytearray(*args)


def encode(*args: Any) -> bytes:
    """``_codecs.encode`` as pickles of protocol 2 use it for bytes."""
    need(len(args) == 2 and all(isinstance(a, str) for a in args), "_codecs.encode", "a text and its encoding", args)
    text, encoding = args
    if encoding not in ("latin1", "latin-1"):
        raise refuse("_codecs.encode", f"encoding {encoding!r} is not allowed")
    return text.encode(encoding)


def complex_number(*args: Any) -> complex:
    """A complex number of two numbers."""
    need(len(args) <= 2 and all(type(a) in (int, float) for a in args), "complex", "two numbers", args)
    return complex(*args)


def size(*args: Any) -> Any:
    """A torch.Size of integers."""
    need(len(args) <= 1, "torch.Size", "one argument", args)
    return _core.Size(ints(args[0], "torch.Size", "a tuple") if args else ())


def device(*args: Any) -> Any:
    """A device of a type and an index."""
    good = len(args) in (1, 2) and isinstance(args[0], str) and all(type(a) is int for a in args[1:])
    need(good, "torch.device", "a text and an index", args)
    return _core.device(*args)


def layout(*args: Any) -> Any:
    """The layout of that name."""
    from shim_torch.serialization import _get_layout

    need(len(args) == 1 and isinstance(args[0], str), "_get_layout", "a text", args)
    return _get_layout(*args)


def _hooks(function: str, hooks: Any) -> None:
    """Refuses backward hooks: PyTorch writes none, and a hook would be a function of the file's choice."""
    need(hooks is None or isinstance(hooks, dict), function, "an empty dict of hooks", hooks)
    if hooks:
        raise refuse(function, "hooks are functions, which weights_only=True does not load")


def _metadata(function: str, bits: Any, dtype: Any) -> None:
    good = bits is None or (isinstance(bits, dict) and all(k in _FLAGS and type(v) is bool for k, v in bits.items()))
    need(good, function, "a dict of the bits conj and neg", bits)
    if bits and not (dtype.is_complex or (dtype.is_floating_point and "conj" not in bits)):
        raise refuse(function, f"bits {sorted(bits)} of a tensor of {dtype}, which has none")


def _place(function: str, storage: Any, offset: Any, sizes: Any, strides: Any) -> tuple[Any, int, Any, Any]:
    from shim_torch._impl.tensor.typed_storage import TypedStorage

    need(isinstance(storage, (TypedStorage, _core.UntypedStorage)), function, "a storage", storage)
    need(type(offset) is int and 0 <= offset < _INT64, function, "an offset from 0 on", offset)
    return storage, offset, ints(sizes, function, "sizes"), ints(strides, function, "strides")


def tensor(storage: Any, offset: Any, sizes: Any, strides: Any) -> Any:
    """A tensor over a storage, whose geometry has to fit it (``torch._utils._rebuild_tensor``)."""
    return _utils._rebuild_tensor(*_place("_rebuild_tensor", storage, offset, sizes, strides))


def tensor_v2(
    storage: Any, offset: Any, sizes: Any, strides: Any, requires_grad: Any, hooks: Any, metadata: Any = None
) -> Any:
    """As ``tensor``, with requires_grad and metadata."""
    name = "_rebuild_tensor_v2"
    place = _place(name, storage, offset, sizes, strides)
    need(type(requires_grad) is bool, name, "requires_grad, a bool,", requires_grad)
    _hooks(name, hooks)
    _metadata(name, metadata, getattr(storage, "dtype", _core.uint8))
    return _utils._rebuild_tensor_v2(*place, requires_grad, None, metadata)


def tensor_v3(
    storage: Any,
    offset: Any,
    sizes: Any,
    strides: Any,
    requires_grad: Any,
    hooks: Any,
    dtype: Any,
    metadata: Any = None,
) -> Any:
    """As ``tensor_v2``, with a dtype that storages have no type for."""
    name = "_rebuild_tensor_v3"
    place = _place(name, storage, offset, sizes, strides)
    need(type(requires_grad) is bool, name, "requires_grad, a bool,", requires_grad)
    need(isinstance(dtype, _core.dtype), name, "a dtype", dtype)
    _hooks(name, hooks)
    _metadata(name, metadata, dtype)
    return _utils._rebuild_tensor_v3(*place, requires_grad, None, dtype, metadata)


def parameter(data: Any, requires_grad: Any, hooks: Any) -> Any:
    """A Parameter of a tensor."""
    name = "_rebuild_parameter"
    need(isinstance(data, _core.TensorBase), name, "a tensor", data)
    need(type(requires_grad) is bool, name, "requires_grad, a bool,", requires_grad)
    _hooks(name, hooks)
    return _utils._rebuild_parameter(data, requires_grad, None)


def parameter_with_state(data: Any, requires_grad: Any, hooks: Any, state: Any) -> Any:
    """A Parameter with further attributes."""
    return set_state(parameter(data, requires_grad, hooks), state)


def meta_tensor(dtype: Any, sizes: Any, strides: Any, requires_grad: Any) -> Any:
    """A tensor of the meta device: dtype, sizes and strides without a storage."""
    name = "_rebuild_meta_tensor_no_storage"
    need(isinstance(dtype, _core.dtype), name, "a dtype", dtype)
    need(type(requires_grad) is bool, name, "requires_grad, a bool,", requires_grad)
    return _utils._rebuild_meta_tensor_no_storage(
        dtype, ints(sizes, name, "sizes"), ints(strides, name, "strides"), requires_grad
    )


def wrapper_subclass(
    cls: Any, dtype: Any, sizes: Any, strides: Any, offset: Any, layout: Any, where: Any, grad: Any
) -> Any:
    """A wrapper tensor of a class that the user allowed."""
    name = "_rebuild_wrapper_subclass"
    need(allowed_class(cls) and cls is not _core.Tensor, name, "a class that add_safe_globals allows", cls)
    need(isinstance(dtype, _core.dtype) and isinstance(layout, _core.layout), name, "a dtype and a layout", dtype)
    need(isinstance(where, _core.device) and type(grad) is bool, name, "a device and a bool", where)
    size, stride = ints(sizes, name, "sizes"), ints(strides, name, "strides")
    (start,) = ints((offset,), name, "an offset")
    return _utils._rebuild_wrapper_subclass(cls, dtype, size, stride, start, layout, where, grad)


def allowed_class(cls: Any) -> bool:
    """Whether a file may make tensors of this class: ours, or one that the user allowed."""
    from shim_torch._weights_only_unpickler import allowed_by_user
    from shim_torch.nn.parameter import Parameter

    if cls is _core.Tensor or cls is Parameter:
        return True
    return isinstance(cls, type) and issubclass(cls, _core.TensorBase) and allowed_by_user(cls)


def from_type(func: Any, cls: Any, args: Any, state: Any) -> Any:
    """``_rebuild_from_type_v2``, which is handed a function and a class: both are looked up again."""
    from shim_torch._impl.serialization.allowed import table
    from shim_torch._weights_only_unpickler import allowed_by_user

    name = "_rebuild_from_type_v2"
    twin = table().makers.get(id(func)) or (func if allowed_by_user(func) else None)
    if twin is None:
        raise refuse(name, f"{func if callable(func) else type(func)} makes no tensor")
    need(allowed_class(cls), name, "a class of tensors", cls)
    need(isinstance(args, tuple), name, "a tuple", args)
    made = twin(*args)
    need(isinstance(made, _core.TensorBase), name, "a tensor", made)
    return set_state(made if type(made) is cls else made.as_subclass(cls), state)


def set_state(made: Any, state: Any) -> Any:
    """Sets attributes of a tensor; those that every tensor has (data, grad, __class__ ...) are refused."""
    cls = type(made)
    if getattr(cls, "__setstate__", None) is not getattr(_core.Tensor, "__setstate__", None):
        made.__setstate__(state)  # of a class that the user allowed
        return made
    for part in state if isinstance(state, tuple) and len(state) == 2 else (state,):
        need(part is None or isinstance(part, dict), "_rebuild_from_type_v2", "a dict of attributes", part)
        attributes(made, _core.Tensor, part or {})
    return made


def attributes(made: Any, of: type, state: dict[Any, Any]) -> None:
    """Sets attributes that ``of``, a class of ours or of Python's, has not."""
    for name, value in state.items():
        holder = next((c for c in type(made).__mro__ if name in vars(c)), None) if type(name) is str else of
        if type(name) is not str or name.startswith("__") or (holder is not None and issubclass(of, holder)):
            raise refuse(type(made).__name__, f"attribute {name!r} is not one that a file may set")
        setattr(made, name, value)


def storage_id(pid: Any, parts: int) -> tuple[Any, ...]:
    """A storage's persistent id: ("storage", class, key, location, elements, ...), as texts and with the dtype of the class.

    Returns (dtype, or None for bytes; key; location; elements; the rest).
    """
    from shim_torch._impl.tensor.typed_storage import TypedStorage

    need(type(pid) is tuple and len(pid) == parts, "storage", f"{parts} parts", pid)
    _, kind, key, location, count, *rest = pid
    key, location = (v.decode("ascii") if isinstance(v, bytes) else v for v in (key, location))
    need(isinstance(key, str) and isinstance(location, str), "storage", "a key and a location", key)
    need(type(count) is int and 0 <= count < _INT64 // 16, "storage", "a number of elements", count)
    if kind is _core.UntypedStorage:
        return None, key, location, count, rest
    dtype = getattr(kind, "dtype", None) if isinstance(kind, type) and issubclass(kind, TypedStorage) else None
    need(isinstance(dtype, _core.dtype), "storage", "a class of storages", kind)
    return dtype, key, location, count, rest


# Functions that copy an argument: a file could call them repeatedly.
COPYING: frozenset[Callable[..., Any]] = frozenset(
    {byte_array, counter, encode, from_type, ordered_dict, set_of, size, wrapper_subclass}
)
