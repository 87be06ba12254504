"""``torch.library``: operators defined, implemented and extended from Python."""

from __future__ import annotations

import contextlib
import re
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from shim_torch._impl.library import registrations as _registrations
from shim_torch._impl.library.kernel import get_kernel
from shim_torch._impl.library.schema_types import check_type_names
from shim_torch._impl.native import _core

from . import _ops
from ._library.custom_ops import (
    CustomOpDef,
    custom_op,
    dispatch_key,
)
from ._library.custom_ops import (
    as_types as _as_types,
)
from ._library.custom_ops import (
    autocast_kernel as _autocast_kernel,
)
from ._library.custom_ops import (
    lookup as _lookup,
)
from ._library.custom_ops import (
    qualified_name as _qualified_name,
)
from ._library.infer_schema import infer_schema
from ._library.utils import parse_namespace as _parse_namespace

__all__ = [
    "CustomOpDef",
    "Library",
    "custom_op",
    "define",
    "fallthrough_kernel",
    "get_ctx",
    "get_kernel",
    "impl",
    "impl_abstract",
    "infer_schema",
    "opcheck",
    "register_autocast",
    "register_autograd",
    "register_fake",
    "register_kernel",
    "register_torch_dispatch",
    "register_vmap",
    "triton_op",
    "wrap_triton",
]

_defined_namespaces: weakref.WeakValueDictionary[str, Library] = weakref.WeakValueDictionary()


def fallthrough_kernel() -> None:
    """Stands for "no kernel at this key, go on with the next"."""
    raise NotImplementedError("fallthrough_kernel() should never be called.")


def _split(name: str) -> tuple[str, str]:
    base, _, overload = name.partition(".")
    return base, overload


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
        self._impls: list[tuple[str, str, str, Any]] = []
        self._finalizer = weakref.finalize(self, _take_back, self._impls, self._defs)
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
        old = _core.implement(qualified, overload, key, fn)
        self._impls.append((qualified, overload, key, old))

    def _register_fake(
        self, op_name: str, fn: Callable[..., Any], _stacklevel: int = 1, *, allow_override: bool = True
    ) -> None:
        self.impl(op_name, fn, "Meta", allow_override=allow_override)

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


def _given_keys(function: Callable[..., Any], key: str) -> Callable[..., Any]:
    def kernel(*args: Any, **kwargs: Any) -> Any:
        from shim_torch._impl.core_names.dispatch import DispatchKeySet

        return function(DispatchKeySet(key), *args, **kwargs)

    return kernel


def _take_back(impls: list[tuple[str, str, str, Any]], defs: list[tuple[str, str]]) -> None:
    for qualified, overload, key, old in reversed(impls):
        _core.implement(qualified, overload, key, old)
    for qualified, overload in defs:
        _registrations.defined.discard((qualified, overload))
        _core.undefine_schema(qualified, overload)
        _ops.forget(qualified)
    impls.clear()
    defs.clear()


_kept: list[Library] = []  # libraries of the module-level functions live as long as the process


def _library(ns: str, lib: Library | None) -> Library:
    if lib is None:
        lib = Library(ns, "FRAGMENT")
        _kept.append(lib)
    return lib


def define(
    qualname: str | Library, schema: Any, alias_analysis: str = "", *, lib: Library | None = None, tags: Any = ()
) -> Any:
    """Defines ``ns::name`` with a schema such as ``(Tensor x) -> Tensor``.

    The older form ``define(library, "name(Tensor x) -> Tensor")`` is a decorator: its function is the kernel, and comes back.
    """
    if isinstance(qualname, Library):
        library = qualname

        def in_library(function: Callable[..., Any]) -> Callable[..., Any]:
            library.impl(library.define(schema, alias_analysis), function)
            return function

        return in_library
    if not isinstance(qualname, str):
        raise ValueError(f"define(qualname, schema): expected qualname to be instance of str, got {type(qualname)}")
    ns, name = _parse_namespace(qualname)
    if isinstance(schema, str) and not re.fullmatch(r"\s*\(.*\)\s*->\s*.*", schema, re.DOTALL):
        raise ValueError(
            'define(qualname, schema, ...): expected schema to look like e.g. "(Tensor x) -> Tensor" but '
            f'got "{schema}"'
        )
    _library(ns, lib).define(name + schema, alias_analysis="", tags=tags)
    return None


