"""``torch.library``: operators defined, implemented and extended from Python."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from shim_torch._impl.library import registrations as _registrations
from shim_torch._impl.library.kernel import get_kernel
from shim_torch._impl.native import _core
from shim_torch._library.simple_registry import Library, _kept, _library, _split, _waits, fallthrough_kernel

from . import _ops
from ._library import custom_ops as _custom_ops
from ._library.custom_ops import CustomOpDef, custom_op, dispatch_key
from ._library.fake_impl import get_ctx
from ._library.infer_schema import infer_schema
from ._library.triton import triton_op, wrap_triton
from ._library.utils import parse_namespace as _parse_namespace

__all__ = [
    "CustomOpDef", "Library", "custom_op", "define", "fallthrough_kernel", "get_ctx", "get_kernel", "impl",
    "impl_abstract", "infer_schema", "opcheck", "register_autocast", "register_autograd", "register_fake",
    "register_kernel", "register_torch_dispatch", "register_vmap", "triton_op", "wrap_triton",
]  # fmt: skip


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
    definition = _custom_ops.lookup(op)
    if definition is not None:
        return definition.register_kernel(device_types, func) if func else definition.register_kernel(device_types)
    kinds = ["default" if t is None else t for t in _custom_ops.as_types(device_types)]
    return impl(_custom_ops.qualified_name(op), kinds, func, lib=lib)


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
    definition = _custom_ops.lookup(op)

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        if definition is not None:
            return definition.register_fake(function)
        ns, _, name = _custom_ops.qualified_name(op).partition("::")
        qualified = f"{ns}::{_split(name)[0]}"
        if not _waits(qualified) and not _core.operator_overloads(qualified):
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
    definition = _custom_ops.lookup(op)
    if definition is not None:
        definition.register_autograd(backward, setup_context=setup_context)
        return
    from ._library.autograd import Formula, make_autograd_kernel

    ns, _, name = _custom_ops.qualified_name(op).partition("::")
    base, overload = _split(name)
    if _kept(f"{ns}::{base}", register_autograd, op, backward, setup_context=setup_context, lib=lib):
        return
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
    formula = Formula(ns, base, overload_object, backward, setup_context)
    _library(ns, lib).impl(name, make_autograd_kernel(formula), "Autograd")


def register_autocast(op: Any, device_type: str, cast_inputs: Any, /, *, lib: Library | None = None) -> Any:
    """Within autocast for a device type, the operator's floating tensors of that device are cast to ``cast_inputs``."""
    if not isinstance(op, (str, _ops.OpOverload, CustomOpDef)):
        raise ValueError(f"register_autocast({op}): got unexpected type for op: {type(op)}")
    if device_type not in ("cpu", "cuda", "xpu"):
        raise ValueError(f"Unknown device type: {device_type}")
    definition = _custom_ops.lookup(op)
    if definition is not None:
        return definition.register_autocast(device_type, cast_inputs)
    ns, _, name = _custom_ops.qualified_name(op).partition("::")
    base, overload = _split(name)
    if _kept(f"{ns}::{base}", register_autocast, op, device_type, cast_inputs, lib=lib):
        return None
    overload_object = getattr(getattr(getattr(_ops.ops, ns), base), overload or "default")
    kernel = _custom_ops.autocast_kernel(overload_object, device_type, cast_inputs)
    return _library(ns, lib).impl(name, kernel, f"Autocast{device_type.upper()}")


def register_vmap(op: Any, func: Callable[..., Any] | None = None, /, *, lib: Library | None = None) -> Any:
    """The rule of an operator for ``torch.vmap``: ``func(info, in_dims, *args, **kwargs)`` -> (output, out_dims).

    ``info`` has ``batch_size`` and ``randomness``; ``in_dims`` says where each argument's batch is, None for none.
    """
    if not isinstance(op, (str, _ops.OpOverload, CustomOpDef)):
        raise ValueError(f"register_vmap({op}): got unexpected type for op: {type(op)}")

    schema = _known_schema(_custom_ops.qualified_name(op))
    if schema is not None and any(a.kwarg_only and "Tensor" in str(a.type) for a in schema.arguments):
        raise NotImplementedError(
            "register_vmap with kwarg-only Tensor args. In the original definition of the op, please make your tensors not "
            f"kwarg-only. Got: {schema}"
        )

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        _registrations.VMAP_RULES[_custom_ops.qualified_name(op).removesuffix(".default")] = function
        return function

    return register if func is None else register(func)


def _known_schema(qualified: str) -> Any:
    """The schema of an operator by its name; None where no such operator is defined (yet)."""
    ns, _, name = qualified.partition("::")
    base, overload = _split(name)
    if overload not in _core.operator_overloads(f"{ns}::{base}"):
        return None
    return getattr(getattr(getattr(_ops.ops, ns), base), overload or "default")._schema


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
    """What a class with ``__torch_dispatch__`` does for one operator: ``func(mode_or_class, op, types, args, kwargs)``."""
    if func is None:
        return lambda f: register_torch_dispatch(op, torch_dispatch_class, f, lib=lib)
    name = _custom_ops.qualified_name(op)
    _library(name.partition("::")[0], lib)._register_torch_dispatch_rule(name, torch_dispatch_class, func)
    return func


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

    definition = _custom_ops.lookup(op) if isinstance(op, CustomOpDef) else None
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
