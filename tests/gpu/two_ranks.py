"""Groups over NCCL on two GPUs: the programs of the simulated library's tests, beside PyTorch's own; run by hand, not by pytest.

two_ranks.py compare    the same programs by both, results equal to the bit
two_ranks.py alone      graphs, a collective that does not end, a rank that dies, training beside one process
two_ranks.py small      collectives of small tensors by our own kernels, beside NCCL's results, equal to the bit
two_ranks.py one        copies between GPUs, pieces of linear layers, training by copies; two processes on one GPU do it too
two_ranks.py sharded    losses of fully_shard beside one GPU's, here and by PyTorch
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

TESTS = Path(__file__).parents[1]
sys.path += [str(TESTS / "shim_torch" / "distributed"), str(TESTS.parent)]
import processes  # noqa: E402


def more(key: object, theirs: object) -> bool:
    """Whether PyTorch has no result: complex numbers in some collectives, and factors of bfloat16."""
    if not isinstance(key, tuple):
        return False
    errors = isinstance(theirs, tuple) and theirs[0] in ("TypeError", "RuntimeError")
    return (str(key[1]).startswith("complex") and errors) or key == ("premul", "bfloat16")


def both(program: str) -> None:
    found = []
    for torch in ("shim_torch", "torch"):
        folder = Path(tempfile.mkdtemp())
        began = time.monotonic()
        try:
            found.append(processes.together(2, "device_programs", program, folder, torch=torch))
        except AssertionError as error:
            print(f"{program}: {torch} failed: {str(error)[-1500:]}")
            return
        print(f"{program}: {torch} {time.monotonic() - began:.1f} s")
    equal, refused, different = 0, 0, []
    for rank, (ours, theirs) in enumerate(zip(*found, strict=True)):
        pairs = (
            [(k, ours[k], theirs[k]) for k in ours]
            if isinstance(ours, dict)
            else [(i, *both) for i, both in enumerate(zip(ours, theirs, strict=True))]
        )
        for key, a, b in pairs:
            if a == b:
                equal += 1
            elif more(key, b):
                refused += 1
            else:
                different.append((key, rank, a, b))
    print(f"{program}: {equal} equal, {refused} that only ours does, {len(different)} different")
    for key, rank, a, b in different[:: max(1, len(different) // 14)]:
        print("  ", key, "rank", rank, "| ours", str(a)[:160], "| theirs", str(b)[:160])


def alone() -> None:
    programs = (("graphs", (), ()), ("stuck", ("2",), ()), ("lost", (), (1,)), ("trained", (), ()))
    for program, args, dies in programs:
        module = "device_training" if program in ("graphs", "trained") else "device_programs"
        folder = Path(tempfile.mkdtemp())
        began = time.monotonic()
        try:
            found = processes.together(2, module, program, folder, *args, dies=dies)
            print(program, f"{time.monotonic() - began:.1f} s", found)
        except AssertionError as error:
            print(program, "failed:", str(error)[-1500:])


def sharded() -> None:
    for options in ({"steps": 20}, {"half": True, "steps": 6}):
        for torch in ("shim_torch", "torch"):
            folder = Path(tempfile.mkdtemp())
            try:
                found = processes.together(2, "device_training", "sharded", folder, options, torch=torch)
                gaps = " ".join(f"{b - a:+.2g}" for a, b in zip(*found[0], strict=True))
                print(f"{options} {torch}: loss less one GPU's {gaps}")
            except AssertionError as error:
                print(f"{options} {torch} failed: {str(error)[-700:]}")


def small() -> None:
    for program in ("every", "sizes", "mixed", "lost"):
        found = []
        for ours in ("1", "0") if program != "lost" else ("1",):
            folder = Path(tempfile.mkdtemp())
            dies = (1,) if program == "lost" else ()
            env = {"SHIM_SMALL_COLLECTIVES": ours}
            try:
                found.append(processes.together(2, "device_small", program, folder, dies=dies, env=env))
            except AssertionError as error:
                print(f"{program} {ours} failed: {str(error)[-900:]}")
                break
        if program == "lost":
            print(program, found and found[0][0])
        elif program == "sizes":
            wrong = [
                (k, v) for f in found for rank in f for k, v in rank.items() if v not in (0, (0, True), (0, False))
            ]
            print(program, sum(isinstance(v, tuple) and v[1] for v in found[0][0].values()), "ours; wrong:", wrong[:9])
        elif len(found) == 2:
            pairs = [(a, b) if program == "mixed" else (a["found"], b["found"]) for a, b in zip(*found, strict=True)]
            keys = range(len(pairs[0][0]) - 1) if program == "mixed" else pairs[0][0]
            different = [(k, a[k], b[k]) for a, b in pairs for k in keys if a[k] != b[k]]
            ours = found[0][0][-1] if program == "mixed" else len(found[0][0]["ours"])
            print(f"{program}: {ours} ours, {len(keys)} cases, {len(different)} different")
            for case in different[:8]:
                print("  ", str(case)[:300])


def one() -> None:
    import shim_torch as torch

    alone = torch.cuda.device_count() < 2
    for program, args in [
        ("collectives", (alone,)),
        ("lost", ()),
        ("pieces", ()),
        *(("trained", (how,)) for how in ("ddp", "float32", "bfloat16")),
    ]:
        folder = Path(tempfile.mkdtemp())
        began = time.monotonic()
        try:
            found = processes.together(
                2, "device_copies", program, folder, *args, dies=(1,) if program == "lost" else ()
            )
        except AssertionError as error:
            print(program, "failed:", str(error)[-900:])
            continue
        if program == "trained":
            means = [sum(pair) / 2 for pair in zip(*(f[0] for f in found), strict=True)]
            gaps = " ".join(f"{a - b:+.2g}" for a, b in zip(means, found[0][1], strict=True))
            print(f"{args[0]}: loss less one process's {gaps}; weights within {max(f[2] for f in found):.2g}")
        else:
            print(program, f"{time.monotonic() - began:.1f} s", found[0])


if __name__ == "__main__":
    os.environ.setdefault("NCCL_NVLS_ENABLE", "0")
    processes.DEADLINE = 30.0
    if sys.argv[1] == "compare":
        for name in ("reductions", "movements", "together"):
            both(name)
    elif sys.argv[1] == "one":
        one()
    elif sys.argv[1] == "small":
        small()
    elif sys.argv[1] == "sharded":
        sharded()
    else:
        alone()
