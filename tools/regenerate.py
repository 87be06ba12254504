#!/usr/bin/env python3
"""Writes the tables taken from PyTorch's public interface, and the expected values of tests that PyTorch gives.

    regenerate.py [--check] [--ours PYTHON] [FILE …]

Run with the Python of an environment that has PyTorch 2.13 (``make test-reference`` makes one). ``--check`` writes nothing, says
which files hold something else and how, and then exits 1. FILE: paths from the root, all files without. Some tables name what
PyTorch has and we do not: ``--ours`` is the Python of an environment with shim-torch (the default: ``.venv/bin/python``).
Files: ``FILES`` of the modules in ``regenerating``. Each is made in a process of its own.
"""

import argparse
import importlib
import multiprocessing
import os
import pkgutil
import sys
import time
import traceback
import warnings
from pathlib import Path

import regenerating
from regenerating.comparing import difference

ROOT = Path(__file__).resolve().parents[1]
VERSION = "2.13."


def makers():
    """By path from the root: what makes the file's text or bytes, and the version of Python that it needs, or None."""
    found = {}
    for entry in pkgutil.iter_modules(regenerating.__path__):
        module = importlib.import_module(f"regenerating.{entry.name}")
        python = getattr(module, "PYTHON", None)
        found |= {path: (make, python) for path, make in getattr(module, "FILES", {}).items()}
    return found


def made(path):
    """What the file should hold, as bytes; an error's text, else None; seconds."""
    warnings.simplefilter("ignore")  # of deprecated names that are only listed
    start = time.perf_counter()
    try:
        content = makers()[path][0]()
    except Exception:
        return path, None, traceback.format_exc(), time.perf_counter() - start
    return path, content.encode() if isinstance(content, str) else content, None, time.perf_counter() - start


def handle(path, content, check):
    """Says how the file differs, and writes it unless ``check``; whether it did differ."""
    file = ROOT / path
    how = difference(path, file.read_bytes(), content) if file.exists() else ["is not there"]
    if how:
        print(path, *how, sep="\n    ", flush=True)
        if not check:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
    return bool(how)


def main():
    """Writes the files that changed, or with ``--check`` says which differ; exits with 1 where one does or failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 where a file differs")
    parser.add_argument(
        "--ours", default=ROOT / ".venv/bin/python", help="the Python of an environment with shim-torch"
    )
    parser.add_argument("--times", action="store_true", help="say how long each file took")
    parser.add_argument("files", nargs="*", metavar="FILE")
    given = parser.parse_args()
    for name in [n for n in os.environ if n == "CI" or n.startswith(("TORCH", "PYTORCH", "TRITON", "CUDA"))]:
        del os.environ[name]  # settings have their defaults
    os.environ["SHIM_TORCH_PYTHON"] = os.path.abspath(given.ours)
    import torch

    if not torch.__version__.startswith(VERSION):
        parser.error(f"PyTorch {VERSION}x is needed, this is {torch.__version__}")
    torch.set_num_threads(1)
    known = makers()
    if unknown := set(given.files) - known.keys():
        parser.error(f"not written here: {', '.join(sorted(unknown))}")
    paths = [path for path in given.files or known if known[path][1] in (None, sys.version_info[:2])]
    for path in given.files or known:
        if path not in paths:
            print(f"{path} is left as it is: it is written with Python {'.'.join(map(str, known[path][1]))}")
    differ = failed = 0
    with multiprocessing.get_context("fork").Pool(2, maxtasksperchild=1) as pool:
        for path, content, error, seconds in pool.imap_unordered(made, paths):
            if given.times:
                print(f"{seconds:6.2f} s  {path}", flush=True)
            if error:
                failed += 1
                print(path, error, sep="\n", flush=True)
            else:
                differ += handle(path, content, given.check)
    print(f"{len(paths)} files, {differ} {'differ' if given.check else 'written anew'}, {failed} failed")
    sys.exit(bool(failed or given.check and differ))


if __name__ == "__main__":
    main()