def impl(
    qualname: str | Library,
    types: str | Sequence[str],
    func: Callable[..., Any] | str | None = None,
    *,
    lib: Library | None = None,
) -> Any:
    """Registers an implementation for device types ("cpu", "cuda", "default") or dispatch keys.

    The older form ``impl(library, name, dispatch_key="")`` is a decorator that gives the function back.
    """
    if isinstance(qualname, Library):
        library, name, key = qualname, str(types), func if isinstance(func, str) else ""

        def in_library(function: Callable[..., Any]) -> Callable[..., Any]:
            library.impl(name, function, key)
            return function

        return in_library

    for kind in (types,) if isinstance(types, str) else types:
        if not (kind == "default" or kind[:1].isupper()):
            dispatch_key(kind)  # its error, before anything is registered

    def register(function: Callable[..., Any]) -> None:
        ns, _, name = qualname.partition("::")
        library = _library(ns, lib)
        for kind in (types,) if isinstance(types, str) else types:
            default = kind in ("default", "CompositeExplicitAutograd")
            key = "CompositeExplicitAutograd" if default else kind if kind[:1].isupper() else dispatch_key(kind)
            library.impl(name, function, key)

    return register(func) if callable(func) else register


def register_kernel(
    op: Any,
    device_types: str | Sequence[str] | None,
    func: Callable[..., Any] | None = None,
    /,
    *,
    lib: Library | None = None,
) -> Any:
    """Registers an implementation of an operator for device types (None: all)."""
    definition = _lookup(op)
    if definition is not None:
        return definition.register_kernel(device_types, func) if func else definition.register_kernel(device_types)
    kinds = ["default" if t is None else t for t in _as_types(device_types)]
    return impl(_qualified_name(op), kinds, func, lib=lib)


def register_fake(
    op: Any,
    func: Callable[..., Any] | None = None,
    /,
    *,
    lib: Library | None = None,
    _stacklevel: int = 1,
    allow_override: bool = True,
) -> Any:
    """Registers the function that answers for meta tensors."""
    if not isinstance(op, (str, _ops.OpOverload, CustomOpDef)):
        raise ValueError(f"register_fake({op}): got unexpected type for op: {type(op)}")
    definition = _lookup(op)

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        if definition is not None:
            return definition.register_fake(function)
        ns, _, name = _qualified_name(op).partition("::")
        if not _core.operator_overloads(f"{ns}::{_split(name)[0]}"):
            raise RuntimeError(f"operator {ns}::{name} does not exist")
        _library(ns, lib)._register_fake(name, function, allow_override=allow_override)
        return function

    return register if func is None else register(func)


def impl_abstract(
    qualname: str, func: Callable[..., Any] | None = None, *, lib: Library | None = None, _stacklevel: int = 1
) -> Any:
    """:func:`register_fake` by its older name."""
    return register_fake(qualname, func, lib=lib)


