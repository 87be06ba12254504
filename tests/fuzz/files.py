"""Files changed in their structure and given to ``torch.load``: no crash, no hang, no code run, no memory given away.

files.py [--seed S] [--seconds T | --count N]; --only N makes one file, says where, and loads it. Valid files of both
formats are changed by opcodes of their pickles, records and headers of their archives, counts of their storages.
"""

from __future__ import annotations

import argparse
import importlib
import io
import os
import random
import resource
import tempfile
from typing import Any

import file_contents
import harness
from archive_mutations import mutated_legacy, mutated_zip

# What PyTorch raises for these files too (--package torch), but for its AssertionErrors.
ALLOWED = frozenset(
    "UnpicklingError RuntimeError NotImplementedError TypeError ValueError EOFError KeyError AttributeError IndexError OverflowError UnicodeDecodeError".split()
)


class Load:
    """One file, loaded in one way. ``kind``: what it was made from and how it is loaded."""

    def __init__(
        self, torch: Any, valid: list[tuple[str, bytes]], watch: file_contents.Watch, path: str, seed: int, i: int
    ) -> None:
        self.torch, self.watch, self.path = torch, watch, path
        self.r = r = random.Random(f"file {seed} {i}")
        name, self.data = r.choice(valid)
        self.form = name.split()[0]
        self.way = r.choices(
            ("bytes", "path", "mmap", "meta", "cpu", "function", "dict", "names"), (50, 5, 15, 5, 5, 5, 5, 3)
        )[0]
        self.kind = f"{name} {self.way}"

    def shown(self) -> str:
        self.data = self.changed()
        self.changed = lambda: self.data  # type: ignore[method-assign]
        return f"{len(self.data)} bytes, in {self.path}" if self.written() else ""

    def changed(self) -> bytes:
        return (mutated_zip if self.form == "zip" else mutated_legacy)(self.r, self.data)

    def written(self) -> bool:
        with open(self.path, "wb") as file:
            file.write(self.data)
        return True

    def load(self) -> Any:
        torch, load = self.torch, self.torch.load
        if self.way == "path":
            return load(self.path)
        if self.way == "mmap":
            return load(self.path, mmap=True)
        if self.way == "names":
            return torch.serialization.get_unsafe_globals_in_checkpoint(self.path)
        places = {
            "meta": "meta",
            "cpu": torch.device("cpu"),
            "function": lambda s, _: s,
            "dict": {"cpu": "cpu", "cuda:0": "cpu"},
        }
        return load(io.BytesIO(self.data), map_location=places.get(self.way))

    def __call__(self) -> None:
        self.data = self.changed()
        if self.way in ("path", "mmap", "names"):
            self.written()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        self.watch.seen.clear()
        try:
            self.watch.armed = True
            loaded = self.load()
            for t in file_contents.tensors_in(loaded, self.torch):
                wrong = file_contents.fault(t, self.data, self.torch)
                if wrong:
                    raise harness.Finding(wrong)
                file_contents.read(t, self.torch)
        except MemoryError:
            raise harness.Finding(f"more memory was asked for than there is: by {len(self.data)} bytes") from None
        finally:
            self.watch.armed = False
            more = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) << 10
            if self.watch.seen:
                raise harness.Finding("a load did more than load: " + "; ".join(self.watch.seen[:5]))
            if more > file_contents.MORE:
                raise harness.Finding(
                    f"memory out of proportion: {more >> 20} MiB more after a file of {len(self.data)} bytes"
                )


def make(given: argparse.Namespace) -> Any:
    torch = importlib.import_module(given.package)
    torch.set_num_threads(1)
    valid = file_contents.files(torch)
    path = os.path.join(tempfile.mkdtemp(prefix="fuzz-files-"), "file.pt")
    for _, data in valid:  # imports what loading imports, and shows that unchanged files are read
        for t in file_contents.tensors_in(torch.load(io.BytesIO(data)), torch):
            file_contents.read(t, torch)
    watch = file_contents.Watch(path)
    return lambda i: Load(torch, valid, watch, path, given.seed, i)


if __name__ == "__main__":
    raise SystemExit(harness.main(__doc__ or "", __file__, make, ALLOWED))
