"""Reads a pickle that may hold tensors and plain containers only: no code of the file's choice runs.

Every opcode that is not listed is refused; callables and classes come from one list of names, which
``torch.serialization.add_safe_globals`` extends; only lists, dicts and objects of listed classes are changed.
"""

from __future__ import annotations

import pickle
from collections import Counter, OrderedDict
from collections.abc import Callable
from functools import lru_cache
from typing import IO, Any

from native import _core
from shim_torch._missing import asked_of as _asked_of

UnpicklingError = pickle.UnpicklingError
_OPCODES = """MARK STOP PROTO NONE NEWTRUE NEWFALSE EMPTY_LIST EMPTY_DICT EMPTY_TUPLE EMPTY_SET BININT BININT1 BININT2 LONG1
BINFLOAT BINUNICODE BINSTRING SHORT_BINSTRING SHORT_BINBYTES BINBYTES TUPLE TUPLE1 TUPLE2 TUPLE3 APPEND APPENDS SETITEM SETITEMS
BINGET LONG_BINGET BINPUT LONG_BINPUT BINPERSID GLOBAL REDUCE NEWOBJ BUILD""".split()
# Even a user's list can't allow these: each runs code of the caller's choice.
_BLOCKED = {"sys", "os", "posix", "nt"}

_user: dict[str, Any] = {}  # "package.module.Name" -> what add_safe_globals was given


def name_of(found: Any) -> str:
    return f"{found.__module__}.{found.__qualname__}"


def add_safe_globals(found: list[Any]) -> None:
    """Allows classes and functions, each given itself or as (itself, "the name in files")."""
    for item in found:
        if isinstance(item, tuple) and len(item) != 2:
            raise ValueError(
                f"Expected tuple of length 2 (global, str of callable full path), but got tuple of length: {len(item)}"
            )
        target, name = item if isinstance(item, tuple) else (item, name_of(item))
        if type(name) is not str:
            raise TypeError(f"Expected second item in tuple to be str of callable full path, but got: {type(name)}")
        _user[name] = target


def _get_user_allowed_globals() -> dict[str, Any]:
    """What was allowed, by the names in files."""
    return dict(_user)


def safe_globals() -> list[Any]:
    return [v if name_of(v) == k else (v, k) for k, v in _user.items()]


def replace_safe_globals(found: list[Any]) -> None:
    _user.clear()
    add_safe_globals(found)


@lru_cache(maxsize=1)
def _torch_names() -> dict[str, Any]:
    """The names of torch files that are always allowed."""
    from shim_torch import _legacy_types, _tensor, _utils, serialization, storage
    from shim_torch.nested._internal import _base as nested
    from shim_torch.nn.parameter import Parameter

    allowed: dict[str, Any] = {
        "collections.OrderedDict": OrderedDict,
        "collections.Counter": Counter,
        "shim_torch.nested._internal._base._rebuild": nested._rebuild,
        "torch.nested._internal._base._rebuild": nested._rebuild,
        "_codecs.encode": _encode,
        "builtins.bytearray": bytearray,
        "builtins.set": set,
        "builtins.complex": complex,
        "__builtin__.set": set,
        "__builtin__.bytearray": bytearray,
        "__builtin__.complex": complex,
        "torch.Tensor": _core.Tensor,
        "torch.Size": _core.Size,
        "torch.device": _core.device,
        "torch.nn.parameter.Parameter": Parameter,
        "torch.serialization._get_layout": serialization._get_layout,
        "torch.storage.UntypedStorage": storage.UntypedStorage,
        "torch.storage.TypedStorage": storage.TypedStorage,
        "torch._tensor._rebuild_from_type_v2": _tensor._rebuild_from_type_v2,
    }
    for name in vars(_utils):
        if name.startswith("_rebuild_"):
            allowed[f"torch._utils.{name}"] = getattr(_utils, name)
    for name in storage._CLASSES:
        allowed[f"torch.{name}"] = _legacy_types.legacy_storage(name)
    for name in vars(_core):
        if isinstance(getattr(_core, name), (_core.dtype, _core.layout, _core.memory_format)):
            allowed[f"torch.{name}"] = getattr(_core, name)
    return allowed


def _encode(text: str, encoding: str) -> bytes:
    """``_codecs.encode`` as pickles of protocol 2 use it for bytes."""
    if encoding != "latin1":
        raise UnpicklingError(f"_codecs.encode: encoding {encoding!r} is not allowed")
    return text.encode(encoding)


_UNPICKLER: Any = pickle._Unpickler  # type: ignore[attr-defined]


