"""``torch._custom_op.impl``: the first form of custom operators, deprecated in PyTorch, over ``torch.library``.

An operator is functional (it writes to no argument, returns no view); its kernels, its fake kernel and the two halves of its
gradient are registered one by one.
"""

from __future__ import annotations

import dataclasses
import functools
import re
import sys
import warnings
import weakref
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from shim_torch import _ops, library
from shim_torch._impl.library.custom_op_checks import (  # noqa: F401
    RESERVED_NS,
    SUPPORTED_DEVICE_TYPE_TO_KEY,
    check_no_abstract,
    check_no_formula,
    checked_name,
    no_factory,
    parse_qualname,
    validate_device_type,
    validate_function_matches_schema,
    validate_namespace,
)
from shim_torch._impl.native import _core
from shim_torch._library.infer_schema import infer_schema as infer_schema
from shim_torch._library.utils import is_functional_schema, parse_schema
from shim_torch.library import get_ctx as get_ctx

from .autograd import autograd_kernel

_RETURNED = {name: name for name in ("int", "SymInt", "bool", "float", "Tensor", "List[Tensor]")}

global_registry: dict[str, CustomOp] = {}


@dataclasses.dataclass
class FuncAndLocation:
    """A function that was registered, and where."""

    func: Callable[..., Any]
    location: str


def warn_deprecated() -> None:
    """Warns (DeprecationWarning) that ``torch._custom_op`` gave way to ``torch.library``."""
    warnings.warn(
        "torch._custom_op is deprecated and will be removed in PyTorch 2.6, please use the equivalent torch.library API instead.",
        DeprecationWarning,
        stacklevel=3,
    )


def validate_schema(schema: Any) -> None:
    """ValueError for a schema that is not functional, and for an argument named ``self``."""
    if not is_functional_schema(schema):
        raise ValueError(
            "custom_op only supports functional operators (ops that do not mutate any inputs, do not return views of the inputs, "
            f"and has at least one return). Got the following non-functional schema: {schema}"
        )
    if any(a.name == "self" for a in schema.arguments):
        raise ValueError(
            f"custom_op does not support arguments named 'self'. Please rename your argument. Got: {schema}"
        )


class CustomOp:
    """A custom operator of the first form; ``custom_op`` makes them."""

    __name__: str | None

    def __init__(
        self, lib: Any, cpp_ns: str, schema: Any, operator_name: str, ophandle: Any, *, _private_access: bool = False
    ) -> None:
        warn_deprecated()
        if not _private_access:
            raise RuntimeError(
                "The CustomOp constructor is private and we do not guarantee BC for it. "
                "Please use custom_op(...) to create a CustomOp object"
            )
        self._schema, self._cpp_ns, self._lib, self._ophandle = schema, cpp_ns, lib, ophandle
        self._opname, self._qualname = operator_name, f"{cpp_ns}::{operator_name}"
        self.__name__ = None
        self._impls: dict[str, FuncAndLocation | None] = {}
        self._output_differentiability: list[bool] | None = None
        self._indirect = False
        global_registry[self._qualname] = self

    def __repr__(self) -> str:
        return f'<CustomOp(op="{self._qualname}")>'

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._ophandle(*args, **kwargs)

    def _destroy(self) -> None:
        """Forgets the operator: for tests."""
        self._lib._destroy()
        del self._lib
        ns = getattr(_ops.ops, self._cpp_ns)
        if self._opname in vars(ns):
            delattr(ns, self._opname)
        del global_registry[self._qualname]

    def _has_impl(self, kind: str) -> bool:
        return kind in self._impls

    def _get_impl(self, kind: str) -> Any:
        return self._impls[kind]

    def _register_impl(self, kind: str, func: Callable[..., Any], stacklevel: int = 2) -> None:
        if kind in self._impls:
            raise RuntimeError(
                f"Attempting to register a {kind} impl for operator {self._qualname} that already has a {kind} impl registered "
                f"from Python at {self._get_impl(kind).location}. This is not supported."
            )
        frame = sys._getframe(stacklevel)
        self._impls[kind] = FuncAndLocation(func, f"{frame.f_code.co_filename}:{frame.f_lineno}")

    def _kernels(self) -> Any:
        return _core.kernels_of(self._qualname, "")

    def _wants_formula(self) -> None:
        """The Autograd kernel, from now on: what ``impl_save_for_backward`` and ``impl_backward`` say, or an error."""
        if not self._indirect:
            self._lib.impl(self._opname, autograd_kernel(weakref.proxy(self)), "Autograd")
            self._indirect = True

    def impl(self, device_types: str | Iterable[str], _stacklevel: int = 2) -> Callable[..., Any]:
        """A decorator: the kernel for device types (cpu, cuda)."""
        kinds = [device_types] if isinstance(device_types, str) else list(device_types)
        for kind in kinds:
            validate_device_type(kind)

        def inner(f: Callable[..., Any]) -> Callable[..., Any]:
            for kind in dict.fromkeys(kinds):
                key = SUPPORTED_DEVICE_TYPE_TO_KEY[kind]
                known = self._kernels()
                if kind not in self._impls and any(
                    k in known for k in (key, "CompositeExplicitAutograd", "CompositeImplicitAutograd")
                ):
                    raise RuntimeError(
                        f"impl(..., device_types={kind}): the operator {self._qualname} already has an implementation for this "
                        "device type via a pre-existing torch.library or TORCH_LIBRARY registration."
                    )
                self._register_impl(kind, f, stacklevel=_stacklevel)
                self._lib.impl(self._opname, f, key)
            return f

        return inner

    def impl_factory(self) -> Callable[..., Any]:
        """A decorator: the kernel of an operator without tensor arguments."""

        def inner(f: Callable[..., Any]) -> Callable[..., Any]:
            self._register_impl("factory", f)
            self._lib.impl(self._opname, f, "BackendSelect")
            return f

        return inner

    def impl_abstract(self, _stacklevel: int = 2) -> Callable[..., Any]:
        """A decorator: the fake kernel, for tensors without values."""

        def inner(f: Callable[..., Any]) -> Callable[..., Any]:
            if not self._has_impl("abstract"):
                check_no_abstract(self._kernels(), self._qualname)
            self._register_impl("abstract", f, stacklevel=_stacklevel)
            self._lib._register_fake(self._opname, f)
            return f

        return inner

    def _check_differentiable(self) -> None:
        def error(detail: str) -> NoReturn:
            raise RuntimeError(
                f"Cannot use torch._custom_ops APIs to register backward formula for {detail}. Got operator {self._qualname} "
                f"with schema: {self._schema}"
            )

        returns = self._schema.returns
        if any(r.alias_info is not None and not r.alias_info.is_write for r in returns):
            error("operator that returns views")
        if self._schema.is_mutable:
            error("non-functional operator")
        if not returns:
            error("operator with no returns")
        for r in returns:
            if str(r.type) not in _RETURNED:
                error(f"operator with return not in {list(_RETURNED.values())} (got {r.type})")
        if self._indirect:
            return
        check_no_formula(self._kernels(), self._qualname)

    def impl_save_for_backward(self, _stacklevel: int = 2) -> Callable[..., Any]:
        """A decorator: what backward needs, ``f(inputs, output)``; ``inputs`` has the arguments by their names."""
        return self._takes_half("save_for_backward", _stacklevel)

    def impl_backward(
        self, output_differentiability: list[bool] | None = None, _stacklevel: int = 2
    ) -> Callable[..., Any]:
        """A decorator: the gradients ``f(ctx, saved, *grads)``, a dict by names of the arguments that may be tensors."""
        flags = output_differentiability
        wanted = [bool] * len(self._schema.returns)
        if flags is not None and not (isinstance(flags, list) and [*map(type, flags)] == wanted):
            raise RuntimeError(
                "impl_backward(output_differentiability): expected output_differentiability to be a list of bools with length "
                f"equal to the number of outputs of this CustomOp got: {flags}"
            )
        return self._takes_half("backward", _stacklevel, _output_differentiability=flags)

    def _takes_half(self, kind: str, stacklevel: int, **settings: Any) -> Callable[..., Any]:
        """A decorator that registers a half of the gradient formula and sets the attributes that go with it."""

        def inner(f: Callable[..., Any]) -> None:
            self._check_differentiable()
            self._wants_formula()
            self._register_impl(kind, f, stacklevel=stacklevel)
            vars(self).update(settings)

        return inner


