"""Expressions whose results, errors and warnings real PyTorch gave once; they are stored in ``expected``.

A cases module has ``names(torch)``, what the expressions use, and ``CASES``, an expression a line. ``tools/regenerate.py``
stores what they give.
"""

import importlib
import json
import math
import re
import warnings
from pathlib import Path

FOLDER = Path(__file__).with_name("expected")


def expressions(cases):
    """The expressions of a cases module."""
    return [line for line in cases.CASES.splitlines() if line and not line.startswith("#")]


def stored(name):
    """What PyTorch gave for the expressions of a cases module."""
    return json.loads((FOLDER / f"{name}.json").read_text())


def _plain(torch, value):
    """A value as JSON; of a tensor dtype, shape, whether it wants gradients, and up to twelve elements."""
    if isinstance(value, torch.Tensor):
        dtype = str(value.dtype).split(".")[-1]
        elements = [] if value.is_meta else value.detach().reshape(-1)[:12].tolist()
        return [dtype, list(value.shape), value.requires_grad, [_plain(torch, e) for e in elements]]
    if isinstance(value, (list, tuple)):
        return [_plain(torch, v) for v in value]
    if isinstance(value, dict):
        return {str(k): _plain(torch, v) for k, v in value.items()}
    if isinstance(value, float):
        return round(value, 5) if math.isfinite(value) else str(value)
    if value is None or isinstance(value, (bool, int)):
        return value
    return re.sub(r" at 0x[0-9a-f]+", "", str(value)).replace("shim_torch", "torch")


def outcome(torch, cases, expression):
    """The value (or "Error: text") and, where there are any, the warnings."""
    torch.manual_seed(0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            value = _plain(torch, eval(expression, cases.names(torch)))
        except Exception as error:
            value = f"{type(error).__name__}: {error}".split("\n didn't")[0]
    told = [str(w.message).split(" (Triggered")[0] for w in caught if "NNPACK" not in str(w.message)]
    return [value, *sorted(set(told))]


def same(got, wanted):
    """Whether two outcomes agree, numbers to four digits."""
    if isinstance(wanted, float) or isinstance(got, float):
        return isinstance(got, (int, float)) and math.isclose(got, wanted, rel_tol=1e-4, abs_tol=3e-5)
    if isinstance(wanted, list):
        return isinstance(got, list) and len(got) == len(wanted) and all(map(same, got, wanted))
    if isinstance(wanted, dict):
        return isinstance(got, dict) and list(got) == list(wanted) and all(same(got[k], wanted[k]) for k in wanted)
    return type(got) is type(wanted) and got == wanted


def written(torch, name):
    """What a cases module's expressions give with PyTorch, to be stored."""
    cases = importlib.import_module(name)
    lines = ",\n".join(f"{json.dumps(e)}: {json.dumps(outcome(torch, cases, e))}" for e in expressions(cases))
    return "{\n" + lines + "\n}\n"
