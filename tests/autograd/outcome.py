"""What a case gives, as JSON: values of tensors, types and texts of errors and warnings. Runs with any torch.

``tools/regenerate.py`` writes the answers of PyTorch, which tests compare with.
"""

import importlib
import json
import math
import re
import warnings


def plain(x):
    """A value without its object identities."""
    if hasattr(x, "detach") and hasattr(x, "tolist"):
        return [type(x).__name__, str(x.dtype), plain(x.detach().tolist()), x.requires_grad]
    if isinstance(x, (list, tuple)):
        return [plain(v) for v in x]
    if isinstance(x, dict):
        return {str(k): plain(v) for k, v in x.items()}
    if isinstance(x, complex):
        return [x.real, x.imag]
    if isinstance(x, float):
        return "nan" if math.isnan(x) else float(f"{x:.5g}")
    if x is None or isinstance(x, (bool, int)):
        return x
    return re.sub(r"0x[0-9a-f]+", "0x", str(x)).replace("shim_torch", "torch")


def attempt(function, *args, **kwargs):
    """The value, or the error's type and first line."""
    try:
        return function(*args, **kwargs)
    except Exception as error:  # the case is about the error
        return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"


def leaf_of(torch, *values):
    """A leaf of these values, or of 1, 2, 3."""
    return torch.tensor(values or (1.0, 2.0, 3.0), requires_grad=True)


def function_of(torch, forward, backward=None, **members):
    """An autograd.Function with these static methods; without a backward the gradients pass."""
    body = {"forward": staticmethod(forward), "backward": staticmethod(backward or (lambda ctx, *g: g)), **members}
    return type(torch.autograd.Function)("Mine", (torch.autograd.Function,), body)


def outcome(torch, case):
    """What a case returns, and what it warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        value = attempt(case, torch)
    texts = sorted(
        {plain(w.message).splitlines()[0].split(" (Triggered")[0] for w in caught if w.category is not ResourceWarning}
    )
    return {"value": plain(value), "warnings": texts}


def cases_of(module):
    return {
        k: v
        for k, v in vars(module).items()
        if callable(v) and getattr(v, "__module__", "") == module.__name__ and not k.startswith("_")
    }


def written(torch, name):
    """What the cases of a module give with PyTorch, to be stored."""
    found = cases_of(importlib.import_module(name))
    return json.dumps({name: outcome(torch, case) for name, case in found.items()}, indent=1) + "\n"
