"""The Autograd kernel of custom operators: their formulas run as an ``autograd.Function``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shim_torch._impl.native import _core


def _flatten(values: Any) -> tuple[list[Any], list[Any]]:
    """Lists of tensors spread out, and how to put them back: None for a plain value, (type, length) for a list."""
    flat: list[Any] = []
    shape: list[Any] = []
    for v in values:
        if isinstance(v, (list, tuple)) and any(isinstance(t, _core.TensorBase) for t in v):
            flat += v
            shape.append((type(v), len(v)))
        else:
            flat.append(v)
            shape.append(None)
    return flat, shape


def _unflatten(flat: Any, shape: list[Any]) -> list[Any]:
    values, at = [], 0
    for s in shape:
        if s is None:
            values.append(flat[at])
            at += 1
        else:
            values.append(s[0](flat[at : at + s[1]]))
            at += s[1]
    return values


def _spread_gradients(result: Any, shape: list[Any]) -> tuple[Any, ...]:
    given = list(result) if isinstance(result, (list, tuple)) else [result]
    if all(g is None for g in given[len(shape) :]):
        given = given[: len(shape)]  # of arguments that the caller left at their defaults
    if len(given) != len(shape):
        return tuple(given)  # autograd.Function says what is wrong with the number
    flat: list[Any] = []
    for g, s in zip(given, shape, strict=True):
        if s is None:
            flat.append(g)
        else:
            flat += list(g) if isinstance(g, (list, tuple)) else [None] * s[1]
    return tuple(flat)


class Formula:
    """What the Autograd kernel needs of an operator that was not made by custom_op."""

    def __init__(
        self, ns: str, name: str, op: Any, backward: Callable[..., Any], setup_context: Callable[..., Any] | None
    ) -> None:
        self._namespace, self._name, self._opoverload = ns, name, op
        self._backward_fn, self._setup_context_fn = backward, setup_context


def make_autograd_kernel(definition: Any) -> Callable[..., Any]:
    """The kernel registered under ``Autograd``: records the formula where a gradient is wanted, else passes on."""
    from .custom_ops import below_autograd
    from .utils import fill_defaults, has_kwarg_only_args

    def kernel(*args: Any, **kwargs: Any) -> Any:
        op = definition._opoverload
        if kwargs:  # arguments with a position that were given by name have that position in the formula
            named = {a.name for a in op._schema.arguments if a.kwarg_only}
            if not named.issuperset(kwargs):
                args = fill_defaults(op._schema, args, kwargs)[0]
                kwargs = {k: v for k, v in kwargs.items() if k in named}
        flat, shape = _flatten(args)
        if not _core.wants_gradient(*flat):
            return below_autograd(op, args, kwargs)
        from .. import autograd

        outer: list[type] = []  # what the operator returned: a list or a tuple; empty for a single value
        inner: list[Any] = []  # and how the lists within it lie

        def forward(ctx: Any, *values: Any) -> Any:
            inputs = tuple(_unflatten(values, shape))
            result = below_autograd(op, inputs, kwargs)
            if definition._setup_context_fn is not None:
                filled, by_name = fill_defaults(op._schema, inputs, kwargs)
                extra = {"keyword_only_inputs": by_name} if has_kwarg_only_args(op._schema) else {}
                definition._setup_context_fn(ctx=ctx, inputs=filled, output=result, **extra)
            if not isinstance(result, (list, tuple)):
                return result
            outer.append(type(result))
            spread, inner[:] = _flatten(result)
            return tuple(spread)

        def backward(ctx: Any, *grads: Any) -> Any:
            if definition._backward_fn is None:
                raise RuntimeError(
                    f"Trying to backward through {op} but no autograd formula was registered. "
                    "Please use register_autograd to add one."
                )
            given = _unflatten(grads, inner) if outer else list(grads)
            result = definition._backward_fn(ctx, *([given] if outer == [list] else given))
            return _spread_gradients(result, shape)

        base, _, overload = definition._name.partition(".")
        name = f"GeneratedBackwardFor_{definition._namespace}_{base}_{overload or 'default'}"
        methods = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
        result = type(name, (autograd.Function,), methods).apply(*flat)  # type: ignore[attr-defined]
        return outer[0](_unflatten(result, inner)) if outer else result

    return kernel


def __getattr__(name: str) -> Any:
    if name == "supports_tensorlist":
        from shim_torch._impl.library.tensor_lists import supports_tensorlist

        return supports_tensorlist
    from shim_torch._impl.surface.missing import missing

    return missing("torch._library.autograd", name)
