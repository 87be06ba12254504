"""Sliding windows of arrays, shared by convolutions and pooling."""

from __future__ import annotations

from typing import Any


def expanded(values: Any, n: int) -> tuple[int, ...]:
    """One value for each of ``n`` spatial dims: a single one is repeated."""
    values = tuple(values)
    return values * n if len(values) == 1 else values


def windows(xp: Any, x: Any, kernel: Any, stride: Any, dilation: Any, out: Any) -> Any:
    """A view (*lead, *out, *kernel) of the windows of an array's last dims."""
    n = len(kernel)
    lead, steps = x.shape[: x.ndim - n], x.strides[x.ndim - n :]
    strides = (
        *x.strides[: x.ndim - n],
        *(s * p for s, p in zip(steps, stride, strict=True)),
        *(s * d for s, d in zip(steps, dilation, strict=True)),
    )
    return xp.lib.stride_tricks.as_strided(x, (*lead, *out, *kernel), strides)


def padded(xp: Any, x: Any, padding: Any, value: Any = 0) -> Any:
    """The last dims with ``padding`` more values at both ends."""
    if not any(padding):
        return x
    widths = [(0, 0)] * (x.ndim - len(padding)) + [(p, p) for p in padding]
    return xp.pad(x, widths, constant_values=value)


def add_windows(xp: Any, parts: Any, size: Any, stride: Any, dilation: Any, padding: Any) -> Any:
    """The adjoint of ``windows`` of a padded array: parts (*lead, *out, *kernel) summed into (*lead, *size)."""
    n = len(size)
    lead = parts.shape[: parts.ndim - 2 * n]
    out, kernel = parts.shape[len(lead) : len(lead) + n], parts.shape[len(lead) + n :]
    span = [(out[i] - 1) * stride[i] + dilation[i] * (kernel[i] - 1) + 1 for i in range(n)]
    total = xp.zeros((*lead, *[max(size[i] + 2 * padding[i], span[i]) for i in range(n)]), parts.dtype)
    for place in _places(kernel):
        where = tuple(
            slice(k * d, k * d + (o - 1) * s + 1, s) for k, d, o, s in zip(place, dilation, out, stride, strict=True)
        )
        from_part = (..., *[slice(None)] * n, *place)
        into = (..., *where)
        total[into] += parts[from_part]
    inside = (..., *[slice(p, p + m) for p, m in zip(padding, size, strict=True)])
    return total[inside]


def _places(kernel: Any) -> Any:
    if not kernel:
        yield ()
        return
    for k in range(kernel[0]):
        for rest in _places(kernel[1:]):
            yield (k, *rest)
