"""Results that keep the channels_last format of their inputs, for operators that compute in another order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.table.record import Record

TensorBase = _core.TensorBase


def suggested_format(inputs: Any) -> Any:
    """channels_last or channels_last_3d if the strides of an input have it (the first such input decides), else None."""
    for t in inputs:
        if isinstance(t, TensorBase) and t.dim() > 3:
            found = _core.suggest_memory_format(t)
            if found != _core.contiguous_format:
                return found
    return None


def in_plain_order(t: Any) -> bool:
    """Whether a result like ``t`` is contiguous: not in channels last."""
    return t.is_contiguous() or _core.suggest_memory_format(t) == _core.contiguous_format


def in_format(value: Any, wanted: Any) -> Any:
    """Results of four or five dims in a memory format, with history; others, and without a format, as they are."""
    if wanted is None:
        return value
    if isinstance(value, (tuple, list)):
        return type(value)(in_format(v, wanted) for v in value)
    if not isinstance(value, TensorBase) or value.dim() != (4 if wanted == _core.channels_last else 5):
        return value
    return value.contiguous(memory_format=wanted)


def format_of_strides(shape: Any, strides: Any) -> Any:
    """:func:`suggested_format` of one tensor, from its sizes and strides."""
    n = len(shape)
    if n not in (4, 5) or strides[-1] < strides[1] or not strides[1]:
        return None
    least = 0
    for d in (1, *range(n - 1, 1, -1), 0):
        if not shape[d] or strides[d] < least or (d == 0 and least == strides[1]):
            return None
        least = strides[d] * max(shape[d], 1)
    return _core.channels_last if n == 4 else _core.channels_last_3d


def gradient_in_format(t: Any, contiguous: bool = False) -> Any:
    """``t``, for an operator that gives its gradient back in channels_last where ``t`` lies in it.

    With ``contiguous`` the gradient is contiguous where ``t`` does not.
    """
    if not (t.requires_grad and _core.is_grad_enabled() and _core.unseen(t)):
        return t
    wanted = suggested_format([t])
    if wanted is None and not contiguous:
        return t

    def laid_out(g: Any) -> Any:
        return g.contiguous() if wanted is None and g is not None else in_format(g, wanted)

    alias = t.view_as(t)
    alias.register_hook(laid_out)
    return alias


def gradient_like_results(t: Any, run: Callable[[Any], Any], mirrored: bool = True) -> Any:
    """``run(t)``, where ``t`` in channels_last gets its gradient in the format that the gradient of the result comes in.

    Without ``mirrored`` the gradient is contiguous.
    """
    if not (t.requires_grad and _core.is_grad_enabled() and _core.unseen(t)):
        return run(t)
    if mirrored and suggested_format([t]) is None:
        return run(t)
    given: list[Any] = [None]
    alias = t.view_as(t)
    alias.register_hook(lambda g: g if g is None else g.contiguous() if given[0] is None else in_format(g, given[0]))
    result = run(alias)
    if mirrored and result.requires_grad:
        result.register_hook(lambda g: given.__setitem__(0, suggested_format([g])))
    return result


def _restrided(value: Any, wanted: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return type(value)(_restrided(v, wanted) for v in value)
    if not isinstance(value, TensorBase) or value.dim() != (4 if wanted == _core.channels_last else 5):
        return value
    made = _core.empty_tensor(tuple(value.shape), value.dtype, value.device, False, wanted)
    if value.device.type != "meta":
        _core.copy_raw(made, value)
    return made


def following(record: Record, run: Callable[..., Any]) -> Callable[..., Any]:
    """``run`` with its results in the format of the inputs that the record's ``follows`` names."""
    positions = tuple(record.arguments.index(name) for name in record.follows)
    finish = in_format if record.kind == "composite" else _restrided

    def followed(*bound: Any) -> Any:
        wanted = suggested_format([bound[i] for i in positions])
        return run(*bound) if wanted is None else finish(run(*bound), wanted)

    return followed