class Unpickler(_UNPICKLER):
    """``pickle.Unpickler`` for data alone; UnpicklingError for anything else."""

    dispatch: dict[int, Callable[[Any], None]] = {}
    stack: list[Any]

    def __init__(self, file: IO[bytes], *, encoding: str = "bytes") -> None:
        super().__init__(file, encoding=encoding)
        self._allowed = {**_torch_names(), **_user}
        self._callables = {id(v): v for v in self._allowed.values()}

    def load(self) -> Any:
        self.memo: dict[int, Any] = {}
        try:
            return super().load()
        except KeyError as error:
            (code,) = error.args or (None,)
            if isinstance(code, int) and code not in self.dispatch:
                raise UnpicklingError(f"Unsupported operand {code}") from None
            raise

    def find_class(self, module: str, name: str) -> Any:
        full = f"{module}.{name}"
        if full in self._allowed:
            return self._allowed[full]
        if module.split(".")[0] in _BLOCKED:
            raise UnpicklingError(f"Trying to load unsupported GLOBAL {full} whose module {module} is blocked.")
        shown = name if module in ("builtins", "__builtin__") else full
        raise UnpicklingError(
            f"Unsupported global: GLOBAL {shown} was not an allowed global by default. Please use "
            f"`torch.serialization.add_safe_globals([{shown}])` or the `torch.serialization.safe_globals([{shown}])` "
            "context manager to allowlist this global if you trust this class/function."
        )

    def _reduce(self) -> None:
        args = self.stack.pop()
        func: Any = self.stack[-1]
        if self._callables.get(id(func)) is not func:
            raise UnpicklingError(f"Trying to call reduce for unrecognized function {func}")
        self.stack[-1] = func(*args)  # type: ignore[misc]

    def _newobj(self) -> None:
        args = self.stack.pop()
        cls = self.stack[-1]
        if self._callables.get(id(cls)) is not cls or not isinstance(cls, type):
            raise UnpicklingError(f"Trying to create new object for unrecognized class {cls}")
        self.stack[-1] = cls.__new__(cls, *args)

    def _build(self) -> None:
        state = self.stack.pop()
        target = self.stack[-1]
        kind = type(target)
        if isinstance(target, _core.TensorBase):
            raise UnpicklingError(f"Can only build Tensor, Parameter, OrderedDict or types allowlisted, not {kind}")
        if kind is OrderedDict:
            target.__dict__.update(state)
        elif any(kind is v for v in _user.values()):
            if hasattr(target, "__setstate__"):
                target.__setstate__(state)
            elif isinstance(state, tuple) and len(state) == 2:
                for part in state:
                    for name, value in (part or {}).items():
                        setattr(target, name, value)
            else:
                target.__dict__.update(state)
        else:
            raise UnpicklingError(
                "Can only build Tensor, Parameter, OrderedDict or types allowlisted via `add_safe_globals`, "
                f"but got {kind}"
            )

    def _append(self) -> None:
        item = self.stack.pop()
        if type(self.stack[-1]) is not list:
            raise UnpicklingError(f"Can only append to lists, but got {type(self.stack[-1])}")
        self.stack[-1].append(item)

    def _appends(self) -> None:
        items = self.pop_mark()  # type: ignore[attr-defined]
        if type(self.stack[-1]) is not list:
            raise UnpicklingError(f"Can only extend lists, but got {type(self.stack[-1])}")
        self.stack[-1].extend(items)

    def _items(self, pairs: list[Any]) -> None:
        target = self.stack[-1]
        if type(target) not in (dict, OrderedDict, Counter):
            raise UnpicklingError(f"Can only set items of dicts, but got {type(target)}")
        for key, value in zip(pairs[::2], pairs[1::2], strict=True):
            target[key] = value

    def _setitem(self) -> None:
        value, key = self.stack.pop(), self.stack.pop()
        self._items([key, value])

    def _setitems(self) -> None:
        self._items(self.pop_mark())  # type: ignore[attr-defined]

    def _persistent(self) -> None:
        pid = self.stack.pop()
        if type(pid) is not tuple and not isinstance(pid, int):
            raise UnpicklingError(f"persistent_load id must be tuple or int, but got {type(pid)}")
        kind = pid[0] if type(pid) is tuple and pid else None
        if type(pid) is tuple and pid and (kind.decode("ascii") if isinstance(kind, bytes) else kind) != "storage":
            raise UnpicklingError(f"Only persistent_load of storage is allowed, but got {type(kind)}")
        self.stack.append(self.persistent_load(pid))


_OWN = {
    "REDUCE": Unpickler._reduce,
    "NEWOBJ": Unpickler._newobj,
    "BUILD": Unpickler._build,
    "APPEND": Unpickler._append,
    "APPENDS": Unpickler._appends,
    "SETITEM": Unpickler._setitem,
    "SETITEMS": Unpickler._setitems,
    "BINPERSID": Unpickler._persistent,
}
for _name in _OPCODES:
    _code = getattr(pickle, _name)[0]
    Unpickler.dispatch[_code] = _OWN.get(_name) or pickle._Unpickler.dispatch[_code]  # type: ignore[attr-defined]


def globals_in(data: bytes) -> set[str]:
    """The full names that a pickle refers to, found without running it."""
    import pickletools

    names: set[str] = set()
    for opcode, argument, _ in pickletools.genops(data):
        if opcode.name == "GLOBAL":
            names.add(str(argument).replace(" ", ".", 1))
    return names

__getattr__ = _asked_of(__name__)