def _custom_op_with_schema(qualname: str, schema: str) -> CustomOp:
    ns, name = parse_qualname(qualname)
    if re.fullmatch(r"\(.*\) -> .*", schema, re.DOTALL) is None:
        raise AssertionError(f"Invalid function schema: {name}{schema}")
    parsed = parse_schema(name + schema)
    validate_schema(parsed)
    lib = library.Library(ns, "FRAGMENT")
    lib.define(name + schema)
    made = CustomOp(lib, ns, parsed, name, getattr(getattr(_ops.ops, ns), name).default, _private_access=True)
    made._wants_formula()
    if not any("Tensor" in str(a.type) for a in parsed.arguments):
        lib.impl(name, no_factory(repr(made)), "BackendSelect")
    return made


def custom_op(qualname: str, manual_schema: str | None = None) -> Callable[..., CustomOp]:
    """A decorator: declares the operator "ns::name", by the function's annotations or a schema; the body is not used."""
    warn_deprecated()
    return functools.partial(_named_as, qualname, manual_schema)


def _named_as(qualname: str, manual_schema: str | None, func: Any) -> CustomOp:
    """The operator of a function, of which it takes the name, module and docstring over."""
    _, name = checked_name(qualname, func)
    signature = infer_schema(func, mutates_args=()) if manual_schema is None else manual_schema
    validate_schema(schema := parse_schema(name + signature))
    if signature is manual_schema:
        validate_function_matches_schema(schema, func)
    operator = _custom_op_with_schema(qualname, signature)
    for taken in ("__name__", "__module__", "__doc__"):
        setattr(operator, taken, getattr(func, taken))
    return operator


def get_op(qualname: str) -> Any:
    """The operator's default overload; ValueError where there is none."""
    ns, name = parse_qualname(qualname)
    packet = getattr(getattr(_ops.ops, ns), name, None)
    if packet is None or not hasattr(packet, "default"):
        raise ValueError(
            f"Could not find the operator {qualname}. Please make sure you have already registered the operator and "
            "(if registered from C++) loaded it via torch.ops.load_library."
        )
    return packet.default


def custom_op_from_existing(op: Any) -> CustomOp:
    """The first form of an operator that was defined another way."""
    ns, name = op.name().split("::")
    return CustomOp(library.Library(ns, "FRAGMENT"), ns, op._schema, name, op, _private_access=True)


def _find_custom_op(qualname: str, also_check_torch_library: bool = False) -> CustomOp:
    if qualname in global_registry:
        return global_registry[qualname]
    if not also_check_torch_library:
        raise RuntimeError(f'Could not find custom op "{qualname}". Did you register it via the torch._custom_ops API?')
    return custom_op_from_existing(get_op(qualname))


def get_abstract_impl(qualname: str) -> Callable[..., Any] | None:
    """The fake kernel of an operator of this form, if it has one."""
    found = global_registry.get(qualname)
    return found._get_impl("abstract").func if found is not None and found._has_impl("abstract") else None
