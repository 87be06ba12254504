"""``torch._refs``: PyTorch's operators written in Python. Here they are the operators themselves, under those names.

PyTorch's references promise the values, dtypes, shapes and errors of the operators of the same name, so the operators
serve: what is a method or only an in-place operator in PyTorch is a function here, as there.
"""

from __future__ import annotations

import builtins
import contextlib
import sys
from collections.abc import Callable, Sequence
from functools import cache, wraps
from types import FunctionType
from typing import Any

from shim_torch._impl import data
from shim_torch._impl.native import _core
from shim_torch._impl.surface.own import in_torch
from shim_torch._impl.table import aten_tags
from shim_torch._impl.table.operators import named
from shim_torch._impl.table.tags import Tag

_MODULES = frozenset(("_conversions", "fft", "linalg", "nn", "special"))
_PLAIN_METHODS = {"copy_to": "copy_"}  # names of no operator


def _broadcast_shapes(*shapes: Any) -> list[int] | None:
    """The common shape of ``shapes`` (sizes or numbers), None where none is given; ``None`` among them is skipped."""
    import shim_torch

    kept: list[Sequence[int]] = [(s,) if isinstance(s, int) else s for s in shapes if s is not None]
    return list(shim_torch.broadcast_shapes(*kept)) if kept else None


def _copying(name: str) -> Callable[..., Any]:
    """``exponential(x, ...)`` of ``x.exponential_(...)``: the in-place method on a copy."""

    def function(self: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(self.clone(), name + "_")(*args, **kwargs)

    function.__name__ = function.__qualname__ = name
    return function


def _reflected(name: str, method: str) -> Callable[..., Any]:
    """``rpow(a, b)`` is ``b ** a``: the operator with its operands exchanged."""

    def function(self: Any, other: Any) -> Any:
        return getattr(self, method)(other)

    function.__name__ = function.__qualname__ = name
    return function


def trunc_divide(a: Any, b: Any) -> Any:
    """``a / b`` rounded towards zero."""
    import shim_torch

    return shim_torch.div(a, b, rounding_mode="trunc")


def prod(a: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The product over one dim, several, or all: the operator itself takes one."""
    if isinstance(dim, int):
        return a.prod(dim, keepdim, dtype=dtype)
    from shim_torch._impl.table.rules import wrap_dim, wrap_dims

    dims = [wrap_dim(d, a.dim()) for d in dim or ()]
    if len(set(dims)) != len(dims):
        raise RuntimeError("duplicate value in the list of dims")
    result = a.prod(dtype=dtype) if not a.dim() else a
    for d in reversed(wrap_dims(dim, a.dim())):
        result = result.prod(d, keepdim, dtype=dtype)
    return result


def swap_axes(a: Any, axis0: int, axis1: int) -> Any:
    """``a`` with two dims exchanged."""
    return a.swapaxes(axis0, axis1)


def T(a: Any) -> Any:
    """``a`` with its dims reversed."""
    return a.T


def alias(a: Any) -> Any:
    """A view of all of ``a``."""
    return a.view_as(a)


def _lacks_out(module: Any, name: str) -> bool:
    """Whether a function has no ``out=``, which the reference of the same name has."""
    if module is sys.modules["shim_torch"]:  # its name is torch where the proxy is
        of_python = isinstance(vars(module)[name], FunctionType)
        return not of_python and name in _with_out(".") and not any(r.out or "out" in r.overload for r in named(name))
    return module.__name__.endswith("nn.functional") and name in _with_out("nn.functional")


@cache
def _with_out(module: str) -> frozenset[str]:
    return frozenset(data.section("refs.txt", f"out {module}"))


def _writing(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with ``out=``, a tensor (or tuple of them) that takes the result."""

    @wraps(function)
    def written(*args: Any, out: Any = None, **kwargs: Any) -> Any:
        found = function(*args, **kwargs)
        if out is None:
            return found
        if isinstance(found, tuple):
            return tuple(map(_stored, out, found))
        return _stored(out, found)

    written._torch_decompositions_out_wrapper = "The out wrapper"  # type: ignore[attr-defined]
    return written


def _stored(out: Any, found: Any) -> Any:
    from shim_torch._impl.table.rules import resized_out

    if not _core.can_cast(found.dtype, out.dtype):
        raise RuntimeError(
            f"result type {_core.scalar_name(found.dtype)} can't be cast to the desired output type {_core.scalar_name(out.dtype)}"
        )
    return resized_out(out, found.shape).copy_(found)


def _described(served: Any, name: str) -> Any:
    """A function of the operator table as one of Python, which says what its arguments are called."""
    import inspect

    from shim_torch._ops import ops

    packet = getattr(ops.aten, ("" if hasattr(ops.aten, name) else "linalg_") + name, None)
    schemas = [getattr(packet, o)._schema for o in packet.overloads() if "out" not in o] if packet is not None else []
    if not schemas:
        return served
    longest = max((s.arguments for s in schemas), key=len)
    kinds = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    empty = inspect.Parameter.empty
    parameters = [
        inspect.Parameter(
            "a" if i == 0 else a.name,
            kinds[bool(a.kwarg_only)],
            default=a.default_value if a.has_default_value() else empty,
        )
        for i, a in enumerate(longest)
    ]

    def function(*args: Any, **kwargs: Any) -> Any:
        if name in _OF_ALL and len(args) == 1 and "dim" not in kwargs and kwargs.keys() & {"keepdim", "out"}:
            kwargs["dim"] = None  # torch's own overload without dim takes neither
        return served(*args, **kwargs)

    function.__name__ = function.__qualname__ = name
    with contextlib.suppress(ValueError):  # a name that is asked for after one with a default
        function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return function


_OF_ALL = frozenset(("mean", "sum"))


def _reduces(name: str) -> bool:
    return any(aten_tags.has(n, Tag.reduction) for n in (name, f"linalg_{name}"))


def find(module: Any, name: str) -> Any:
    """The function of that name: of ``module``, a method of tensors, or an in-place method on a copy; None without."""
    served = vars(module).get(name)
    if served is not None and callable(served) and not isinstance(served, type):
        if _reduces(name) and not isinstance(served, FunctionType):  # what asks for its arguments is told
            return _described(served, name)
        return _writing(served) if _lacks_out(module, name) else served
    method = getattr(_core.Tensor, _PLAIN_METHODS.get(name, name), None)
    if callable(method):
        return wraps(method)(lambda self, *args, **kwargs: method(self, *args, **kwargs))
    if callable(getattr(_core.Tensor, name + "_", None)):
        return _copying(name)
    return None


def names_of(presented: str) -> list[str]:
    """``__all__`` of a module of references: PyTorch's."""
    return data.section("refs.txt", in_torch(presented).removeprefix("torch._refs").lstrip(".") or ".")


def served_as(names: dict[str, Any], module: Any, name: str) -> Any:
    """What ``find`` finds in ``module``, kept in ``names``, the globals of a module here; the missing name's error without."""
    if name == "__all__":
        names[name] = names_of(names["__name__"])
        return names[name]
    found = None if name.startswith("__") else find(module, name)
    if found is None:
        from shim_torch._impl.surface.missing import missing

        return missing(in_torch(names["__name__"]), name)
    if not hasattr(builtins, name):  # ``int``, ``type``: a module's own code goes on to mean Python's
        names[name] = found
    return found


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _MODULES:
        return import_module(f"shim_torch._refs.{name}")
    import shim_torch

    if name in ("rpow", "rtruediv", "rfloordiv"):
        return _reflected(name, f"__{name}__")
    return served_as(globals(), shim_torch, name)
