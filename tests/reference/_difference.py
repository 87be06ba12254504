"""What differs between the answers of two interpreters to one case, in words."""

from __future__ import annotations

from typing import Any

import numpy as np
from _compare import Case

# Relative and absolute tolerance by dtype: the defaults of torch.testing.assert_close.
TOLERANCE = {
    "float16": (1e-3, 1e-5), "bfloat16": (1.6e-2, 1e-5), "float32": (1.3e-6, 1e-5), "float64": (1e-7, 1e-7),
    "complex32": (1e-3, 1e-5), "complex64": (1.3e-6, 1e-5), "complex128": (1e-7, 1e-7),
}  # fmt: skip


def close(mine: Any, theirs: Any, dtype: str, scale: float) -> bool:
    relative, absolute = TOLERANCE.get(dtype.removeprefix("torch."), (0.0, 0.0))
    if mine.dtype.kind in "fc":
        with np.errstate(all="ignore"):
            return bool(np.allclose(mine, theirs, rtol=relative * scale, atol=absolute * scale, equal_nan=True))
    return bool((mine == theirs).all())


def difference(mine: Any, theirs: Any, scale: float, path: str = "result") -> str | None:
    """The first thing in which two plain results differ, in words."""
    if mine is None or theirs is None or mine[0] != theirs[0]:
        return None if mine is theirs else f"{path}: {_short(mine)}, PyTorch {_short(theirs)}"
    if mine[0] == "tensor":
        for what, a, b in zip(("dtype", "shape", "strides"), mine[1:4], theirs[1:4], strict=True):
            if a != b and not (what == "strides" and 0 in mine[2]):
                return f"{path}: {what} {a}, PyTorch {b}"
        if mine[4] is not None and theirs[4] is not None and not close(mine[4], theirs[4], mine[1], scale):
            return f"{path}: {_short(mine)}, PyTorch {_short(theirs)}"
        return None
    if mine[0] in ("text", "value"):
        same = mine[1:] == theirs[1:]
        if not same and mine[0] == "value" and mine[1] == theirs[1] == "float":
            same = bool(np.isclose(mine[2], theirs[2], rtol=1e-5, equal_nan=True))
        return None if same or repr(mine) == repr(theirs) else f"{path}: {mine[1:]}, PyTorch {theirs[1:]}"
    if len(mine[1]) != len(theirs[1]) or mine[2] != theirs[2]:
        return f"{path}: {len(mine[1])} results {mine[2]}, PyTorch {len(theirs[1])} {theirs[2]}"
    for i, (a, b) in enumerate(zip(mine[1], theirs[1], strict=True)):
        found = difference(a, b, scale, f"{path}[{i}]")
        if found:
            return found
    return None


def _short(value: Any) -> str:
    if value is not None and value[0] == "tensor":
        data = None if value[4] is None else value[4].ravel()[:8].tolist()
        return f"{value[1].removeprefix('torch.')}{list(value[2])} {data}"
    return str(value)[:160]


def compare(case: Case, mine: dict[str, Any], theirs: dict[str, Any]) -> str | None:
    """None where both sides agree; otherwise what differs."""
    for side, found in (("here", mine), ("PyTorch", theirs)):
        if "broken" in found:
            return f"harness, {side}: {found['broken']}"
    if "error" in mine or "error" in theirs:
        a, b = mine.get("error"), theirs.get("error")
        if a and b and a[0] == b[0] and (a[1] == b[1] or not case.exact_text):
            return None
        return f"error {a or _short(mine['value'])}, PyTorch {b or _short(theirs['value'])}"
    found = difference(mine["value"], theirs["value"], case.tolerance)
    if found:
        return found
    for what in ("shares", "requires_grad"):
        if mine[what] != theirs[what]:
            return f"{what} {mine[what]}, PyTorch {theirs[what]}"
    for i, (a, b) in enumerate(zip(mine["inputs"], theirs["inputs"], strict=True)):
        found = difference(a, b, case.tolerance, f"input {i} afterwards")
        if found:
            return found
    return _compare_gradients(mine.get("grad"), theirs.get("grad"), case.tolerance)


def _compare_gradients(mine: Any, theirs: Any, scale: float) -> str | None:
    if isinstance(mine, tuple) or isinstance(theirs, tuple):
        return (
            None
            if isinstance(mine, tuple) and isinstance(theirs, tuple)
            else f"gradient {str(mine)[:200]}, PyTorch {str(theirs)[:200]}"
        )
    for order, (a, b) in enumerate(zip(mine or [], theirs or [], strict=False), 1):
        for i, (x, y) in enumerate(zip(a, b, strict=True)):
            if x is None or y is None:  # an undefined gradient and one of zeros mean the same
                known = x if y is None else y
                if known is not None and known[4].any():
                    return f"gradient {order} of input {i}: {_short(x)}, PyTorch {_short(y)}"
                continue
            found = difference(x, y, scale * 4, f"gradient {order} of input {i}")
            if found:
                return found
    return None
