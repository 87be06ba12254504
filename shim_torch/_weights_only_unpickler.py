"""Reads a pickle that may hold tensors and plain containers only: no code of the file's choice runs.

Every opcode that is not listed is refused; callables and classes come from one list of names, which
``torch.serialization.add_safe_globals`` extends; only lists, dicts and objects of listed classes are changed.
"""

from __future__ import annotations

import pickle
import reprlib
import struct
from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import IO, Any

from shim_torch._impl.native import _core
from shim_torch._impl.serialization import checked
from shim_torch._impl.serialization.allowed import table
from shim_torch._impl.serialization.archive import bytes_left

UnpicklingError = pickle.UnpicklingError
_OPCODES = """MARK STOP PROTO NONE NEWTRUE NEWFALSE EMPTY_LIST EMPTY_DICT EMPTY_TUPLE EMPTY_SET BININT BININT1 BININT2 LONG1
BINFLOAT BINUNICODE BINSTRING SHORT_BINSTRING SHORT_BINBYTES BINBYTES TUPLE TUPLE1 TUPLE2 TUPLE3 APPEND APPENDS SETITEM SETITEMS
BINGET LONG_BINGET BINPUT LONG_BINPUT BINPERSID GLOBAL REDUCE NEWOBJ BUILD""".split()
# Even a user's list can't allow these: each runs code of the caller's choice.
_BLOCKED = {"sys", "os", "posix", "nt"}

_DAMAGE = (
    ArithmeticError, AssertionError, AttributeError, LookupError, RecursionError, TypeError, ValueError, struct.error,
)  # fmt: skip
# What calls may copy in all, in bytes: this much, or so many times the file. A call of three bytes can name anything read before.
_LEAST_COPIED, _MOST_COPIED, _LARGE = 1 << 26, 16, 1 << 16

_user: dict[str, Any] = {}  # "package.module.Name" -> what add_safe_globals was given


def name_of(found: Any) -> str:
    """Module and qualified name of a class or function."""
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
    """What users allowed, with its name where that is not its own."""
    return [v if name_of(v) == k else (v, k) for k, v in _user.items()]


def replace_safe_globals(found: list[Any]) -> None:
    """Allows ``found`` in place of what users allowed before."""
    _user.clear()
    add_safe_globals(found)


def allowed_by_user(found: Any) -> bool:
    """Whether ``add_safe_globals`` was given this very object."""
    return any(found is v for v in _user.values())


def _set_state(target: Any, state: Any) -> None:
    """What ``pickle`` does with the state of an object, which is here of a class that the user allowed."""
    if hasattr(target, "__setstate__"):
        target.__setstate__(state)
    elif isinstance(state, tuple) and len(state) == 2:
        for part in state:
            for name, value in (part or {}).items():
                setattr(target, name, value)
    else:
        target.__dict__.update(state)


def _copied(args: tuple[Any, ...]) -> int:
    """About how many bytes a call copies of what it is given."""
    many = 0
    for arg in args:
        if isinstance(arg, (str, bytes, bytearray)):
            many += len(arg)
        elif isinstance(arg, (tuple, list, dict)):
            tensors = (part for part in arg if isinstance(part, _core.TensorBase)) if len(arg) < 16 else ()
            many += 64 * len(arg) + sum(part.numel() * part.element_size() for part in tensors)
    return many


_UNPICKLER: Any = pickle._Unpickler  # type: ignore[attr-defined]


