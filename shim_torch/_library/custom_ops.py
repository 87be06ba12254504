"""Custom operators: Python functions with a schema, kernels by device, a fake kernel and a gradient."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from functools import partial, update_wrapper
from typing import Any

from shim_torch._impl.library.chosen_kernels import checked
from shim_torch._impl.native import _core
from shim_torch._impl.surface import naming
from shim_torch._impl.table.schema import parse_schema as _parse_schema
from shim_torch._impl.table.tags import Tag

from .. import _ops
from .infer_schema import infer_schema
from .utils import has_kwarg_only_tensors

_log = logging.getLogger("torch._library.custom_ops")

# Libraries register kernels for devices that are not here too; those are never called.
_KEYS = {kind: kind.upper() for kind in "cpu cuda mps xpu hpu xla mtia ipu".split()}
_KEYS |= {"meta": "Meta", "privateuseone": "PrivateUse1"}


def dispatch_key(device_type: str) -> str:
    """``"cuda"`` -> ``"CUDA"``; ValueError for what is no device type here."""
    key = _KEYS.get(device_type)
    if key is None:
        _core.device(device_type)  # its error for what is none
        raise ValueError(f"Unknown device_type {device_type!r}: expected one of {sorted(_KEYS)}")
    return key


def as_types(device_types: str | Sequence[str] | None) -> tuple[str | None, ...]:
    """One device type, several, or None for all, as a tuple."""
    if device_types is None or isinstance(device_types, str):
        return (device_types,)
    return tuple(device_types)


class CustomOpDef:
    """A custom operator, as :func:`custom_op` gives it: callable, and open to further registrations."""

    def __init__(
        self, namespace: str, name: str, schema: str, fn: Callable[..., Any], tags: Sequence[Any] | None = None
    ) -> None:
        from .simple_registry import Library

        self._namespace, self._name, self._schema, self._init_fn = namespace, name, schema, fn
        self._abstract_fn: Callable[..., Any] | None = None
        self._backward_fn: Callable[..., Any] | None = None
        self._setup_context_fn: Callable[..., Any] | None = None
        self._backend_fns: dict[str | None, Callable[..., Any]] = {}
        self._disabled: set[str] = set()
        update_wrapper(self, fn, updated=())
        if has_kwarg_only_tensors(_parse_schema(name + schema)):
            raise NotImplementedError(
                f"custom_op with kwarg-only Tensor args. Please make your tensors not kwarg-only. Got: {name}{schema}"
            )
        before = OPDEFS.pop(self._qualname, None)
        if before is not None:
            before._lib._destroy()
        self._lib: Library = Library(namespace, "FRAGMENT")
        self._lib.define(f"{name}{schema}", tags=(Tag.pt2_compliant_tag, *(tags or ())))
        base, _, overload = name.partition(".")
        self._opoverload = getattr(getattr(getattr(_ops.ops, namespace), base), overload or "default")
        self._lib.impl(name, self._fake, "Meta")
        self._lib.impl(name, _autograd_kernel(self), "Autograd")
        OPDEFS[self._qualname] = self

    @property
    def _qualname(self) -> str:
        return f"{self._namespace}::{self._name}"

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._opoverload(*args, **kwargs)

    def register_kernel(self, device_types: str | Sequence[str] | None, fn: Callable[..., Any] | None = None, /) -> Any:
        """Registers the implementation for device types (None: for all that have no other)."""

        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            if as_types(device_types) != (None,) and not _has_device_argument(self._opoverload._schema):
                raise ValueError(
                    "Functions without tensor inputs are required to have a `device: torch.device` argument"
                )
            for device_type in as_types(device_types):
                key = "CompositeExplicitAutograd" if device_type is None else dispatch_key(device_type)
                self._backend_fns[device_type] = function
                self._lib.impl(self._name, checked(self, device_type), key, allow_override=True)
            return function

        return register if fn is None else register(fn)

    def register_fake(self, fn: Callable[..., Any], /) -> Callable[..., Any]:
        """Registers the function that answers for meta tensors."""
        self._abstract_fn = fn
        return fn

    def register_autograd(
        self, backward: Callable[..., Any], /, *, setup_context: Callable[..., Any] | None = None
    ) -> None:
        """Registers the gradient: ``backward(ctx, *grads)`` and ``setup_context(ctx, inputs, output)``."""
        if self._opoverload._schema.is_mutable:
            raise RuntimeError(
                f"Cannot register autograd formula for non-functional operator {self!r} with schema "
                f"{self._opoverload._schema}. "
                "Please create a functional operator and register an autograd formula for that."
            )
        self._backward_fn, self._setup_context_fn = backward, setup_context

    def register_vmap(self, func: Callable[..., Any] | None = None) -> Any:
        """Registers the rule for ``torch.vmap``: ``func(info, in_dims, *args, **kwargs)`` -> (output, out_dims)."""
        from ..library import register_vmap

        return register_vmap(self, func) if func is not None else register_vmap(self)

    def register_torch_dispatch(
        self, torch_dispatch_class: Any, fn: Callable[..., Any] | None = None, /
    ) -> Callable[..., Any]:
        """Registers what a class with ``__torch_dispatch__`` does for this operator."""
        from ..library import register_torch_dispatch

        found: Callable[..., Any] = register_torch_dispatch(self, torch_dispatch_class, fn)
        return found

    def register_autocast(self, device_type: str, cast_inputs: Any) -> Callable[..., Any]:
        """Within autocast for a device type, floating tensors of that device are cast to ``cast_inputs``."""
        key = _autocast_key(device_type)
        kernel = autocast_kernel(self._opoverload, device_type, cast_inputs)
        self._lib.impl(self._name, kernel, key, allow_override=True)
        return kernel

    def set_kernel_enabled(self, device_type: str, enabled: bool = True) -> _KernelSwitch:
        """Turns the kernel of a device type off or on; as a context manager, for its duration."""
        was = device_type not in self._disabled
        if device_type not in self._backend_fns:
            _log.warning(
                "Attempted to disable kernel for %s but no kernel was registered for this device type.", device_type
            )
        elif was == enabled:
            state = "enabled" if enabled else "disabled"
            _log.warning("Attempted to %s kernel for %s but it was already %s.", state[:-1], device_type, state)
        (self._disabled.discard if enabled else self._disabled.add)(device_type)
        return _KernelSwitch(self, device_type, was)

    def _fake(self, *args: Any, **kwargs: Any) -> Any:
        if self._abstract_fn is None:
            if not self._opoverload._schema.returns:
                return None  # writes its arguments; meta tensors have nothing to write
            raise RuntimeError(
                f"There was no fake impl registered for {self}. This is necessary for "
                "torch.compile/export/fx tracing to work. "
                f"Please use `{self._init_fn.__name__}.register_fake` to add an fake impl."
            )
        return self._abstract_fn(*args, **kwargs)


class _KernelSwitch:
    def __init__(self, owner: CustomOpDef, device_type: str, was: bool) -> None:
        self.owner, self.device_type, self.was = owner, device_type, was

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        (self.owner._disabled.discard if self.was else self.owner._disabled.add)(self.device_type)


OPDEFS: dict[str, CustomOpDef] = {}


def _autocast_key(device_type: Any) -> str:
    """The dispatch key of autocast for a device type. Errors: ValueError for a type without one, RuntimeError for no type."""
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    device = _core.device(device_type)  # with an error of its own for what names no device
    if device.index is not None:
        raise RuntimeError(f"Expected device_type string to not have a device index; got {device_type}")
    if device.type not in ("cpu", "cuda"):
        raise ValueError(f"Unknown device type: {device_type}")
    return "Autocast" + device.type.upper()


def autocast_kernel(op: Any, device_type: str, dtype: Any) -> Callable[..., Any]:
    """The kernel under autocast: the operator without autocast, on tensors that were cast."""

    def kernel(*args: Any, **kwargs: Any) -> Any:
        from ..amp.autocast_mode import _cast, autocast

        with autocast(device_type, enabled=False):
            return op(*_cast(args, device_type, dtype), **_cast(kwargs, device_type, dtype))

    return kernel


def below_autograd(function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Calls an operator past its Autograd kernel."""
    old = _core._set_below_autograd(True)
    try:
        return function(*args, **kwargs)
    finally:
        _core._set_below_autograd(old)


