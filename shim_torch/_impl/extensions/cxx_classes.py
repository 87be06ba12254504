"""Custom classes of C++ extensions (``torch::class_``): what they are told of, and their instances, ``torch.ScriptObject``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from shim_torch._impl.extensions import cxx_arguments

PREFIX = "__torch__.torch.classes."


class Method(NamedTuple):
    """A C++ function and how it is called."""

    call: Callable[..., Any]
    signature: cxx_arguments.Signature


class CxxClass:
    """What ``torch.classes.ns.Name`` is: calling it makes an instance."""

    def __init__(self, namespace: str, name: str, doc: str, kind: str) -> None:
        self.__doc__ = doc
        self._qualified = f"{PREFIX}{namespace}.{name}"
        self._kind = kind
        self._init: Method | None = None
        self._setstate: Method | None = None
        self._methods: dict[str, Method] = {}
        self._statics: dict[str, Method] = {}
        self._properties: dict[str, dict[str, Method]] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """A new instance. Errors: RuntimeError for other arguments than the constructor's, or where there is none."""
        if self._init is None:
            raise RuntimeError(f"{self._qualified} has no constructor: it was defined without torch::init")
        given = cxx_arguments.bound(self._init.signature, (None, *args), kwargs)
        return self._init.call(*given[1:])

    def __getattr__(self, name: str) -> Any:
        method = self.__dict__.get("_statics", {}).get(name)
        if method is None:
            raise AttributeError(f"{self.__dict__.get('_qualified')} has no static method '{name}'")
        return lambda *args, **kwargs: method.call(*cxx_arguments.bound(method.signature, args, kwargs))


_by_kind: dict[str, CxxClass] = {}
_by_name: dict[tuple[str, str], CxxClass] = {}


def found(namespace: str, name: str) -> CxxClass:
    """A class by its name. Errors: RuntimeError for one that no library told of."""
    made = _by_name.get((namespace, name))
    if made is None:
        raise RuntimeError(
            f"Tried to instantiate class '{namespace}.{name}', but it does not exist! "
            "Ensure that it is registered via torch::class_"
        )
    return made


def of_kind(kind: str) -> CxxClass:
    """A class by its C++ type. Errors: RuntimeError where none was told of."""
    if kind not in _by_kind:
        raise RuntimeError(f"Tried to convert an instance of the C++ type {kind}, which no torch::class_ names")
    return _by_kind[kind]


def define(namespace: str, name: str, doc: str, kind: str) -> None:
    """Errors: RuntimeError for a name that is taken by another C++ type."""
    before = _by_name.get((namespace, name))
    if before is not None and before._kind != kind:
        raise RuntimeError(f"Custom class with name {PREFIX}{namespace}.{name} is already registered.")
    _by_kind[kind] = _by_name[namespace, name] = before or CxxClass(namespace, name, doc, kind)


class ScriptObject:
    """An instance of a custom class: its methods are the C++ type's."""

    _class: CxxClass
    _held: Any

    def __getattr__(self, name: str) -> Any:
        of = object.__getattribute__(self, "_class")
        if name in of._properties:
            return of._properties[name]["get"].call(self)
        method = of._methods.get(name)
        if method is None:
            raise AttributeError(
                f"{of._qualified} (of Python compilation unit at: 0) does not have a field with name '{name}'"
            )
        return lambda *args, **kwargs: method.call(*cxx_arguments.bound(method.signature, (self, *args), kwargs))

    def __setattr__(self, name: str, value: Any) -> None:
        setter = self._class._properties.get(name, {}).get("set")
        if setter is None:
            raise AttributeError(f"can't set attribute '{name}' of {self._class._qualified}")
        setter.call(self, value)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._class._methods, *self._class._properties})

    def _type(self) -> Any:
        """Its class, as schemas write it."""
        from shim_torch._impl.core_names.torchscript import _type_text

        return _type_text(self._class._qualified)

    def _has_method(self, name: str) -> bool:
        """Whether the class has such a method."""
        return name in self._class._methods

    def _method_names(self) -> list[str]:
        """Those of the class."""
        return list(self._class._methods)

    def __reduce__(self) -> Any:
        if self._class._setstate is None:
            raise RuntimeError(
                f"Tried to serialize object {self._class._qualified} which does not have a __getstate__ method defined!"
            )
        _, namespace, name = self._class._qualified.removeprefix("__torch__.torch.").split(".")
        return _rebuilt, (namespace, name, self._class._methods["__getstate__"].call(self))


def _rebuilt(namespace: str, name: str, state: Any) -> Any:
    method = found(namespace, name)._setstate
    assert method is not None
    return method.call(state)


def _operator(name: str) -> Callable[..., Any]:
    def call(self: ScriptObject, *args: Any) -> Any:
        if not self._has_method(name):
            raise NotImplementedError(f"{self._class._qualified} has no {name}")
        return self.__getattr__(name)(*args)

    call.__name__ = name
    return call


for _name in (
    "__len__ __getitem__ __setitem__ __delitem__ __contains__ __call__ __add__ __sub__ __mul__ __truediv__ __floordiv__ "
    "__mod__ __neg__ __lt__ __le__ __gt__ __ge__ __and__ __or__ __xor__ __int__ __float__ __bool__ __str__"
).split():
    if _name == "__bool__":
        setattr(
            ScriptObject, _name, lambda self: self.__getattr__("__bool__")() if self._has_method("__bool__") else True
        )
    elif _name == "__str__":
        setattr(
            ScriptObject,
            _name,
            lambda self: self.__getattr__("__str__")() if self._has_method("__str__") else repr(self),
        )
    else:
        setattr(ScriptObject, _name, _operator(_name))
ScriptObject.__module__ = "torch"


def instance(kind: str, capsule: Any) -> ScriptObject:
    """The Python object of what a capsule holds."""
    made = ScriptObject.__new__(ScriptObject)
    object.__setattr__(made, "_class", of_kind(kind))
    object.__setattr__(made, "_held", capsule)
    return made


def holder_of(kind: str, value: Any) -> Any:
    """The capsule of an instance of that C++ type. Errors: RuntimeError for anything else."""
    wanted = of_kind(kind)
    if not isinstance(value, ScriptObject) or value._class is not wanted:
        found_type = value._class._qualified if isinstance(value, ScriptObject) else type(value).__name__
        raise RuntimeError(f"Expected an object of the class {wanted._qualified} but got {found_type}")
    return value._held