def register_autograd(
    op: Any,
    backward: Callable[..., Any],
    /,
    *,
    setup_context: Callable[..., Any] | None = None,
    lib: Library | None = None,
) -> None:
    """Registers the gradient of an operator: ``backward(ctx, *grads)``, ``setup_context(ctx, inputs, output)``."""
    definition = _lookup(op)
    if definition is not None:
        definition.register_autograd(backward, setup_context=setup_context)
        return
    from ._library.autograd import make_autograd_kernel

    ns, _, name = _qualified_name(op).partition("::")
    base, overload = _split(name)
    overload_object = getattr(getattr(getattr(_ops.ops, ns), base), overload or "default")
    schema = overload_object._schema
    if schema.is_mutable or not schema.returns or any(a.alias_info is not None for a in schema.returns):
        raise RuntimeError(
            f"Cannot register autograd formula for non-functional operator {overload_object} with schema "
            f"{overload_object._schema}. "
            "Please create a functional operator and register an autograd formula for that."
        )
    if any(a.kwarg_only and "Tensor" in str(a.type) for a in schema.arguments):
        raise NotImplementedError(
            "register_autograd with kwarg-only Tensor args. In the original definition of the op, please make your tensors not "
            f"kwarg-only. Got: {schema}"
        )
    formula = _Formula(ns, base, overload_object, backward, setup_context)
    _library(ns, lib).impl(name, make_autograd_kernel(formula), "Autograd")


class _Formula:
    """What the Autograd kernel needs of an operator that was not made by custom_op."""

    def __init__(
        self, ns: str, name: str, op: Any, backward: Callable[..., Any], setup_context: Callable[..., Any] | None
    ) -> None:
        self._namespace, self._name, self._opoverload = ns, name, op
        self._backward_fn, self._setup_context_fn = backward, setup_context


def register_autocast(op: Any, device_type: str, cast_inputs: Any, /, *, lib: Library | None = None) -> Any:
    """Within autocast for a device type, the operator's floating tensors of that device are cast to ``cast_inputs``."""
    if not isinstance(op, (str, _ops.OpOverload, CustomOpDef)):
        raise ValueError(f"register_autocast({op}): got unexpected type for op: {type(op)}")
    if device_type not in ("cpu", "cuda", "xpu"):
        raise ValueError(f"Unknown device type: {device_type}")
    definition = _lookup(op)
    if definition is not None:
        return definition.register_autocast(device_type, cast_inputs)
    ns, _, name = _qualified_name(op).partition("::")
    base, overload = _split(name)
    overload_object = getattr(getattr(getattr(_ops.ops, ns), base), overload or "default")
    kernel = _autocast_kernel(overload_object, device_type, cast_inputs)
    return _library(ns, lib).impl(name, kernel, f"Autocast{device_type.upper()}")


def register_vmap(op: Any, func: Callable[..., Any] | None = None, /, *, lib: Library | None = None) -> Any:
    """The rule of an operator for ``torch.vmap``: ``func(info, in_dims, *args, **kwargs)`` -> (output, out_dims).

    ``info`` has ``batch_size`` and ``randomness``; ``in_dims`` says where each argument's batch is, None for none.
    """
    if not isinstance(op, (str, _ops.OpOverload, CustomOpDef)):
        raise ValueError(f"register_vmap({op}): got unexpected type for op: {type(op)}")

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        _registrations.VMAP_RULES[_qualified_name(op).removesuffix(".default")] = function
        return function

    return register if func is None else register(func)


@contextlib.contextmanager
def _scoped_library(*args: Any, **kwargs: Any) -> Iterator[Library]:
    """A library that is taken back at the end."""
    library = Library(*args, **kwargs)
    try:
        yield library
    finally:
        library._destroy()


