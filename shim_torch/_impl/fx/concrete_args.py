"""``concrete_args`` of ``symbolic_trace``: inputs with fixed values, and what stays an input within them."""

from __future__ import annotations

import inspect
import itertools
from typing import Any

import shim_torch as torch
from shim_torch._impl.fx.pytree_codegen import PyTreeInfo, _PyTreeCodeGen
from shim_torch._impl.surface import naming
from shim_torch.utils import _pytree


class PHBase:
    """In ``concrete_args``: what stays an input. Its attributes become those of the input's node."""

    def __repr__(self) -> str:
        return "PH"


PH = PHBase()


class PHWithMeta(PHBase):
    """A PH whose input's node has the attribute ``ph_key``."""

    def __init__(self, ph_key: str | None = None) -> None:
        super().__init__()
        self.ph_key = ph_key


def _assert_is_none(value: Any, msg: str) -> None:
    if value is not None:
        raise AssertionError(msg)


_assert_is_none.__module__ = "shim_torch.fx._symbolic_trace"  # the name in pickled graphs


def _transfer_attrs(fr: Any, to: Any) -> None:
    """Gives ``to`` the plain attributes of ``fr`` that it does not have."""
    for name in dir(fr):
        value = getattr(fr, name)
        if not callable(value) and not name.startswith("__") and not hasattr(to, name):
            setattr(to, name, value)


def input_of(tracer: Any, name: str, parameter: inspect.Parameter, concrete: dict[str, Any]) -> Any:
    """What a parameter is while a function is traced: a placeholder, or its value in ``concrete``, with one for each leaf."""
    given = () if parameter.default is inspect.Parameter.empty else (parameter.default,)
    if name not in concrete:
        # Our layers say "Any" where PyTorch's mostly name a class or nothing.
        given_type = parameter.annotation
        annotation = None if given_type is inspect.Parameter.empty or given_type == "Any" else given_type
        return tracer.create_proxy("placeholder", name, given, {}, type_expr=annotation)
    count = itertools.count(1)
    return _pytree.tree_map(lambda leaf: _concrete(tracer, name, f"{name}_{next(count)}", given, leaf), concrete[name])


def _concrete(tracer: Any, name: str, numbered: str, given: tuple[Any, ...], concrete: Any) -> Any:
    proxy = tracer.create_proxy("placeholder", numbered, given, {})
    if isinstance(concrete, PHBase):
        if concrete is not PH:
            _transfer_attrs(concrete, proxy.node)
        return proxy
    text = f"{name} has been specialized to have value {concrete} but got another value"
    if isinstance(concrete, (bool, int, float, str)):
        tracer.create_proxy("call_function", torch._assert, (proxy == concrete, text), {})
    elif concrete is None:
        tracer.create_proxy("call_function", _assert_is_none, (proxy, text), {})
    return concrete


def flattened(tracer: Any, function: Any, args: list[Any], names: list[str], first: int) -> tuple[Any, list[Any]]:
    """The function of the leaves of nested concrete arguments; the graph's code then flattens what it is given."""
    flat, spec = _pytree.tree_flatten(tuple(args[first:]))
    if all(child.is_leaf() for child in spec.children()):
        return function, args
    codegen = tracer.graph._codegen = _PyTreeCodeGen(PyTreeInfo(names[first:], spec, None))

    def run(*leaves: Any) -> Any:
        found, out_spec = _pytree.tree_flatten(function(*args[:first], *_pytree.tree_unflatten(list(leaves), spec)))
        codegen.pytree_info = codegen.pytree_info._replace(out_spec=out_spec)
        return found

    return run, flat


naming.present(globals(), "torch.fx._symbolic_trace")
