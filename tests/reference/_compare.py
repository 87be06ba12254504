"""The same calls in two interpreters: one with this project, one with a real PyTorch; results meet as NumPy arrays.

A case is an expression over ``torch``, ``F`` (torch.nn.functional) and named inputs that both sides build from the same
seed. Recorded are values, dtype, shape, strides, storage sharing, gradients, second gradients, or the error.
"""

from __future__ import annotations

import importlib
import os
import warnings
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

# Where this side's tensors are: the answers of PyTorch's CPU are compared with other devices too.
DEVICE = os.environ.get("SHIM_TORCH_REFERENCE_DEVICE", "cpu")
FLOATS = ("float32", "float64", "float16", "bfloat16")
INTS = ("uint8", "int8", "int16", "int32", "int64")
COMPLEX = ("complex64", "complex128")
# Relative and absolute tolerance by dtype: the defaults of torch.testing.assert_close.
TOLERANCE = {
    "float16": (1e-3, 1e-5), "bfloat16": (1.6e-2, 1e-5), "float32": (1.3e-6, 1e-5), "float64": (1e-7, 1e-7),
    "complex32": (1e-3, 1e-5), "complex64": (1.3e-6, 1e-5), "complex128": (1e-7, 1e-7),
}  # fmt: skip
# NumPy has no such dtypes: as what their values are kept.
WIDER = {"torch.bfloat16": "float32", "torch.float16": "float32", "torch.complex32": "complex64"}


@dataclass(frozen=True)
class Input:
    """A tensor to build: ``form`` picks the values, ``layout`` the strides."""

    shape: tuple[int, ...] = ()
    dtype: str = "float32"
    form: str = "normal"
    layout: str = "contiguous"
    grad: bool = True


@dataclass(frozen=True)
class Stored:
    """A tensor whose very bytes are given: what lies at ``offset`` of ``data`` with these strides."""

    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    data: np.ndarray
    offset: int = 0
    grad: bool = False
    layout: str = ""
    form: str = ""

    def tensor(self, torch: Any) -> Any:
        dtype = getattr(torch, self.dtype)
        flat = torch.from_numpy(self.data.copy()).to(DEVICE)
        t = torch.as_strided(
            flat.view(dtype) if flat.numel() else flat.to(dtype), self.shape, self.strides, self.offset
        )
        return t.requires_grad_() if self.grad else t


@dataclass(frozen=True)
class Case:
    """One call; ``grad`` compares gradients (2: second ones too), ``exact_text`` the whole message of an error."""

    code: str
    inputs: dict[str, Any] = field(default_factory=dict)
    grad: int = 2
    exact_text: bool = True
    strides: bool = True
    tolerance: float = 1.0

    @property
    def name(self) -> str:
        described = ", ".join(
            f"{n}={i.dtype}{list(i.shape)}{i.form[:3]}{'' if i.layout == 'contiguous' else '~'}"
            for n, i in self.inputs.items()
        )
        return f"{self.code}  [{described}]"


def T(
    *shape: int, dtype: str = "float32", form: str = "normal", layout: str = "contiguous", grad: bool = True
) -> Input:
    """Shorthand of :class:`Input`."""
    return Input(shape, dtype, form, layout, grad)


EDGES = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, -2.5, 2.0, 3.0, -3.0, 6.0, np.inf, -np.inf, np.nan, 100.0, -100.0, 1e-3]


def array_of(name: str, spec: Input) -> np.ndarray:
    """The values both sides start from."""
    rng = np.random.default_rng(zlib.crc32(f"{name}{spec}".encode()))
    n = int(np.prod(spec.shape))
    if spec.form == "edges":
        flat = np.resize(np.array(EDGES), n) if spec.dtype not in INTS else rng.integers(-3, 4, n).astype(float)
    elif spec.form == "ties":
        flat = rng.integers(-2, 3, n).astype(float)
    elif spec.form == "positive":
        flat = rng.uniform(0.2, 3, n)
    elif spec.form == "unit":
        flat = rng.uniform(-0.9, 0.9, n)
    elif spec.form == "above":
        flat = rng.uniform(1.1, 4, n)
    elif spec.form == "distinct":
        flat = rng.permutation(n).astype(float) - n // 2
    elif spec.form == "ones":
        flat = rng.integers(0, 2, n).astype(float)
    elif spec.form == "index":
        flat = rng.integers(0, 3, n).astype(float)
    elif spec.form == "nan":
        flat = np.where(rng.uniform(size=n) < 0.3, np.nan, rng.standard_normal(n))
    else:
        flat = rng.standard_normal(n) * 2
    if spec.dtype == "bool":
        return (rng.uniform(size=n) < 0.5).reshape(spec.shape)
    if spec.dtype in INTS:
        low = 1 if spec.form in ("positive", "above") else -6
        whole = flat if spec.form in ("ties", "distinct", "index", "ones") else rng.integers(low, 9, n)
        if spec.dtype == "uint8":
            whole = np.abs(whole)
        return whole.astype(spec.dtype).reshape(spec.shape)
    if spec.dtype in COMPLEX:
        return (flat + 1j * rng.standard_normal(n)).astype(spec.dtype).reshape(spec.shape)
    return flat.astype("float32" if spec.dtype in ("float16", "bfloat16") else spec.dtype).reshape(spec.shape)


