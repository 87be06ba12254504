"""``torch.signal.windows``: windows of M points, symmetric or (``sym=False``) periodic."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

__all__ = [
    "bartlett",
    "blackman",
    "cosine",
    "exponential",
    "gaussian",
    "general_cosine",
    "general_hamming",
    "hamming",
    "hann",
    "kaiser",
    "nuttall",
]


def _points(M: int, sym: bool, options: dict[str, Any], name: str) -> Any:
    """0 .. M - 1 in float64, and the number of steps the window is long."""
    import shim_torch

    if M < 0:
        raise ValueError(f"{name} requires non-negative window length, got M={M}")
    if options.get("dtype") not in (None, shim_torch.float32, shim_torch.float64):
        raise ValueError(f"{name} expects float32 or float64 dtypes, got: {options['dtype']}")
    layout = options.get("layout")
    if layout not in (None, shim_torch.strided):
        raise ValueError(f"{name} is implemented for strided tensors only, got: {layout}")
    for key in options:
        if key not in ("dtype", "layout", "device", "requires_grad"):
            raise TypeError(f"{name}() got an unexpected keyword argument '{key}'")
    steps = M - 1 if sym else M
    return shim_torch.arange(M, dtype=shim_torch.float64, device=options.get("device")), max(steps, 1)


def _from_middle(M: int, sym: bool, options: dict[str, Any], name: str, middle: float | None = None) -> Any:
    """How far each point lies to the right of the middle."""
    points, _ = _points(M, sym, options, name)
    periodic = not sym and M > 1
    return points - ((M if periodic else M - 1) / 2 if middle is None else middle)


def _made(values: Any, options: dict[str, Any]) -> Any:
    import shim_torch

    made = values.to(options.get("dtype") or shim_torch.get_default_dtype())
    return made.requires_grad_() if options.get("requires_grad") else made


def exponential(M: int, *, center: float | None = None, tau: float = 1.0, sym: bool = True, **options: Any) -> Any:
    """exp(-|n - center| / tau)."""
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")
    return _made((_from_middle(M, sym, options, "exponential", center).abs() / -tau).exp(), options)


def cosine(M: int, *, sym: bool = True, **options: Any) -> Any:
    """sin(pi (n + 1/2) / M)."""
    n, _ = _points(M, sym, options, "cosine")
    return _made((math.pi / (M + 1 if not sym and M > 1 else M or 1) * (n + 0.5)).sin(), options)


def gaussian(M: int, *, std: float = 1.0, sym: bool = True, **options: Any) -> Any:
    """exp(-(n / std)^2 / 2) about the middle."""
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    deviations = _from_middle(M, sym, options, "gaussian") / std
    return _made((deviations.square() / -2).exp(), options)


def kaiser(M: int, *, beta: float = 12.0, sym: bool = True, **options: Any) -> Any:
    """I0(beta sqrt(1 - x^2)) / I0(beta)."""
    import shim_torch

    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")
    n, steps = _points(M, sym, options, "kaiser")
    if M == 1:
        return _made(n + 1, options)
    x = 2 * n / steps - 1
    top = shim_torch.i0(beta * (1 - x * x).clamp(min=0).sqrt())
    return _made(top / shim_torch.i0(shim_torch.tensor(beta, dtype=shim_torch.float64)), options)


def general_cosine(M: int, *, a: Iterable[float], sym: bool = True, **options: Any) -> Any:
    """The sum of (-1)^i a_i cos(2 pi i n / steps)."""
    if not isinstance(a, Iterable):
        raise TypeError("Coefficients must be a list/tuple")
    a = list(a)
    if not a:
        raise ValueError("Coefficients cannot be empty")
    n, steps = _points(M, sym, options, "general_cosine")
    if M == 1:
        return _made(n + 1, options)
    total: Any = 0.0
    for i, c in enumerate(a):
        total = total + (-1) ** i * c * (2 * math.pi * i / steps * n).cos()
    return _made(total, options)


def general_hamming(M: int, *, alpha: float = 0.54, sym: bool = True, **options: Any) -> Any:
    """alpha - (1 - alpha) cos(2 pi n / steps)."""
    return general_cosine(M, a=[alpha, 1.0 - alpha], sym=sym, **options)


def hamming(M: int, *, sym: bool = True, **options: Any) -> Any:
    """The Hamming window."""
    return general_hamming(M, sym=sym, **options)


def hann(M: int, *, sym: bool = True, **options: Any) -> Any:
    """The Hann window."""
    return general_hamming(M, alpha=0.5, sym=sym, **options)


def blackman(M: int, *, sym: bool = True, **options: Any) -> Any:
    """The Blackman window."""
    _points(M, sym, options, "blackman")  # speaks of itself where a length or dtype is refused
    return general_cosine(M, a=[0.42, 0.5, 0.08], sym=sym, **options)


def nuttall(M: int, *, sym: bool = True, **options: Any) -> Any:
    """Nuttall's window."""
    return general_cosine(M, a=[0.3635819, 0.4891775, 0.1365995, 0.0106411], sym=sym, **options)


def bartlett(M: int, *, sym: bool = True, **options: Any) -> Any:
    """The triangle window."""
    n, steps = _points(M, sym, options, "bartlett")
    if M == 1:
        return _made(n + 1, options)
    return _made(1 - (2 * n / steps - 1).abs(), options)
