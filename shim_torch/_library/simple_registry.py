"""What was registered for an operator beside its kernels: ``torch._library.simple_registry.singleton.find(name)``."""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from shim_torch import _ops
from shim_torch._impl.extensions import refused as _refused
from shim_torch._impl.library import registrations as _registrations
from shim_torch._impl.library.schema_types import check_type_names
from shim_torch._impl.native import _core
from shim_torch._impl.surface import naming
from shim_torch._library.custom_ops import CustomOpDef
from shim_torch._library.custom_ops import qualified_name as _qualified_name


@dataclass
class Kernel:
    """A function that answers for fake tensors, and ``file:line`` where it is defined."""

    func: Callable[..., Any]
    source: str


class FakeImplHolder:
    """The function that ``register_fake`` gave the operator, if any."""

    def __init__(self, qualname: str) -> None:
        self.qualname = qualname

    @property
    def kernel(self) -> Kernel | None:
        """None where the operator has none."""
        name, _, overload = self.qualname.partition(".")
        if overload == "default":
            overload = ""
        function = _core.kernels_of(name, overload).get("Meta") if overload in _core.operator_overloads(name) else None
        if function is None:
            return None
        owner = getattr(function, "__self__", None)
        if isinstance(owner, CustomOpDef) and owner._abstract_fn is not None:
            function = owner._abstract_fn
        code = inspect.unwrap(function).__code__
        return Kernel(function, f"{code.co_filename}:{code.co_firstlineno}")


class SimpleOperatorEntry:
    """The registrations of one operator."""

    def __init__(self, qualname: str) -> None:
        self.qualname, self.fake_impl = qualname, FakeImplHolder(qualname)

    @property
    def abstract_impl(self) -> FakeImplHolder:
        """``fake_impl`` by its older name."""
        return self.fake_impl


class SimpleLibraryRegistry:
    """Finds the registrations of an operator by its qualified name."""

    def find(self, qualname: str) -> SimpleOperatorEntry:
        """The entry of ``ns::name`` or ``ns::name.overload``."""
        return SimpleOperatorEntry(qualname)


singleton = SimpleLibraryRegistry()


_defined_namespaces: weakref.WeakValueDictionary[str, Library] = weakref.WeakValueDictionary()


def fallthrough_kernel() -> None:
    """Stands for "no kernel at this key, go on with the next"."""
    raise NotImplementedError("fallthrough_kernel() should never be called.")


def _split(name: str) -> tuple[str, str]:
    base, _, overload = name.partition(".")
    return base, overload


def _waits(qualified: str) -> bool:
    """Whether an operator is missing because the library that defines it was refused."""
    return _refused.owns(qualified.partition("::")[0]) and not _core.operator_overloads(qualified)


def _kept(qualified: str, register: Callable[..., object], *args: Any, **kwargs: Any) -> bool:
    """Whether a registration has to wait for its operator; then it is done when the operator is defined."""
    if not _waits(qualified):
        return False
    _refused.keep(qualified, lambda: register(*args, **kwargs))
    return True


