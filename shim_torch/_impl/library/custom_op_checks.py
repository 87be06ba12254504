"""What the first form of custom operators refuses."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NoReturn

from shim_torch._impl.surface import naming

RESERVED_NS = {"prim", "prims", "aten", "at", "torch", "pytorch"}


SUPPORTED_DEVICE_TYPE_TO_KEY = {"cpu": "CPU", "cuda": "CUDA"}


def parse_qualname(qualname: str) -> tuple[str, str]:
    """The namespace and the name; ValueError where either is missing, or an overload is given."""
    ns, separator, name = qualname.partition("::")
    if not separator:
        raise ValueError(
            f"Expected there to be a namespace in {qualname}, i.e. The operator name should look something like ns::foo"
        )
    if "." in name:
        raise ValueError(
            "The torch.custom_ops APIs do not handle overloads, i.e. operator names with '.' in them. "
            f"Please name your operator something like ns::foo. Got: {qualname}"
        )
    return ns, name


def validate_namespace(ns: str) -> None:
    """ValueError for a namespace with a dot in it, and for one that PyTorch reserves."""
    if "." in ns:
        raise ValueError(f'custom_op(..., ns="{ns}"): expected ns to not contain any . (and be a valid variable name)')
    if ns in RESERVED_NS:
        raise ValueError(f"custom_op(..., ns='{ns}'): '{ns}' is a reserved namespace, please choose something else. ")


def validate_device_type(device_type: str) -> None:
    """ValueError for a type of device that kernels cannot be registered for."""
    if device_type not in SUPPORTED_DEVICE_TYPE_TO_KEY:
        raise ValueError(
            f"CustomOp.impl(device_types=[{device_type}, ...]): we only support device_type "
            f"in {SUPPORTED_DEVICE_TYPE_TO_KEY.keys()}."
        )


def validate_function_matches_schema(schema: Any, func: Callable[..., Any]) -> None:
    """ValueError unless a function has the schema's arguments, without annotations and defaults."""
    given = inspect.signature(func)
    begin = "custom_op(..., manual_schema)(func): "
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    parameters = list(given.parameters.values())
    if any(p.kind not in kinds for p in parameters):
        raise ValueError(
            f"{begin}positional-only args, varargs, and kwargs are not supported. Please rewrite `func` to not have them. "
            f"Got `func` with signature: {given}"
        )
    if given.return_annotation is not given.empty or any(p.annotation is not p.empty for p in parameters):
        raise ValueError(
            f"{begin}When passing in a manual schema, we expect `func` to have no type annotations to avoid ambiguity. "
            f"Got `func` with signature: {given}"
        )
    wanted = [(a.name, kinds[bool(a.kwarg_only)]) for a in schema.arguments]
    if wanted != [(p.name, p.kind) for p in parameters]:
        raise ValueError(
            f"{begin}When passing in a manual schema, we expect `func`'s signature to match `manual_schema` "
            f"(aside from type annotations). func's signature: {given}, manual_schema: {schema}"
        )
    if any(p.default is not p.empty for p in parameters) or any(a.has_default_value() for a in schema.arguments):
        raise ValueError(
            f"{begin}neither func nor manual_schema should have default arguments. "
            f"Got func's signature: {given}, manual_schema: {schema}"
        )


def no_factory(shown: str) -> Callable[..., NoReturn]:
    """The kernel of an operator without tensor arguments, until ``impl_factory`` registers one."""

    def kernel(*args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(
            f"{shown}: There were no Tensor inputs to this operator (e.g. you passed an empty list of Tensors). If your operator is "
            "a factory function (that is, it takes no Tensors and constructs a new one), then please use CustomOp.impl_factory to "
            "register an implementation for it"
        )

    return kernel


def checked_name(qualname: str, func: Any) -> tuple[str, str]:
    """The namespace and the name of an operator that a function stands for; ValueError where they do not fit."""
    if not inspect.isfunction(func):
        raise ValueError(f"custom_op(...)(func): Expected `func` to be a Python function, got: {type(func)}")
    ns, name = parse_qualname(qualname)
    validate_namespace(ns)
    if func.__name__ != name:
        raise ValueError(
            f"custom_op(qualname='{qualname}', ...)(func): expected `func` to have name '{name}' but got '{func.__name__}'. "
            "Please either change the name of `func` or the qualname that is passed to `custom_op`"
        )
    return ns, name


def check_no_abstract(known: Any, qualname: str) -> None:
    """RuntimeError where an operator answers for tensors without values already."""
    begin = f"impl_abstract(...): the operator {qualname} already has "
    if "CompositeImplicitAutograd" in known:
        raise RuntimeError(
            begin + "an implementation for this device type via a pre-existing registration to "
            "DispatchKey::CompositeImplicitAutograd.CompositeImplicitAutograd operators do not need an abstract impl; "
            "instead, the operator will decompose into its constituents and those can have abstract impls defined on them."
        )
    if "Meta" in known:
        raise RuntimeError(
            begin
            + "a DispatchKey::Meta implementation via a pre-existing torch.library or TORCH_LIBRARY registration. "
            "Please either remove that registration or don't call impl_abstract."
        )


def check_no_formula(known: Any, qualname: str) -> None:
    """RuntimeError where an operator has a gradient already."""
    begin = f"impl_backward/impl_save_for_backward: the operator {qualname} already has an "
    if "CompositeImplicitAutograd" in known:
        raise RuntimeError(
            begin + "implementation for this device type via a pre-existing registration to "
            "DispatchKey::CompositeImplicitAutograd.CompositeImplicitAutograd operators do not need an autograd formula; "
            "instead, the operator will decompose into its constituents and those can have autograd formulas defined on them."
        )
    for key in ("Autograd", "AutogradCPU", "AutogradCUDA"):
        if key in known:
            raise RuntimeError(
                f"{begin}Autograd kernel registered to DispatchKey::{key} vi a pre-existing torch.library or TORCH_LIBRARY "
                "registration. Please either remove those registrations or don't use the torch._custom_ops APIs"
            )


naming.present(globals(), "torch._custom_op.impl")
