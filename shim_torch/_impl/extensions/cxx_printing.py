"""Tensors as C++ streams print them: columns of equal width, matrices one after the other, the type and the sizes last."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product
from typing import Any

_LINE = 80


def _exponent(value: float) -> int:
    return math.floor(math.log10(value)) + 1 if value else 1


def _layout(values: list[float]) -> tuple[float, int, Callable[[float], str]]:
    """(factor, width, format) that fit all of the values."""
    finite = [abs(v) for v in values if math.isfinite(v)]
    most, least = _exponent(max(finite, default=1)), _exponent(min(finite, default=1))
    if all(v == math.floor(v) for v in finite):
        return (1, 11, "{:.4e}".format) if most > 9 else (1, most + 1, "{:g}".format)
    if most - least > 4:
        return 1, 12 if max(abs(most), abs(least)) > 99 else 11, "{:.4e}".format
    if most > 5 or most < 0:
        return 10.0 ** (most - 1), 7, "{:.4f}".format
    return 1, most + 6 if most else 7, "{:.4f}".format


def _matrix(rows: list[list[float]], indent: str) -> str:
    factor, width, form = _layout([v for row in rows for v in row])
    columns = max(1, (_LINE - len(indent)) // (width + 1))
    text = f"{indent}{factor:g} *\n" if factor != 1 else ""
    count = len(rows[0])
    for start in range(0, count, columns):
        stop = min(start + columns, count)
        if columns < count:
            text += ("\n" if start else "") + f"Columns {start + 1} to {stop}"
        lines = (" ".join(form(v / factor).rjust(width) for v in row[start:stop]) for row in rows)
        text += f"\n{indent}".join(lines) + "\n"
    return text


def _column(values: list[float]) -> str:
    factor, width, form = _layout(values)
    return (f"{factor:g} *\n" if factor != 1 else "") + "".join(form(v / factor).rjust(width) + "\n" for v in values)


def text_of(tensor: Any, type_text: str) -> str:
    """What ``operator<<`` writes: the values, as real numbers, and ``[ CPUFloatType{2,3} ]``."""
    import shim_torch

    last = f"[ {type_text}{{{','.join(map(str, tensor.shape))}}} ]"
    if tensor.numel() == 0 or tensor.device.type == "meta":
        return last
    dense = tensor.detach().to_dense() if tensor.layout != shim_torch.strided else tensor.detach()
    values = (dense.real if dense.is_complex() else dense).to("cpu", shim_torch.float64)
    if values.dim() == 0:
        return f"{values.item():.17g}\n{last}"
    if values.dim() == 1:
        return _column(values.tolist()) + last
    if values.dim() == 2:
        return _matrix(values.tolist(), "") + last
    slices = []
    for at in product(*(range(n) for n in reversed(values.shape[:-2]))):
        index = at[::-1]
        slices.append(f"({','.join(str(i + 1) for i in index)},.,.) = \n" + _matrix(values[index].tolist(), " "))
    return "\n".join(slices) + last