class Library:
    """Definitions and kernels in one namespace; they are taken back when the library is no longer referred to.

    kind           "DEF" (the one library that defines a namespace), "FRAGMENT" or "IMPL"
    dispatch_key   the key of :meth:`impl` calls that name none
    """

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        if kind not in ("IMPL", "DEF", "FRAGMENT"):
            raise ValueError(f"Unsupported kind: {kind}")
        if ns in ("prim",) and kind in ("DEF", "FRAGMENT"):
            raise ValueError(f"{ns} is a reserved namespace. Please try creating a library with another name.")
        if kind == "DEF" and (ns == "aten" or ns in _defined_namespaces):
            raise RuntimeError(
                f"Only a single TORCH_LIBRARY can be used to register the namespace {ns}; please put all "
                "of your definitions in a "
                "single TORCH_LIBRARY block.  If you were trying to specify implementations, consider "
                "using TORCH_LIBRARY_IMPL "
                "(which can be duplicated).  If you really intended to define operators for a single "
                "namespace in a distributed "
                "way, you can use TORCH_LIBRARY_FRAGMENT to explicitly indicate this."
            )
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key
        self._defs: list[tuple[str, str]] = []
        self._impls: list[tuple[_registrations.Place, Any]] = []
        self._rules: list[tuple[str, Any]] = []
        self._finalizer = weakref.finalize(self, _take_back, self._impls, self._defs, self._rules)
        self._finalizer.atexit = False
        if kind == "DEF":
            _defined_namespaces[ns] = self

    def __repr__(self) -> str:
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})>"

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = ()) -> str:
        """Defines an operator; its name (with overload) comes back."""
        if alias_analysis not in ("", "FROM_SCHEMA", "CONSERVATIVE"):
            raise RuntimeError(f"Invalid alias_analysis type {alias_analysis}")
        check_type_names(schema)
        qualified, overload = _core.define_schema(self.ns, schema)
        self._defs.append((qualified, overload))
        _registrations.defined.add((qualified, overload))
        _ops.forget(qualified)
        name = qualified.partition("::")[2]
        if tags:
            found = getattr(getattr(_ops.ops, self.ns), name)
            getattr(found, overload or "default").tags = list(tags) if isinstance(tags, (list, tuple)) else [tags]
        _refused.defined(qualified)
        return f"{name}.{overload}" if overload else str(name)

    def impl(
        self,
        op_name: Any,
        fn: Callable[..., Any],
        dispatch_key: str = "",
        *,
        with_keyset: bool = False,
        allow_override: bool = True,
    ) -> None:
        """Registers ``fn`` as the operator's kernel for a dispatch key ("CPU", "CUDA", "Meta", "Autograd", ...).

        with_keyset      ``fn`` gets the key's DispatchKeySet before the arguments
        allow_override   False: RuntimeError where a kernel was registered from Python before
        """
        if not callable(fn):
            raise TypeError(f"Input function is required to be a callable but found type {type(fn)}")
        if not isinstance(op_name, (str, _ops.OpOverload)):
            raise RuntimeError(
                f"impl should be passed either a name or an OpOverload object as the first argument, got {type(op_name)}"
            )
        name = op_name if isinstance(op_name, str) else _qualified_name(op_name)
        key = self._checked_key(name, dispatch_key)
        base, overload = _split(name.rpartition("::")[2])
        qualified = f"{self.ns}::{base}"
        if _kept(qualified, _impl_later, weakref.ref(self), op_name, fn, dispatch_key, with_keyset, allow_override):
            return
        if key == "Meta" and "CompositeImplicitAutograd" in _core.kernels_of(qualified, overload):
            raise RuntimeError(
                f"We should not register a meta kernel directly to the operator '{qualified}', because it has a CompositeImplicitAutograd "
                "kernel in core. Instead we should let the operator decompose, and ensure that we have meta kernels for the base ops "
                "that it decomposes into."
            )
        if not allow_override and key in _core.kernels_of(qualified, overload):
            raise RuntimeError(
                f"This is not allowed since there's already a kernel registered from python overriding {name.rpartition('::')[2]}'s "
                f"behavior for {key} dispatch key and {self.ns} namespace."
            )
        if fn is fallthrough_kernel:
            return
        if with_keyset:
            fn = _given_keys(fn, key)
        place = (qualified, overload, key)
        old = _core.implement(*place, fn)
        _registrations.kernels.setdefault(place, [old]).append(fn)
        self._impls.append((place, fn))

    def _register_fake(
        self, op_name: str, fn: Callable[..., Any], _stacklevel: int = 1, *, allow_override: bool = True
    ) -> None:
        self.impl(op_name, fn, "Meta", allow_override=allow_override)

    def _register_torch_dispatch_rule(self, op_name: str, torch_dispatch_class: Any, fn: Callable[..., Any]) -> None:
        """What a class with ``__torch_dispatch__`` does for one operator, as long as the library lives.

        ``fn(owner, op, types, args, kwargs)``: ``owner`` is the mode, or the class of the tensor.
        """
        qualified = op_name if "::" in op_name else f"{self.ns}::{op_name}"

        def rule(owner: Any, operator: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return fn(owner, operator, types, args, kwargs or {})

        _core._torch_dispatch_rules().setdefault(qualified, {})[torch_dispatch_class] = rule
        self._rules.append((qualified, torch_dispatch_class))

    def fallback(self, fn: Callable[..., Any], dispatch_key: str = "", *, with_keyset: bool = False) -> None:
        """Kernels for all operators at once."""
        raise NotImplementedError(
            "torch.library.Library.fallback: kernels for every operator at once are not supported by shim-torch"
        )

    def _block(self) -> str:
        return "TORCH_LIBRARY_IMPL" if self.kind == "IMPL" else "TORCH_LIBRARY"

    def _checked_key(self, name: str, dispatch_key: str) -> str:
        """The key of an ``impl``; RuntimeError for one that is not the library's, or an operator of another namespace."""
        ns, separator, _ = name.partition("::")
        block, where = self._block(), f'impl("{name}", ...): Explicitly provided'
        if separator and ns != self.ns:
            raise RuntimeError(
                f"{where} namespace ({ns}) in operator name does not match namespace of enclosing {block} block ({self.ns}).  "
                f"Move this definition to the {block} block corresponding to this namespace (and consider deleting the "
                "namespace from your schema string.)"
            )
        key = str(dispatch_key).rpartition(".")[2]
        if key and self.dispatch_key and key != str(self.dispatch_key).rpartition(".")[2]:
            raise RuntimeError(
                f"{where} dispatch key ({key}) is inconsistent with the dispatch key of the enclosing {block} block "
                f"({self.dispatch_key}).  Please declare a separate {block} block for this dispatch key and move your impl() "
                "there."
            )
        found = str(key or self.dispatch_key or "CompositeImplicitAutograd").rpartition(".")[2]
        from shim_torch._impl.core_names.dispatch import KNOWN_KEYS

        if found not in KNOWN_KEYS:
            raise RuntimeError(f"could not parse dispatch key: {found}")
        return found

    def _destroy(self) -> None:
        self._finalizer()
        if _defined_namespaces.get(self.ns) is self:
            del _defined_namespaces[self.ns]


def _impl_later(
    library: weakref.ref[Library], name: Any, fn: Callable[..., Any], key: str, with_keyset: bool, allow_override: bool
) -> None:
    found = library()
    if found is not None and found._finalizer.alive:
        found.impl(name, fn, key, with_keyset=with_keyset, allow_override=allow_override)


def _given_keys(function: Callable[..., Any], key: str) -> Callable[..., Any]:
    def kernel(*args: Any, **kwargs: Any) -> Any:
        from shim_torch._impl.core_names.dispatch import DispatchKeySet

        return function(DispatchKeySet(key), *args, **kwargs)

    return kernel


def _take_back(
    impls: list[tuple[_registrations.Place, Any]], defs: list[tuple[str, str]], rules: list[tuple[str, Any]]
) -> None:
    for qualified, owner in rules:
        _core._torch_dispatch_rules()[qualified].pop(owner, None)
    for place, fn in reversed(impls):
        _registrations.withdraw(place, fn)
    for qualified, overload in defs:
        _registrations.defined.discard((qualified, overload))
        _core.undefine_schema(qualified, overload)
        _ops.forget(qualified)
    impls.clear()
    defs.clear()
    rules.clear()


_living: list[Library] = []  # libraries of the module-level functions live as long as the process


def _library(ns: str, lib: Library | None) -> Library:
    if lib is None:
        lib = Library(ns, "FRAGMENT")
        _living.append(lib)
    return lib


naming.present(globals(), elsewhere={"torch.library": ["Library", "fallthrough_kernel"]})