def register_torch_dispatch(
    op: Any, torch_dispatch_class: Any, func: Any = None, /, *, lib: Library | None = None
) -> Any:
    """What a class with ``__torch_dispatch__`` does for one operator: ``func(mode_or_class, op, types, args, kwargs)``.

    For a mode the rule is called with the mode, for a tensor class without it.
    """
    if func is None:
        return lambda f: register_torch_dispatch(op, torch_dispatch_class, f, lib=lib)
    name = op if isinstance(op, str) else getattr(op, "_name", None) or op._qualname
    is_mode = not issubclass(torch_dispatch_class, _core.TensorBase)

    def rule(owner: Any, operator: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = (owner, operator) if is_mode else (operator,)
        return func(*given, types, args, kwargs or {})

    _core._torch_dispatch_rules().setdefault(name, {})[torch_dispatch_class] = rule
    return func


_triton_functions: dict[str, Callable[..., Any]] = {}
"""The implementations given to :func:`triton_op`, by qualified name."""


def triton_op(
    name: str, fn: Callable[..., Any] | None = None, /, *, mutates_args: str | Iterable[str], schema: str | None = None
) -> Any:
    """A custom operator whose implementation launches Triton kernels through :func:`wrap_triton`."""

    def wrap(function: Callable[..., Any]) -> CustomOpDef:
        definition: CustomOpDef = custom_op(name, function, mutates_args=mutates_args, schema=schema)
        _triton_functions[name] = function
        return definition

    return wrap if fn is None else wrap(fn)


def wrap_triton(triton_kernel: Any, /) -> Any:
    """The kernel itself: there is no tracing here that would need to see it."""
    return triton_kernel


class FakeImplCtx:
    """The context of fake kernels: sizes that depend on data."""

    def new_dynamic_size(self, *, min: int = 0, max: int | None = None) -> Any:
        """A size known only from data: sizes here are plain numbers, so that fake tensors of such a size cannot be made."""
        from shim_torch._subclasses import fake_tensor

        if fake_tensor._inside.depth:
            raise fake_tensor.DynamicOutputShapeException(fake_tensor._inside.func)
        raise RuntimeError(
            "Attempted to call get_ctx() for the meta implementation of an operator. You have presumably called get_ctx() because the "
            "operator has a data-dependent output shape; if so, there is no such meta implementation and this error is the correct "
            "behavior."
        )

    new_unbacked_symint = create_unbacked_symint = new_dynamic_size


def get_ctx() -> FakeImplCtx:
    """The context of the fake kernel that runs."""
    return FakeImplCtx()


def opcheck(
    op: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    *,
    test_utils: str | Sequence[str] = (
        "test_schema",
        "test_autograd_registration",
        "test_faketensor",
        "test_aot_dispatch_dynamic",
    ),
    raise_exception: bool = True,
    atol: float | None = None,
    rtol: float | None = None,
) -> dict[str, Any]:
    """Checks that an operator keeps to its schema, that its fake kernel agrees with the real one, and where its gradients are.

    Gives ``"SUCCESS"`` or the exception for every check; ``OpCheckError`` at the first that fails, if ``raise_exception``.
    """
    from shim_torch._impl.library.opcheck import CHECKS, error_class

    definition = _lookup(op) if isinstance(op, CustomOpDef) else None
    overload = definition._opoverload if definition is not None else op
    if isinstance(overload, _ops.OpOverloadPacket):
        names = overload.overloads()
        if len(names) != 1:
            raise RuntimeError(
                f"opcheck can only test operators without overloads. Got the following overloads for "
                f"{overload._qualified_op_name}: {names}"
            )
        overload = getattr(overload, names[0])
    if not isinstance(overload, _ops.OpOverload):
        raise ValueError(
            f"opcheck(op, ...): op must be instance of torch._ops.OpOverload, e.g. torch.ops.aten.sin.default, got {type(overload)}"
        )
    wanted = (test_utils,) if isinstance(test_utils, str) else tuple(test_utils)
    if not wanted or not set(wanted) <= set(CHECKS):
        raise ValueError(
            f"opcheck(op, ..., test_utils={wanted}), expected test_utils to be subset of {tuple(CHECKS)} but it was not"
        )
    tolerances = {"atol": atol, "rtol": rtol}
    results: dict[str, Any] = {}
    for name in wanted:
        try:
            CHECKS[name](overload, args, kwargs or {}, **(tolerances if "aot" in name else {}))
            results[name] = "SUCCESS"
        except Exception as error:
            if raise_exception:
                raise error_class()(
                    f"opcheck(op, ...): {name} failed with {error} (scroll up for stack trace)"
                ) from error
            results[name] = error
    return results
