"""Expressions whose values, gradients or errors real PyTorch gave once; they are stored beside the tests.

A cases module has ``inputs(torch)`` (names for the expressions) and ``CASES``. The stored outcome is compact: dtype, shape
and values to 6 digits of each result, and of each leaf's gradient of the weighted sum of the results. ``tools/regenerate.py``
stores it.
"""

import importlib
import json
import warnings
from functools import cache
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent


@cache
def stored(cases):
    """The outcomes that PyTorch gave for a cases module's expressions: a family's is named ``kind/family_cases``."""
    return json.loads((HERE / "expected" / f"{cases}.json").read_text())


def pattern(torch, *shape, seed=1, dtype=None):
    """Values without structure, the same in every interpreter."""
    count = int(np.prod(shape))
    values = np.sin(np.arange(1, count + 1) * (12.9898 + seed)) * 43758.5453
    values = (values - np.floor(values)) * 4 - 2
    made = torch.from_numpy(np.round(values, 3).reshape(shape))
    return made.to(torch.get_default_device(), dtype or torch.float32)


def _digits(value):
    return value if isinstance(value, (bool, int)) or value != value else float(f"{value:.6g}")


def _listed(torch, value):
    if isinstance(value, torch.Tensor):
        data = value.detach().resolve_conj()
        if data.is_complex():
            data = torch.view_as_real(data)
        if data.dtype.is_floating_point:
            data = data.to(torch.float64)
        flat = [_digits(x) for x in data.reshape(-1).tolist()]
        return [str(value.dtype), list(value.shape), flat]
    if isinstance(value, (list, tuple)):
        return [_listed(torch, v) for v in value]
    return value if isinstance(value, (bool, int, float, str, type(None))) else str(value)


def _tensors(torch, value):
    if isinstance(value, torch.Tensor):
        return [value]
    return [t for v in value for t in _tensors(torch, v)] if isinstance(value, (list, tuple)) else []


def results(torch, cases, expression):
    """What an expression gives, and the gradients by name of a weighted sum of it."""
    names = cases.inputs(torch)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = eval(expression, dict(names))
        total = None
        for t in _tensors(torch, result):
            if not t.requires_grad:
                continue
            w = torch.arange(t.numel(), dtype=torch.float64).mul(0.37).cos().reshape(t.shape)
            part = (t * w.to(t.real.dtype if t.is_complex() else t.dtype)).sum()
            part = part.real + part.imag * 0.5 if part.is_complex() else part
            total = part if total is None else total + part
        if total is not None:
            total.backward()
    return result, {n: t.grad for n, t in names.items() if isinstance(t, torch.Tensor) and t.grad is not None}


def error_of(error):
    """["error", type, text's first line]."""
    return ["error", type(error).__name__, str(error).splitlines()[0]]


def outcome(torch, cases, expression):
    """["values", results, gradients by name] or ["error", type, text's first line]."""
    try:
        result, gradients = results(torch, cases, expression)
    except Exception as e:
        return error_of(e)
    return ["values", _listed(torch, result), {n: _listed(torch, g) for n, g in gradients.items()}]


def tolerance(expression):
    """Relative to the largest value: a few units in the last place of the narrowest dtype that the expression names."""
    if "bfloat16" in expression:
        return 1.6e-2
    return 6e-3 if "half()" in expression else 1e-3 if "_scaled_mm" in expression else 2e-5  # fp8 sums have 14 bits


def difference(got, wanted, where="", rtol=2e-5):
    """What first differs, or None."""
    if isinstance(wanted, dict):
        if got.keys() != wanted.keys():
            return f"{where}: {sorted(got)} instead of {sorted(wanted)}"
        return next((d for k in wanted if (d := difference(got[k], wanted[k], f"{where}.{k}", rtol))), None)
    if isinstance(wanted, list):
        if (
            len(wanted) == 3
            and isinstance(wanted[0], str)
            and wanted[0].startswith("torch.")
            and isinstance(wanted[2], list)
        ):
            return _tensor_difference(got, wanted, where, rtol)
        if not isinstance(got, list) or len(got) != len(wanted):
            return f"{where}: {got} instead of {wanted}"
        pairs = enumerate(zip(got, wanted, strict=True))
        return next((d for i, (g, w) in pairs if (d := difference(g, w, f"{where}[{i}]", rtol))), None)
    if isinstance(wanted, float):
        return None if np.isclose(got, wanted, rtol, 1e-6, equal_nan=True) else f"{where}: {got} instead of {wanted}"
    return None if got == wanted else f"{where}: {got!r} instead of {wanted!r}"


def _tensor_difference(got, wanted, where, rtol):
    if got[:2] != wanted[:2]:
        return f"{where}: {got[:2]} instead of {wanted[:2]}"
    a, b = np.array(got[2], float), np.array(wanted[2], float)
    scale = float(np.max(np.abs(b[np.isfinite(b)]), initial=0.0))
    if np.allclose(a, b, rtol, rtol * max(scale, 0.05), equal_nan=True):
        return None
    with np.errstate(all="ignore"):
        error = np.where(np.isclose(a, b, rtol, rtol * max(scale, 0.05), equal_nan=True), 0.0, np.abs(a - b))
    at = int(np.nan_to_num(error, nan=np.inf).argmax())
    return f"{where}: at {at}, {a[at]:.7g} instead of {b[at]:.7g}; {(error != 0).sum()} of {error.size} differ; {a[:6]} {b[:6]}"


def mismatch(torch, cases, expression):
    """How an expression's outcome differs from what PyTorch gave for it, or None."""
    expected = stored(cases.__name__.removeprefix(f"{__package__}.").replace(".", "/"))[expression]
    return difference(outcome(torch, cases, expression), expected, rtol=tolerance(expression))


def written(torch, name):
    """What a cases module's expressions give with PyTorch, to be stored."""
    cases = importlib.import_module(f".{name.replace('/', '.')}", __package__)
    found = {e: outcome(torch, cases, e) for e in cases.CASES}
    lines = ",\n".join(f"{json.dumps(e)}: {json.dumps(o, separators=(',', ':'))}" for e, o in found.items())
    return "{\n" + lines + "\n}\n"
