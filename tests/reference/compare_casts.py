"""Casts of float32 to narrow floats, bit by bit against PyTorch: ``compare_casts.py --peer-python PYTHON``."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile

import numpy as np

NAMES = "float16 bfloat16 float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz float8_e8m0fnu"


def inputs() -> np.ndarray:
    """Random bit patterns, values near the formats' limits, and special values; NaNs with one payload only."""
    rng = np.random.default_rng(1)
    x = np.concatenate(
        [
            rng.integers(0, 2**32, 200000, dtype=np.uint64).astype(np.uint32).view(np.float32),
            np.arange(-600, 600, 0.37).astype(np.float32),
            np.arange(57000, 66000, 0.7).astype(np.float32),
            (rng.standard_normal(50000) * 0.01).astype(np.float32),
            np.array([0, -0.0, np.inf, -np.inf], np.float32),
        ]
    )
    return x[~np.isnan(x)]


def codes(peer: bool) -> dict[str, np.ndarray]:
    """The bytes of each cast."""
    x = inputs()
    if peer:
        import torch

        return {n: torch.from_numpy(x).to(getattr(torch, n)).view(torch.uint8).numpy() for n in NAMES.split()}
    import importlib

    import shim_torch  # noqa: F401
    from shim_torch._impl.native import _core

    ops = importlib.import_module("shim_torch._impl.table.operators")

    ops.complete()
    cast = _core.function("aten::_to_copy")
    return {n: _core.to_numpy(cast(_core.from_numpy(x), dtype=getattr(_core, n))).view(np.uint8) for n in NAMES.split()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer-python", required=True)
    parser.add_argument("--write", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.write:
        np.savez(args.write, **codes(peer=True))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "peer.npz")
        command = [args.peer_python, os.path.abspath(__file__), "--peer-python", "", "--write", path]
        subprocess.run(command, check=True)
        theirs = dict(np.load(path))
    wrong = {n: int((mine != theirs[n]).sum()) for n, mine in codes(peer=False).items()}
    for name, count in wrong.items():
        print(f"{name:18}{count:8} of {inputs().size} differ")
    sys.exit(any(wrong.values()))


if __name__ == "__main__":
    main()
