"""What a comparison that fails says, and which tolerances it had."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from shim_torch._impl.native import _core

Tensor = _core.Tensor
Identifier: TypeAlias = "str | Callable[[str], str] | None"

_PRECISIONS = {
    _core.float16: (1e-3, 1e-5),
    _core.bfloat16: (1.6e-2, 1e-5),
    _core.float32: (1.3e-6, 1e-5),
    _core.float64: (1e-7, 1e-7),
    _core.complex32: (1e-3, 1e-5),
    _core.complex64: (1.3e-6, 1e-5),
    _core.complex128: (1e-7, 1e-7),
}


class UnsupportedInputs(Exception):
    """A pair does not compare values of these types; the next kind of pair is asked."""


class ErrorMeta(Exception):
    """A mismatch: the exception to raise for it, its text, and which item (``id``) of nested inputs it is about."""

    def __init__(self, type: type[Exception], msg: str, *, id: tuple[Any, ...] = ()) -> None:
        super().__init__(msg)
        self.type, self.msg, self.id = type, msg, id

    def to_error(self, msg: str | Callable[[str], str] | None = None) -> Exception:
        """The exception for users; ``msg`` replaces the text, or, called with it, makes a new one."""
        if isinstance(msg, str):
            return self.type(msg)
        text = self.msg
        if self.id:
            text += f"\n\nThe failure occurred for item {''.join(str([item]) for item in self.id)}"
        return self.type(msg(text) if callable(msg) else text)


def default_tolerances(
    *inputs: Any, dtype_precisions: dict[Any, tuple[float, float]] | None = None
) -> tuple[float, float]:
    """(rtol, atol) of the least precise dtype among tensors and dtypes; (0, 0) for integers and float8."""
    table = dtype_precisions or _PRECISIONS
    relative, absolute = zip(*(table.get(_dtype_of(x), (0.0, 0.0)) for x in inputs), strict=True)
    return max(relative), max(absolute)


def _dtype_of(x: Any) -> Any:
    if isinstance(x, Tensor):
        return x.dtype
    if isinstance(x, _core.dtype):
        return x
    raise TypeError(f"Expected a torch.Tensor or a torch.dtype, but got {type(x)} instead.")


def get_tolerances(
    *inputs: Any, rtol: float | None, atol: float | None, id: tuple[Any, ...] = ()
) -> tuple[float, float]:
    """The given tolerances, or both defaults. Errors: ErrorMeta (ValueError) for only one of the two."""
    if rtol is not None and atol is not None:
        return rtol, atol
    if rtol is None and atol is None:
        return default_tolerances(*inputs)
    missing = "rtol" if rtol is None else "atol"
    raise ErrorMeta(
        ValueError, f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {missing}.", id=id
    )


def _name(identifier: Identifier, default: str) -> str:
    if identifier is None:
        return default
    return identifier(default) if callable(identifier) else identifier


def _difference(kind: str, value: float, index: tuple[int, ...] | None, limit: float, exact: bool) -> str:
    text = (
        f"{kind.title()} difference: {value}"
        if index is None
        else f"Greatest {kind} difference: {value} at index {index}"
    )
    return text if exact else f"{text} (up to {limit} allowed)"


def _message(
    name: str, extra: str, absolute: tuple[float, Any], relative: tuple[float, Any], rtol: float, atol: float
) -> str:
    exact = rtol == 0 and atol == 0
    lines = [
        f"{name} are not {'equal' if exact else 'close'}!\n",
        extra,
        _difference("absolute", *absolute, atol, exact),
        _difference("relative", *relative, rtol, exact),
    ]
    return "\n".join(lines)


def make_scalar_mismatch_msg(
    actual: Any, expected: Any, *, rtol: float, atol: float, identifier: Identifier = None
) -> str:
    """PyTorch's text for two numbers that differ."""
    difference = abs(actual - expected)
    relative = difference / abs(expected) if expected else float("inf")
    extra = f"Expected {expected} but got {actual}."
    return _message(_name(identifier, "Scalars"), extra, (difference, None), (relative, None), rtol, atol)


def make_tensor_mismatch_msg(
    actual: Any, expected: Any, matches: Any, *, rtol: float, atol: float, identifier: Identifier = None
) -> str:
    """PyTorch's text for tensors that differ where ``matches`` is False: how many elements, and the greatest differences."""
    count, wrong = matches.numel(), int((~matches).sum())
    extra = f"Mismatched elements: {wrong} / {count} ({wrong / count:.1%})"
    name, dtype = _name(identifier, "Tensor-likes"), actual.dtype
    if dtype.is_floating_point and dtype.itemsize == 1:
        first = tuple((~matches).nonzero()[0].tolist())
        return f"{name} are not 'equal'!\n\n{extra}\nThe first mismatched element is at index {first}."
    a, e, m = actual.flatten(), expected.flatten(), matches.flatten()
    if not dtype.is_floating_point and not dtype.is_complex:
        a, e = a.to(_core.int64), e.to(_core.int64)
    difference = (a - e).abs().masked_fill(m, 0)
    relative = (difference / e.abs()).masked_fill(m, 0)
    worst = [_worst(values, matches.shape) for values in (difference, relative)]
    return _message(name, extra, worst[0], worst[1], rtol, atol)


def _worst(values: Any, shape: Any) -> tuple[float, tuple[int, ...]]:
    value, place = values.max(0)
    index, rest = [], int(place)
    for n in reversed(shape):
        index.append(rest % n)
        rest //= n
    return value.item(), tuple(reversed(index))
