"""Orthogonal polynomials of torch.special: closed forms where PyTorch has them, else the recurrence in the values' own dtype."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shim_torch._impl.records.shared.pointwise import with_numbers
from shim_torch._impl.table.record import op
from shim_torch._impl.table.rules import broadcast, int_to_float

_SPECIAL: dict[str, Any] = {"module": "special", "method": False}

# Each starts with p0 = 1 and p1, and goes on by a recurrence p(k+1) = next(x, k, p(k), p(k-1)).
_CHEBYSHEV = lambda x, k, a, b: (x + x) * a - b
_FIRST: dict[str, Callable[[Any], Any]] = {
    "t": lambda x: x,
    "u": lambda x: x + x,
    "v": lambda x: x + x - 1,
    "w": lambda x: x + x + 1,
}
# From which degree on the closed form serves where |x| < 1.
_CLOSED_ABOVE = {"t": 6, "u": 8, "v": 8, "w": 8}
_CLOSED_ABOVE_SHIFTED = {"t": 6, "u": 6, "v": 6, "w": 4}


def _ends(xp: Any, kind: str, n: Any, even: Any) -> tuple[Any, Any]:
    """The values at 1 and -1."""
    sign = xp.where(even, 1, -1).astype(n.dtype)
    if kind == "t":
        return xp.ones_like(n), sign
    if kind == "u":
        return n + 1, sign * (n + 1)
    many = n + n + 1
    return (xp.ones_like(n), sign * many) if kind == "v" else (many, sign)


def _closed(xp: Any, kind: str, x: Any, n: Any) -> Any:
    """By the cosine of n times the angle whose cosine is x."""
    angle = xp.arccos(x)
    if kind == "t":
        return xp.cos(n * angle)
    if kind == "u":
        return xp.sin((n + 1) * angle) / xp.sin(angle)
    half = x.dtype.type(0.5)
    if kind == "v":
        return xp.cos((n + half) * angle) / xp.cos(angle * half)
    return xp.sin((n + half) * angle) / xp.sin(angle * half)


def _recurrence(xp: Any, x: Any, degree: Any, first: Any, following: Any) -> Any:
    """Step by step up to each element's degree; an element that is not a number any more stays so."""
    before, now = xp.ones_like(x), first
    found = xp.where(degree == 0, before, xp.where(degree >= 1, now, xp.zeros_like(x)))
    k = 1
    going = degree > k
    while bool(going.any()):
        before, now = now, following(x, k, now, before)
        found = xp.where(going, now, found)
        k += 1
        going = going & (degree > k) & ~xp.isnan(now)
    return found


def _operands(xp: Any, x: Any, n: Any) -> tuple[Any, Any]:
    """Both of one shape; a degree that no int64 holds is none (and gives zero)."""
    held = xp.where(xp.abs(n) < 2.0**63, n, xp.full_like(n, -1))
    return tuple(xp.broadcast_arrays(x, xp.trunc(held)))


def _chebyshev(kind: str, shifted: bool) -> None:
    above = (_CLOSED_ABOVE_SHIFTED if shifted else _CLOSED_ABOVE)[kind]

    def run(xp: Any, x: Any, n: Any) -> Any:
        x, degree = _operands(xp, x, n)
        z = x + x - 1 if shifted else x
        even = xp.remainder(degree, 2) == 0
        high, low = _ends(xp, kind, degree, even)
        at_high, at_low = (x == 1, x == 0) if shifted else (z == 1, z == -1)
        closed = (degree > above) & (xp.abs(z) < 1)
        done = at_high | at_low | closed
        plain = _recurrence(xp, z, xp.where(done, xp.zeros_like(degree), degree), _FIRST[kind](z), _CHEBYSHEV)
        value = xp.where(closed, _closed(xp, kind, xp.where(closed, z, xp.zeros_like(z)), degree), plain)
        value = xp.where(at_high, high, xp.where(at_low, low, value))
        return xp.where(degree < 0, xp.zeros_like(value), value)

    _declare(f"{'shifted_' if shifted else ''}chebyshev_polynomial_{kind}", run)


def _hermite(name: str, first: Any, following: Any) -> None:
    def run(xp: Any, x: Any, n: Any) -> Any:
        x, degree = _operands(xp, x, n)
        limit = 128 if x.dtype.itemsize == 4 else 512  # beyond, PyTorch gives up
        found = _recurrence(xp, x, xp.where(degree > limit, xp.zeros_like(degree), degree), first(x), following)
        return xp.where(degree > limit, xp.full_like(x, float("nan")), found)

    _declare(name, run)


def _legendre(xp: Any, x: Any, n: Any) -> Any:
    x, degree = _operands(xp, x, n)
    end = xp.abs(x) == 1
    found = _recurrence(
        xp,
        x,
        xp.where(end, xp.zeros_like(degree), degree),
        x,
        lambda x, k, a, b: ((k + k + 1) * x * a - k * b) / (k + 1),
    )
    at_end = xp.where((x > 0) | (xp.remainder(degree, 2) == 0), 1, -1).astype(x.dtype)
    return xp.where(degree < 0, xp.zeros_like(x), xp.where(end, at_end, found))


def _laguerre(xp: Any, x: Any, n: Any) -> Any:
    x, degree = _operands(xp, x, n)
    zero = x == 0
    found = _recurrence(
        xp,
        x,
        xp.where(zero, xp.minimum(degree, xp.zeros_like(degree)), degree),
        1 - x,
        lambda x, k, a, b: (((k + k) + (1 - x)) * a - k * b) / (k + 1),
    )
    return found


def _declare(name: str, run: Any) -> None:
    op(
        f"special_{name}(Tensor x, Tensor n) -> Tensor",
        shape=broadcast,
        dtype=int_to_float,
        out=True,
        native=name,
        refuses=(("cl", f"{name}_cpu"),),
        never_differentiable=True,
        **_SPECIAL,
    )(run)
    with_numbers(f"special_{name}", "x", "n", ("x_scalar", "n_scalar"), never_differentiable=True)


for _kind in "tuvw":
    _chebyshev(_kind, False)
    _chebyshev(_kind, True)
_hermite("hermite_polynomial_h", lambda x: x + x, lambda x, k, a, b: (x + x) * a - (k + k) * b)
_hermite("hermite_polynomial_he", lambda x: x, lambda x, k, a, b: x * a - k * b)
_declare("laguerre_polynomial_l", _laguerre)
_declare("legendre_polynomial_p", _legendre)
