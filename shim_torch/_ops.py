"""``torch.ops``: the operator table by namespace, operator and overload."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from shim_torch._impl.native import _core
from shim_torch._impl.surface import naming

if TYPE_CHECKING:
    from shim_torch._impl.table.schema import FunctionSchema


class OpOverload(_core.OperatorCall):
    """One overload of an operator: ``torch.ops.aten.add.Tensor``."""

    def __init__(self, qualified: str, overload: str, packet: OpOverloadPacket) -> None:
        self._qualified_op_name = qualified
        self.namespace, _, self._opname = qualified.partition("::")
        self._overloadname = overload or "default"
        self._overload = overload
        self.overloadpacket = self._overloadpacket = packet
        self._name = qualified + (f".{overload}" if overload else "")
        self._lazy_tags: list[Any] | None = None
        self._lazy_view: bool | None = None
        self.__module__ = f"torch._ops.{self.namespace}"
        self._lazy_schema: FunctionSchema | None = None

    @property
    def __name__(self) -> str:  # type: ignore[override]
        return f"{self._opname}.{self._overloadname}"

    @property
    def _defined_in_python(self) -> bool:
        from shim_torch._impl.library.registrations import defined

        return (self._qualified_op_name, self._overload) in defined

    @property
    def _schema(self) -> FunctionSchema:
        if self._lazy_schema is None:
            from shim_torch._impl.table.schema import schema_of_overload

            self._lazy_schema = schema_of_overload(self._qualified_op_name, self._overload)
        return self._lazy_schema

    @property
    def tags(self) -> list[Any]:
        """Its ``torch.Tag``s."""
        if self._lazy_tags is None:
            from shim_torch._impl.table.schema import tags_of_overload

            self._lazy_tags = tags_of_overload(self)
        return self._lazy_tags

    @tags.setter
    def tags(self, tags: list[Any]) -> None:
        self._lazy_tags = tags

    @property
    def is_view(self) -> bool:
        """Whether results may share memory with arguments, none of which is written to."""
        if self._lazy_view is None:
            aliases = [a.alias_info for a in self._schema.arguments if a.alias_info is not None]
            self._lazy_view = bool(aliases) and not any(a.is_write for a in aliases)
        return self._lazy_view

    @property
    def op(self) -> OpOverload:
        """The callable below."""
        return self

    _op = op

    def name(self) -> str:
        """``aten::add.Tensor``."""
        return self._name

    def _can_decompose(self) -> bool:
        """Whether it consists of other operators."""
        from shim_torch._impl.transforms.torch_dispatch import consists_of_operators

        return consists_of_operators(self._qualified_op_name, self._overload)

    def decompose(self, *args: Any, **kwargs: Any) -> Any:
        """The operator run as the operators it consists of; NotImplemented where it consists of none."""
        if not self._can_decompose():
            return NotImplemented
        return self(*args, **kwargs)

    def has_kernel_for_dispatch_key(self, key: Any) -> bool:
        """Whether a Python kernel is registered for this key."""
        return str(key).rpartition(".")[2] in _core.kernels_of(self._qualified_op_name, self._overload)

    def redispatch(self, keyset: Any, /, *args: Any, **kwargs: Any) -> Any:
        """The kernel of the highest key of ``keyset``: what a kernel from Python calls for the operator as it was.

        One registered from Python for that key runs, else the operator's own; TypeError for what is no DispatchKeySet.
        """
        from shim_torch._impl.library.redispatch import redispatch

        return redispatch(self, keyset, args, kwargs)

    def __str__(self) -> str:
        return f"{self.namespace}.{self._opname}.{self._overloadname}"

    def __repr__(self) -> str:
        return f"<OpOverload(op='{self.namespace}.{self._opname}', overload='{self._overloadname}')>"

    def __deepcopy__(self, memo: Any = None) -> OpOverload:
        return self

    def __hash__(self) -> int:
        return hash(self._name)

    def __reduce__(self) -> Any:
        return _lookup, (self.namespace, self._opname, self._overloadname)


class OpOverloadPacket(_core.OperatorCall):
    """All overloads of an operator: calls choose among them by the arguments."""

    def __init__(self, qualified: str) -> None:
        self._qualified_op_name = qualified
        self.namespace, _, self._opname = qualified.partition("::")
        if self.namespace == "aten":
            from shim_torch._impl.table.aten import complete

            complete(self._opname)

    @property
    def _overload_names(self) -> list[str]:
        return list(_core.operator_overloads(self._qualified_op_name))

    @property
    def op(self) -> OpOverloadPacket:
        """The callable below."""
        return self

    _op = op

    @property
    def _schemas(self) -> dict[str, FunctionSchema]:
        return {n: getattr(self, n or "default")._schema for n in self._overload_names}

    def overloads(self) -> list[str]:
        """Names of the overloads; the unnamed one is ``default``."""
        return [n or "default" for n in self._overload_names]

    def __getattr__(self, name: str) -> OpOverload:
        overload = "" if name == "default" else name
        if name.startswith("__") or overload not in self._overload_names:
            if self.namespace == "aten" and not name.startswith("__"):
                from shim_torch._impl.table.aten import has_overload, not_here

                if has_overload(self._opname, overload):
                    raise not_here(self._opname, overload)
            raise AttributeError(f"The underlying op of '{self}' has no overload name '{name}'")
        found = OpOverload(self._qualified_op_name, overload, self)
        self.__dict__[name] = found
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self.overloads())

    def __str__(self) -> str:
        return f"{self.namespace}.{self._opname}"

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self.namespace}.{self._opname}')>"

    def __deepcopy__(self, memo: Any = None) -> OpOverloadPacket:
        return self

    def __hash__(self) -> int:
        return hash(self._qualified_op_name)

    def __reduce__(self) -> Any:
        return _lookup, (self.namespace, self._opname, None)


def _lookup(namespace: str, name: str, overload: str | None) -> Any:
    packet = getattr(getattr(ops, namespace), name)
    return packet if overload is None else getattr(packet, overload)


class _OpNamespace(ModuleType):
    """``torch.ops.aten``: its operators are attributes."""

    __file__ = "torch.ops"

    def __init__(self, name: str) -> None:
        super().__init__(f"torch.ops.{name}")
        self.name = name

    def __getattr__(self, name: str) -> Any:
        if self.__dict__.get("name") == "higher_order":
            from shim_torch._impl.library.registrations import higher_order

            if name in higher_order:
                return higher_order[name]
        qualified = f"{self.__dict__.get('name')}::{name}"
        if self.__dict__.get("name") == "aten":
            from shim_torch._impl.table.aten import complete, has_operator, not_here

            complete(name)
            if has_operator(name) and not _core.operator_overloads(qualified):
                raise not_here(name)
        if not _core.operator_overloads(qualified):
            raise AttributeError(f"'_OpNamespace' '{self.__dict__.get('name')}' object has no attribute '{name}'")
        packet = OpOverloadPacket(qualified)
        packet.__module__ = f"torch._ops.{self.name}"
        self.__dict__[name] = packet
        return packet

    def __dir__(self) -> list[str]:
        return sorted({*self.__dict__, *_core.operator_names(self.name)})

    def __iter__(self) -> Iterator[str]:
        return iter(_core.operator_names(self.name))


# Namespaces whose operators are defined when they are first asked for.
_LATE = {
    "profiler": "shim_torch._impl.profiler.operators",
    "_c10d_functional": "shim_torch._impl.distributed.operators",
    "c10d_functional": "shim_torch._impl.distributed.operators",
    "c10d": "shim_torch._impl.distributed.operators",
}


class _Ops(ModuleType):
    """``torch.ops``: its namespaces are attributes, made when asked for."""

    __file__ = "_ops.py"

    def __init__(self) -> None:
        super().__init__("torch.ops")
        self.loaded_libraries: set[str] = set()

    def __getattr__(self, name: str) -> _OpNamespace:
        if name.startswith("__"):
            raise AttributeError(f"module 'torch.ops' has no attribute '{name}'")
        namespace = _OpNamespace(name)
        self.__dict__[name] = namespace
        if name in _LATE:
            import_module(_LATE[name])
        elif name in ("prim", "prims"):
            from shim_torch._impl.table.operators import complete

            complete()
        return namespace

    def __iter__(self) -> Iterator[str]:
        return iter(_core.operator_namespaces())

    def load_library(self, path: Any) -> None:
        """Loads a compiled library; the operators it registers through PyTorch's stable C ABI are there from now on.

        Errors: OSError when it cannot be loaded, with what is missing; RuntimeError when PyTorch's own libtorch is loaded.
        """
        from shim_torch._impl.extensions import load

        load.load(path)
        self.loaded_libraries.add(str(path))


def forget(qualified: str) -> None:
    """Drops the cached packet of an operator whose overloads changed."""
    namespace, _, name = qualified.partition("::")
    found = ops.__dict__.get(namespace)
    if found is not None:
        found.__dict__.pop(name, None)


ops = _Ops()


def __getattr__(name: str) -> Any:
    if name == "DispatchKey":
        from shim_torch._impl.core_names.dispatch import DispatchKey

        return DispatchKey
    if name == "HigherOrderOperator":
        from shim_torch._impl.library.higher_order import HigherOrderOperator

        return HigherOrderOperator
    if name in ("AliasInfo", "Argument", "FunctionSchema", "parse_schema"):
        from shim_torch._impl.table import schema

        return getattr(schema, name)
    from shim_torch._impl.surface.missing import missing

    return missing("torch._ops", name)


naming.present(globals())
