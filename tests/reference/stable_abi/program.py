"""Loads the extension and prints what its operators do: ``python program.py EXTENSION`` with whatever torch is there."""

from __future__ import annotations

import sys
from typing import Any


def show(value: Any) -> str:
    """A value as a line that does not depend on which torch printed it."""
    if hasattr(value, "tolist") and hasattr(value, "stride"):
        values = [round(float(v), 6) for v in value.reshape(-1).tolist()]
        return f"Tensor {value.dtype} {tuple(value.shape)} {tuple(value.stride())} {values}"
    if isinstance(value, (tuple, list)):
        inner = ", ".join(show(v) for v in value)
        return f"({inner})" if isinstance(value, tuple) else f"[{inner}]"
    return repr(value)


def attempt(name: str, function: Any, *arguments: Any, **keywords: Any) -> str:
    """One line: the result, or the error's type and the first line of its text."""
    try:
        return f"{name}: {show(function(*arguments, **keywords))}"
    except Exception as error:
        text = str(error).splitlines()[0] if str(error) else ""
        return f"{name}: {type(error).__name__}: {text.split(' (originally from')[0]}"


def lines(torch: Any, path: str) -> list[str]:
    """Everything the extension can do, a line each."""
    torch.ops.load_library(path)
    ops = torch.ops.reference
    x = torch.arange(12, dtype=torch.float32).reshape(3, 4)
    out = [attempt(f"op {i}", ops.op, x.clone(), i) for i in range(28)]
    written = x.clone()
    out.append(f"in place: {ops.op(written, 0) is written} {show(written)}")
    for view in (x, x.t(), x[1:, ::2], x[:0], torch.tensor(3, dtype=torch.int16)):
        out.append(attempt("about", ops.about, view))
        out.append(attempt("values", ops.values, view))
    out.append(attempt("kinds", ops.kinds, 2**40, 0.1, True, "é", torch.bfloat16, torch.strided))
    out.append(attempt("optionals", ops.optionals))
    out.append(attempt("optionals", ops.optionals, 1, 2.0, None, x[0], torch.int8))
    out.append(attempt("optionals", ops.optionals, s="", x=None))
    out.append(attempt("lists", ops.lists, [1, 2], [x[0], x[1]], [None, x[2]], 3))
    out.append(attempt("lists", ops.lists, [], [], []))
    out.append(attempt("blob", ops.blob, 5))
    out.append(attempt("parallel", ops.parallel, 1000))
    out.append(attempt("chain", ops.chain, x))
    out.append(attempt("missing argument", ops.blob))
    out.append(attempt("wrong type", ops.blob, "text"))
    out.append(attempt("too many", ops.blob, 1, 2))
    out.append(attempt("no tensor", ops.about, 3))
    for name in ("op", "about", "values", "kinds", "optionals", "lists", "blob", "parallel", "chain"):
        out.append(f"schema: {getattr(ops, name).default._schema}")
    return out


if __name__ == "__main__":
    import torch

    print("\n".join(lines(torch, sys.argv[1])))