class Unpickler(_UNPICKLER):
    """``pickle.Unpickler`` for data alone; UnpicklingError for anything else."""

    dispatch: dict[int, Callable[[Any], None]] = {}
    stack: list[Any]

    def __init__(self, file: IO[bytes], *, encoding: str = "bytes") -> None:
        super().__init__(file, encoding=encoding)
        self._table = table()
        self._source = file
        self._left = max(_LEAST_COPIED, _MOST_COPIED * bytes_left(file))
        self._in_users_code = False

    def load(self) -> Any:
        """The unpickled object. UnpicklingError where the data is damaged or asks for what is not allowed."""
        self.memo: dict[int, Any] = {}
        try:
            return super().load()
        except _DAMAGE as error:
            if self._in_users_code:
                raise
            (code, *_) = error.args or (None,)
            if isinstance(error, KeyError) and isinstance(code, int) and code not in self.dispatch:
                raise UnpicklingError(f"Unsupported operand {code}") from None
            raise checked.DamagedFile(f"the pickle is damaged: {type(error).__name__}: {error}") from error

    def _of_user(self, call: Callable[..., Any], *args: Any) -> Any:
        """Runs what the user allowed; its errors are the user's."""
        self._in_users_code = True
        made = call(*args)
        self._in_users_code = False
        return made

    def find_class(self, module: str, name: str) -> Any:
        """The class or function of that name, if files may use it; else UnpicklingError."""
        full = f"{module}.{name}"
        if module.split(".")[0] in _BLOCKED:
            raise UnpicklingError(f"Trying to load unsupported GLOBAL {full} whose module {module} is blocked.")
        if full in _user:
            return _user[full]
        if full in self._table.names:
            return self._table.names[full]
        shown = name if module in ("builtins", "__builtin__") else full
        raise UnpicklingError(
            f"Unsupported global: GLOBAL {shown} was not an allowed global by default. Please use "
            f"`torch.serialization.add_safe_globals([{shown}])` or the `torch.serialization.safe_globals([{shown}])` "
            "context manager to allowlist this global if you trust this class/function."
        )

    def _reduce(self) -> None:
        args = self.stack.pop()
        func: Any = self.stack[-1]
        if type(args) is not tuple:
            raise UnpicklingError(f"arguments of a call are a tuple, not {type(args)}")
        twin = self._table.calls.get(id(func))
        if allowed_by_user(func):
            self.stack[-1] = self._of_user(func, *args)
        elif twin is not None:
            if twin in self._table.copying:
                self._left -= _copied(args)
            if self._left < 0:
                raise checked.DamagedFile("the file asks for far more memory than it has bytes: it was made to do harm")
            self.stack[-1] = twin(*args)
        else:
            raise UnpicklingError(
                f"Trying to call reduce for unrecognized function {func if callable(func) else reprlib.repr(func)}"
            )

    def _newobj(self) -> None:
        args = self.stack.pop()
        cls = self.stack[-1]
        if type(args) is tuple and isinstance(cls, type) and allowed_by_user(cls):
            self.stack[-1] = self._of_user(cls.__new__, cls, *args)
        elif (cls is set or cls is OrderedDict) and args == ():
            self.stack[-1] = cls()
        else:
            shown = cls if isinstance(cls, type) else type(cls)
            raise UnpicklingError(f"Trying to create new object for unrecognized class {shown}")

    def _build(self) -> None:
        state = self.stack.pop()
        target = self.stack[-1]
        kind = type(target)
        if isinstance(target, _core.TensorBase):
            raise UnpicklingError(f"Can only build Tensor, Parameter, OrderedDict or types allowlisted, not {kind}")
        if kind is OrderedDict:
            if type(state) is not dict:
                raise UnpicklingError(f"attributes of an OrderedDict are a dict, not {type(state)}")
            checked.attributes(target, OrderedDict, state)
        elif allowed_by_user(kind):
            self._of_user(_set_state, target, state)
        else:
            raise UnpicklingError(
                "Can only build Tensor, Parameter, OrderedDict or types allowlisted via `add_safe_globals`, "
                f"but got {kind}"
            )

    def _take(self, form: str) -> bytes:
        """A length and so many bytes. A length beyond the file's end is not asked for: some files would make room for it."""
        (many,) = struct.unpack(form, self.read(struct.calcsize(form)))  # type: ignore[attr-defined]
        if many < 0 or (many > _LARGE and many > bytes_left(self._source)):
            raise checked.DamagedFile("the pickle is damaged: a text longer than the file")
        return bytes(self.read(many))  # type: ignore[attr-defined]

    def _unicode(self) -> None:
        self.stack.append(str(self._take("<I"), "utf-8", "surrogatepass"))

    def _bytes(self) -> None:
        self.stack.append(self._take("<I"))

    def _string(self) -> None:
        self.stack.append(self._decode_string(self._take("<i")))  # type: ignore[attr-defined]

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
        checked.keys(pairs[::2])
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
        self.stack.append(self._of_user(self.persistent_load, pid))  # map_location may be the user's


_OWN = {
    "REDUCE": Unpickler._reduce,
    "NEWOBJ": Unpickler._newobj,
    "BUILD": Unpickler._build,
    "APPEND": Unpickler._append,
    "APPENDS": Unpickler._appends,
    "SETITEM": Unpickler._setitem,
    "SETITEMS": Unpickler._setitems,
    "BINPERSID": Unpickler._persistent,
    "BINUNICODE": Unpickler._unicode,
    "BINBYTES": Unpickler._bytes,
    "BINSTRING": Unpickler._string,
}
for _name in _OPCODES:
    _code = getattr(pickle, _name)[0]
    Unpickler.dispatch[_code] = _OWN.get(_name) or pickle._Unpickler.dispatch[_code]  # type: ignore[attr-defined]


def globals_in(data: bytes) -> set[str]:
    """The full names that a pickle refers to, found without running it. UnpicklingError for a pickle that cannot be read."""
    import pickletools

    names: set[str] = set()
    try:
        for opcode, argument, _ in pickletools.genops(data):
            if opcode.name in ("GLOBAL", "INST"):
                names.add(str(argument).replace(" ", ".", 1))
            elif opcode.name not in _OPCODES:
                raise UnpicklingError(f"Unsupported operand {ord(opcode.code)}")
    except _DAMAGE as error:
        raise UnpicklingError(f"the pickle is damaged: {error}") from error
    return names