def _autograd_kernel(definition: CustomOpDef) -> Callable[..., Any]:
    from .autograd import make_autograd_kernel

    return make_autograd_kernel(definition)


def custom_op(
    name: str,
    fn: Callable[..., Any] | None = None,
    /,
    *,
    mutates_args: str | Iterable[str],
    device_types: str | Sequence[str] | None = None,
    schema: str | None = None,
    tags: Sequence[Any] | None = None,
) -> Any:
    """Makes a Python function an operator ``namespace::name`` or ``namespace::name.overload``; its schema follows from the annotations.

    mutates_args   names of the tensor arguments it writes to, or ``"unknown"``
    device_types   the devices ``fn`` is for; None: all
    Errors         ValueError for a name without namespace or an unsupported annotation
    """
    define = partial(_defined, name, schema, mutates_args, device_types, tags)
    return define if fn is None else define(fn)


def _defined(
    name: str, schema: str | None, mutates_args: Any, device_types: Any, tags: Any, function: Callable[..., Any]
) -> CustomOpDef:
    signature = (
        infer_schema(function, mutates_args=mutates_args) if schema is None else _consistent(schema, mutates_args)
    )
    match name.split("::", 1):
        case [namespace, own]:
            made = CustomOpDef(namespace, own, signature, function, tags)
        case _:
            raise ValueError(f"Expected a name of the form 'namespace::operator', got {name!r}")
    made.register_kernel(device_types)(function)
    return made


def _consistent(schema: str, mutates_args: str | Iterable[str]) -> str:
    """The schema itself; ValueError where it says that other arguments are written than ``mutates_args`` does."""
    text = f"custom{schema}" if schema.lstrip().startswith("(") else schema
    written = {a.name for a in _parse_schema(text).arguments if a.is_write}
    if mutates_args != "unknown" and written != set(mutates_args):
        raise ValueError(
            f"Attempted to create a custom op with `mutates_args={mutates_args}` and `schema={schema}. The schema suggests that the op "
            f"mutates {written}which is different from what was provided to us in `mutates_args`. Please make these consistent."
        )
    return schema


def _has_device_argument(schema: Any) -> bool:
    tensors = any("Tensor" in str(a.type) for a in schema.arguments)
    return tensors or any(a.name == "device" and str(a.type).endswith("Device") for a in schema.arguments)


def lookup(op: Any) -> CustomOpDef | None:
    """The definition of a custom operator given as itself, its name or its overload."""
    if isinstance(op, CustomOpDef):
        return op
    return OPDEFS.get(op if isinstance(op, str) else qualified_name(op))


def qualified_name(op: Any) -> str:
    """``ns::name`` (with ``.overload`` if it has one) of a name, overload, packet or custom operator."""
    if isinstance(op, str):
        return op
    if isinstance(op, CustomOpDef):
        return op._qualname
    if isinstance(op, _ops.OpOverload):
        return op._name
    raise ValueError(f"Expected an operator or its name, got {type(op)}")


naming.present(globals(), "torch.library", elsewhere={"torch._library.custom_ops": ["CustomOpDef"]})
