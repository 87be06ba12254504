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
