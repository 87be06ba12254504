"""Runs the samples of every operator over tensors whose storage was freed. Prints, as JSON, those that gave no error.

A program of its own: what reads freed memory ends the process. Each sample is named on stderr before it runs.
"""

import importlib
import json
import re
import sys
import warnings
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "autograd"), str(HERE.parent)]

import shim_torch as torch  # noqa: E402

OPS = """convolution spatial linalg fourier lists layers special names attention padding products corners samples"""
MODULES = ("gradient_samples", *(f"ops.{name}_cases" for name in OPS.split()))

TEXTS = ("not allocated yet", "setStorage", "unallocated storage")
LITERALS = re.compile("'[^']*'|\"[^\"]*\"")
# Its result comes without a look at the values.
WITHOUT_VALUES = re.compile(
    r"lambda|to\('meta'\)|is_same_size|is_set_to|get_device|is_complex|\.stride\(\)$|aten\.size\("
)


def expressions(module):
    cases = getattr(module, "CASES", None)
    return list(cases) if cases is not None else [e for listed in module.SAMPLES.values() for e in listed]


def outcome(expression, names):
    """ "ok", "freed" or the name of another error; values of results are asked for, so that views are read too."""
    try:
        got = eval(expression, dict(names))
        for t in got if isinstance(got, (tuple, list)) else [got]:
            if isinstance(t, torch.Tensor) and t.layout == torch.strided:
                t.detach().clone()
    except RuntimeError as error:
        return "freed" if any(text in str(error) for text in TEXTS) else "RuntimeError"
    except Exception as error:
        return type(error).__name__
    return "ok"


def forms(module, expression):
    """The expression, each of its tensors freed in turn; and with out= freed."""
    names = module.inputs(torch)
    if WITHOUT_VALUES.search(expression):
        return
    for name in sorted(set(re.findall(r"\b[A-Za-z]\w*", LITERALS.sub("", expression)))):
        if isinstance(names.get(name), torch.Tensor) and names[name].numel():
            yield f"{expression} without {name}", expression, name
    if expression.startswith("torch.") and expression.endswith(")") and "out=" not in expression:
        yield f"{expression} into freed memory", expression[:-1] + ", out=OUT)", "OUT"


def freed(module, expression, changed, name):
    """The outcome with and without the memory of ``name``."""
    before = outcome(expression, module.inputs(torch)) if name != "OUT" else "ok"
    names = module.inputs(torch)
    if name == "OUT":
        with torch.no_grad():
            made = eval(expression, dict(names))
        if type(made) is not torch.Tensor or not made.numel() or made.layout != torch.strided:
            return "", ""
        names["OUT"] = made.detach().clone()
    storage = names[name].untyped_storage()
    if not storage.resizable():
        names[name] = names[name].detach().clone()
        storage = names[name].untyped_storage()
    storage.resize_(0)
    with torch.set_grad_enabled(name != "OUT"):
        return before, outcome(changed, names)


def main():
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    counts, silent = {"freed": 0}, []
    for module in map(importlib.import_module, MODULES):
        for expression in expressions(module):
            for label, changed, name in forms(module, expression):
                print(label, file=sys.stderr, flush=True)
                try:
                    before, after = freed(module, expression, changed, name)
                except Exception:  # the sample itself is one of an error
                    continue
                if before != "ok":
                    continue
                counts[after] = counts.get(after, 0) + 1
                if after != "freed":
                    silent.append([after, label])
    print(json.dumps({"counts": counts, "others": silent}))


if __name__ == "__main__":
    main()