def build(torch: Any, name: str, spec: Input | Stored) -> Any:
    """The input as a leaf tensor of one side."""
    if isinstance(spec, Stored):
        return spec.tensor(torch)
    t = torch.from_numpy(array_of(name, spec).copy()).to(device=DEVICE, dtype=getattr(torch, spec.dtype))
    if spec.layout == "transposed" and t.dim() > 1:
        t = t.transpose(0, -1).contiguous().transpose(0, -1)
    elif spec.layout == "strided" and t.dim() > 0:
        wide = torch.zeros((*t.shape[:-1], t.shape[-1] * 2), dtype=t.dtype, device=DEVICE)
        wide[..., ::2] = t
        t = wide[..., ::2]
    elif spec.layout == "expanded" and t.dim() > 0:
        t = t[:1].expand(t.shape)
    t = t.detach()
    if spec.grad and (t.is_floating_point() or t.is_complex()):
        t.requires_grad_()
    return t


def plain(torch: Any, value: Any, strides: bool) -> Any:
    """A result as picklable data."""
    if isinstance(value, torch.Tensor):
        t = value.detach()
        wider = WIDER.get(str(t.dtype))
        bits = t.to(getattr(torch, wider)) if wider else t.resolve_conj().resolve_neg()
        data = None if t.device.type == "meta" else bits.numpy(force=True).copy()
        return ("tensor", str(t.dtype), tuple(t.shape), tuple(t.stride()) if strides else None, data)
    if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
        names = [n for n in ("values", "indices", "min", "max", "mantissa", "exponent") if hasattr(value, n)]
        return (type(value).__name__ if names else "sequence", [plain(torch, v, strides) for v in value], names)
    if isinstance(value, (torch.dtype, torch.device, torch.layout, torch.Size)):
        return ("text", str(value))
    return ("value", type(value).__name__, value)


def tensors_in(torch: Any, value: Any) -> list[Any]:
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [t for v in value for t in tensors_in(torch, v)]
    return []


def weighted(torch: Any, outs: list[Any]) -> Any:
    """A scalar that weighs every element of every output differently."""
    total = None
    for i, t in enumerate(outs):
        w = torch.from_numpy(np.cos(np.arange(t.numel()) * 0.7 + i).reshape(tuple(t.shape))).to(t.device, t.dtype)
        part = (t * w).sum()
        part = torch.view_as_real(part).sum() if part.is_complex() else part
        total = part if total is None else total + part.to(total.dtype)
    return total


def gradients(torch: Any, leaves: list[Any], outs: list[Any], order: int) -> list[Any]:
    outs = [t for t in outs if t.requires_grad]
    found: list[Any] = []
    for _ in range(order):
        if not outs:
            break
        total = weighted(torch, outs)
        got = torch.autograd.grad(total, leaves, create_graph=True, allow_unused=True)
        found.append([None if g is None else plain(torch, g, False) for g in got])
        outs = [g for g in got if g is not None and g.requires_grad]
    return found


def outcome(torch: Any, functional: Any, case: Case) -> dict[str, Any]:
    """What one side answers to one case."""
    names = {n: build(torch, n, s) for n, s in case.inputs.items()}
    leaves = [t for t in names.values() if t.requires_grad]
    scope = {"torch": torch, "F": functional, "np": np, **names}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = eval(case.code, scope)
    except Exception as error:
        return {"error": (type(error).__name__, str(error).split("\n")[0].replace("torch.cuda.", "torch."))}
    found: dict[str, Any] = {"value": plain(torch, value, case.strides)}
    outs = tensors_in(torch, value)
    starts = {n: t.untyped_storage().data_ptr() for n, t in names.items() if t.numel()}
    found["shares"] = [
        sorted(n for n, p in starts.items() if o.numel() and o.untyped_storage().data_ptr() == p) for o in outs
    ]
    found["requires_grad"] = [o.requires_grad for o in outs]
    found["inputs"] = (
        [plain(torch, t, False) for t in names.values()] if "_(" in case.code or "out=" in case.code else []
    )
    if case.grad and leaves:
        try:
            found["grad"] = gradients(torch, leaves, outs, case.grad)
        except Exception as error:
            found["grad"] = ("error", type(error).__name__, str(error).split("\n")[0])
    return found


def evaluate(module: str, cases: Iterable[Case]) -> list[dict[str, Any]]:
    """All cases on the side whose torch is ``module``."""
    torch = importlib.import_module(module)
    functional = importlib.import_module(f"{module}.nn.functional")
    found = []
    for case in cases:
        try:
            found.append(outcome(torch, functional, case))
        except Exception as error:  # the harness itself failed: shown, never hidden
            found.append({"broken": f"{type(error).__name__}: {error}"})
    return found


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
