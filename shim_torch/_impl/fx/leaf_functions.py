"""While a function is traced: which functions, methods and attributes of modules become nodes of its graph."""

from __future__ import annotations

import builtins
import functools
import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FunctionType
from typing import Any

import shim_torch as torch
from shim_torch.fx.node import map_aggregate
from shim_torch.fx.proxy import Proxy
from shim_torch.nn.modules.module import Module

_MISSING = object()
WRAPPED: dict[tuple[int, str], dict[str, Any]] = {}  # of torch.fx.wrap: (id of a namespace, name) -> the namespace
_wrapped_methods_to_patch: list[tuple[type, str]] = []  # methods that become nodes too


@functools.cache
def _factories() -> list[str]:
    """torch's functions that make tensors of no others."""
    from shim_torch._impl.table.operators import records

    makes = (
        r for r in records().values() if r.ns == "aten" and r.function and not r.module and "device" in r.arguments
    )
    names = {r.name for r in makes if "Tensor" not in r.schema.partition("->")[0]}
    return sorted(name for name in names if name in vars(torch))


def _find_proxy(*values: Any) -> Proxy | None:
    found: list[Proxy] = []
    map_aggregate(values, lambda x: found.append(x) if isinstance(x, Proxy) else x)
    return found[0] if found else None


def _namespaces() -> list[dict[str, Any]]:
    """Where torch's own functions in Python stand: called with values not known, each is one node."""
    return [vars(torch.nn.functional), vars(sys.modules.get("shim_torch.functional") or torch.functional), vars(torch)]


def _leaf(function: Callable[..., Any], fill: bool = False, wrapped: bool = False) -> Callable[..., Any]:
    """``function``, which becomes a node when it is called with a value that is not known.

    ``fill``: what has a default is given by name, as torch's own functions in Python do it. ``wrapped``: by torch.fx.wrap,
    which the node tells whoever writes the graph, so that it stays one node where that is traced in its turn.
    """
    signature = inspect.signature(function) if fill else None
    if signature is not None and any(p.kind is p.VAR_POSITIONAL for p in signature.parameters.values()):
        signature = None

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        proxy = _find_proxy(args, kwargs)
        if proxy is None:
            return function(*args, **kwargs)
        if signature is not None:
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            needed = [
                n for n, p in signature.parameters.items() if p.default is p.empty and p.kind is not p.KEYWORD_ONLY
            ]
            args = tuple(bound.arguments[n] for n in needed)
            kwargs = {n: v for n, v in bound.arguments.items() if n not in needed}
        made = proxy.tracer.create_proxy("call_function", function, args, kwargs)
        if wrapped:
            made.node.meta["is_wrapped"] = True
        return made

    wrapper.__fx_leaf__ = True  # type: ignore[attr-defined]
    return wrapper


def _method_leaf(method: Any, name: str) -> Callable[..., Any]:
    """A method that becomes a node when an argument of it is not known."""

    @functools.wraps(method)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        proxy = _find_proxy(args, kwargs)
        return (
            method(*args, **kwargs) if proxy is None else proxy.tracer.create_proxy("call_method", name, args, kwargs)
        )

    return wrapper


def _replace(
    stack: list[tuple[dict[str, Any], str, Any]], space: dict[str, Any], name: str, found: Any, fill: bool = False,
    wrapped: bool = False,
) -> None:  # fmt: skip
    # einsum asks its operands itself, once they are out of their list.
    if callable(found) and found is not torch.functional.einsum and not getattr(found, "__fx_leaf__", False):
        stack.append((space, name, space.get(name, _MISSING)))
        space[name] = _leaf(found, fill, wrapped)


@contextmanager
def patched(tracer: Any, function: Any) -> Iterator[None]:
    """Within, modules and their attributes are asked through the tracer, and leaf functions become nodes."""
    call, get = Module.__call__, Module.__getattr__
    undo: list[tuple[dict[str, Any], str, Any]] = []

    def traced_call(mod: Any, *args: Any, **kwargs: Any) -> Any:
        return tracer.call_module(mod, lambda *a, **k: call(mod, *a, **k), args, kwargs)

    def traced_get(mod: Any, name: str) -> Any:
        return tracer.getattr(name, get(mod, name), tracer._made)

    for space in _namespaces():
        for name, found in list(space.items()):
            if name[:1] != "_" and isinstance(found, FunctionType):
                _replace(undo, space, name, found, True)
    for name in _factories():  # their arguments may be values that are not known
        _replace(undo, vars(torch), name, getattr(torch, name))
    for module in tracer._autowrap_modules:
        for name, found in list(vars(module).items()):
            if name[:1] != "_":
                _replace(undo, vars(module), name, found)
    own = getattr(inspect.unwrap(function), "__globals__", {})
    for target in tracer._autowrap_functions:
        for name, found in list(own.items()):
            if found is target:
                _replace(undo, own, name, found)
    for (_, name), space in list(WRAPPED.items()):
        _replace(undo, space, name, space.get(name, getattr(builtins, name, None)), wrapped=True)
    methods = [(cls, name, getattr(cls, name)) for cls, name in _wrapped_methods_to_patch]
    Module.__call__, Module.__getattr__ = traced_call, traced_get  # type: ignore[method-assign, assignment]
    for cls, name, found in methods:
        setattr(cls, name, _method_leaf(found, name))
    try:
        yield
    finally:
        Module.__call__, Module.__getattr__ = call, get  # type: ignore[method-assign, assignment]
        for cls, name, found in methods:
            setattr(cls, name, found)
        for space, name, before in reversed(undo):
            if before is _MISSING:
                space.pop(name, None)
            else:
                space[name] = before
