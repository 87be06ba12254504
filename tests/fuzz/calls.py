"""Operators called with arguments made from their schemas: nothing may end the process, hang, or raise what PyTorch never would.

calls.py [--seed S] [--seconds T | --count N]; --only N shows and runs one call. Arguments have every dtype, sizes of zero,
strides that share memory, storages that were freed, huge numbers, objects that change tensors while they are read.
"""

from __future__ import annotations

import argparse
import importlib
import random
from types import BuiltinFunctionType, MethodDescriptorType
from typing import Any

import harness
from call_arguments import Maker, shown

# What these do is not a matter of their arguments.
LEFT_OUT = {
    "from_file": "makes and maps the file that an argument names",
    "_debug_has_internal_overlap": "tells of memory by a code, for tests alone",
    "_share_memory": "moves memory to files of the system",
    "seed": "draws from the system, so that a call would not be the same again",
}
ALLOWED = frozenset(
    "RuntimeError NotImplementedError TypeError ValueError IndexError MemoryError OutOfMemoryError _LinAlgError OverflowError".split()
)


def operators(torch: Any) -> list[tuple[str, Any, Any]]:
    """(name, overload, schema) of every operator that has a schema."""
    found = []
    for namespace in ("aten", "prims", "shim"):
        space = getattr(torch.ops, namespace)
        for name in sorted(dir(space)):
            packet = getattr(space, name)
            if name.startswith("__") or name in LEFT_OUT or not hasattr(packet, "overloads"):
                continue
            for overload in packet.overloads():
                op = getattr(packet, overload)
                if hasattr(op, "_schema"):
                    found.append((f"{namespace}.{name}.{overload}", op, op._schema))
    return found


def surfaces(torch: Any, name: str) -> list[Any]:
    """The functions and methods by which programs call an operator of that name."""
    place, _, rest = name.partition("_")
    found = [getattr(torch, name, None), getattr(torch.nn.functional, name, None), getattr(torch.Tensor, name, None)]
    if place in ("linalg", "fft", "special"):
        found.append(getattr(getattr(torch, place), rest, None))
    return [f for f in found if callable(f)]


class Call:
    """One call: which operator, through which function, with which arguments. Running it makes them first."""

    def __init__(self, torch: Any, table: list[tuple[str, Any, Any]], seed: int, i: int) -> None:
        self.torch, self.i = torch, i
        self.r = random.Random(f"call {seed} {i}")
        self.kind, self.op, self.schema = self.r.choice(table)
        self.args: list[Any] | None = None
        self.kwargs: dict[str, Any] = {}

    def made(self) -> None:
        torch, r = self.torch, self.r
        torch.manual_seed(self.i)
        polynomial = "polynomial" in self.kind  # of degree n takes n steps, which may be very many
        self.maker = maker = Maker(torch, r, ("n", "x") if polynomial else ())
        self.args = []
        for a in self.schema.arguments:
            if a.has_default_value() and r.random() < 0.5:
                continue
            value = maker.value(str(a.type), a.name, a.N)
            if a.kwarg_only or a.has_default_value():
                self.kwargs[a.name] = value
            else:
                self.args.append(value)
        others = surfaces(torch, self.kind.split(".")[1])
        self.function = r.choice(others) if others and r.random() < 0.4 else self.op
        if maker.odd() and self.args:
            self.args.pop(r.randrange(len(self.args)))
        if maker.odd() and r.random() < 0.3:
            self.kwargs[r.choice(("dim", "out", "dtype", "nonsense", "self", "\ud800"))] = maker.anything()

    def shown(self) -> str:
        if self.args is None:
            self.made()
        given = [shown(a, self.torch) for a in self.args or ()] + [
            f"{k!a}={shown(v, self.torch)}" for k, v in self.kwargs.items()
        ]
        return f"through {self.function}\n    " + "\n    ".join(given)

    def __call__(self) -> None:
        if self.args is None:
            self.made()
        r, torch = self.r, self.torch
        try:
            results = self.function(*(self.args or ()), **self.kwargs)
        except (AttributeError, AssertionError) as error:
            if self.function is self.op or isinstance(self.function, (BuiltinFunctionType, MethodDescriptorType)):
                raise
            raise TypeError(
                "a function written in Python asks what it is given for what tensors have, in PyTorch too"
            ) from error
        tensors = [
            t for t in (results if isinstance(results, (list, tuple)) else [results]) if isinstance(t, torch.Tensor)
        ]
        self.inside(tensors)
        if r.random() < 0.5:
            self.backward([t for t in tensors if t.requires_grad])
        for t in tensors:
            if t.numel() < 100_000 and r.random() < 0.3:
                r.choice((repr, lambda t: t.clone(), lambda t: t.tolist(), lambda t: t.add(1)))(t)

    def inside(self, tensors: list[Any]) -> None:
        """Memory that a result needs is memory that it has, unless it shares an argument's, which may have been freed."""
        known = {t.untyped_storage()._cdata for t in self.maker.tensors if t.layout is self.torch.strided}
        for t in tensors:
            if t.layout is self.torch.strided and t.device.type == "cpu" and t.numel() and type(t) is self.torch.Tensor:
                storage = t.untyped_storage()
                reach = t.storage_offset() + 1 + sum((n - 1) * s for n, s in zip(t.shape, t.stride(), strict=True))
                if (
                    storage._cdata not in known
                    and storage.data_ptr()
                    and (reach * t.element_size() > storage.nbytes() or t.storage_offset() < 0)
                ):
                    raise harness.Finding(f"a result reaches past its storage: {shown(t, self.torch)}")

    def backward(self, results: list[Any]) -> None:
        r, maker = self.r, self.maker
        inputs = [t for t in maker.tensors if t.requires_grad]
        if not results or not inputs:
            return
        if r.random() < 0.1:  # what forward saved is gone
            maker.freed(r.choice(maker.tensors).detach())
        gradients = [
            maker.placed(maker.filled(list(t.shape), t.dtype)) if t.numel() < 100_000 else None for t in results
        ]
        again = r.random() < 0.15
        found = self.torch.autograd.grad(results, inputs, gradients, create_graph=again, allow_unused=True)
        self.inside([t for t in found if t is not None])
        wanted = [t for t in found if t is not None and t.requires_grad]
        if again and wanted:
            self.torch.autograd.grad([t.sum() for t in wanted], inputs, allow_unused=True)


def make(given: argparse.Namespace) -> Any:
    torch = importlib.import_module(given.package)
    torch.set_num_threads(1)
    table = operators(torch)
    return lambda i: Call(torch, table, given.seed, i)


if __name__ == "__main__":
    raise SystemExit(harness.main(__doc__ or "", __file__, make, ALLOWED))
