"""What differs from the stored answers of PyTorch: ``python _report.py FOLDER [--write] [PATTERN]``.

``known_differences.txt`` says how many cases of an operator may differ; ``--write`` records today's counts.
"""

from __future__ import annotations

import pickle
import re
import sys
from collections import defaultdict
from pathlib import Path

from _compare import Case, evaluate
from _difference import compare
from _peer import families

KNOWN = Path(__file__).parent / "known_differences.txt"
OPERATOR = re.compile(r"(torch\.[\w.]+|F\.\w+|\w+(?:\.clone\(\))?\.\w+|\S+)")


# Why operators differ, and will: what the rest is about are texts and corner cases that are still to be mended.
REASONS = {
    "equal elements come in the order they had (PyTorch leaves it open)": r"(topk|kthvalue|sort|argsort|mode)$",
    "computed in a wider type and rounded once, or by a finer approximation": r"(addbmm|polygamma_?|grid_sampler?(_[23]d)?"
    r"|adaptive_avg_pool3d|logit_?|i0|i1|ndtr|matrix_exp|matrix_power|native_batch_norm|native_layer_norm|pow|float_power|xlogy|log_ndtr)$",
    "eigenvectors are known up to a factor, which each LAPACK chooses": r"linalg\.(eig|eigh)$",
    "PyTorch has no gradient or a wrong one where ours is right": r"(acosh_|asinh_|atanh_|as_strided_scatter|chalf|ldexp|relu)$",
    "an in-place operator does not change its tensor's size": r"(addbmm_|addr_)$",
    "NumPy has no more than 64 dims": r"(amax|amin|aminmax)$",
    "numbers are taken in places where PyTorch's overloads want a tensor": r"torch\.(eq|ne|lt|le|gt|ge|fmod|copysign|rsub"
    r"|bitwise_\w+|special\.(xlog1py|zeta))$",
    "random numbers are each library's own": r"multi_head_attention_forward$",
    "a dim of size 1 that indexing makes has another stride": r"^x\[",
}


def reason(name: str) -> str:
    """Why an operator's cases differ; nothing where they are still to be mended."""
    return next((why for why, names in REASONS.items() if re.search(names, name)), "")


def operator(case: Case) -> str:
    """What a case is counted under: the name it calls."""
    found = OPERATOR.match(case.code)
    return found.group(1) if found else case.code


def differences(folder: Path, family: str, pattern: str = "") -> dict[str, list[str]]:
    """The differing cases of a family in words, by operator."""
    with open(folder / f"{family}.pickle", "rb") as file:
        cases, answers = pickle.load(file)
    if pattern:
        chosen = [(c, a) for c, a in zip(cases, answers, strict=True) if re.search(pattern, c.code)]
        cases, answers = [c for c, _ in chosen], [a for _, a in chosen]
    found: dict[str, list[str]] = defaultdict(list)
    for case, mine, theirs in zip(cases, evaluate("shim_torch", cases), answers, strict=True):
        what = compare(case, mine, theirs)
        if what:
            found[operator(case)].append(f"{case.name}\n        {what[:400]}")
    return found


def group(family: str) -> str:
    return family.rstrip("0123456789")


def known() -> dict[tuple[str, str], int]:
    """How many cases of (group, operator) may differ."""
    table: dict[tuple[str, str], int] = {}
    for line in KNOWN.read_text().splitlines():
        if line and not line.startswith("#"):
            count, of, name = line.split(" ", 2)
            table[of, name] = int(count)
    return table


def write(folder: Path) -> None:
    counts: dict[tuple[str, str], int] = defaultdict(int)
    for family in families():
        for name, cases in differences(folder, family).items():
            counts[group(family), name] += len(cases)
    lines = ["# Cases that still differ from PyTorch: count, group, operator. Written by _report.py --write."]
    for why in ("", *REASONS):
        found = [f"{count} {of} {name}" for (of, name), count in sorted(counts.items()) if reason(name) == why]
        lines += [f"# {why or 'texts and corner cases, still to be mended'}", *found] if found else []
    KNOWN.write_text("\n".join(lines) + "\n")
    print(f"{sum(counts.values())} cases of {len(counts)} operators differ")


def main() -> None:
    folder, options = Path(sys.argv[1]), sys.argv[2:]
    if "--write" in options:
        write(folder)
        return
    for family in families():
        for name, cases in differences(folder, family, options[0] if options else "").items():
            print(f"## {family} {name}: {len(cases)}", *cases[:20], sep="\n    ")


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    main()
