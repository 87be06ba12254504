"""Cycles of references through the core's objects. A case makes one and returns a weak reference to an object that is on it.

Run as a program it makes each case in a child that ends with its cycle uncollected, and prints those whose end was no good one.
"""

from __future__ import annotations

import gc
import os
import sys
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

import shim_torch
from shim_torch._impl.native import _core

torch: Any = shim_torch


class Probe:
    """What the cycles keep alive."""


class Refers(torch.autograd.Function):
    """Its ctx refers to itself, and to what it was told to keep."""

    @staticmethod
    def forward(ctx: Any, x: Any, probe: Any, saves: str) -> Any:
        ctx.itself, ctx.probe = ctx, probe
        y = x * 2
        ctx.input, ctx.output = x if saves == "input" else None, y if saves == "output" else None
        if saves.startswith("saved"):
            ctx.save_for_backward(x if saves == "saved input" else y)
        return y

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return gradient * 2, None, None


def leaf() -> Any:
    return torch.ones(3, requires_grad=True)


def hook(*kept: Any) -> Callable[..., None]:
    """A hook of a tensor or node that closes over objects and changes nothing."""
    return lambda *gradients: kept and None


def ctx_and_hook(t: Probe, saves: str) -> None:
    y = Refers.apply(leaf(), t, saves)
    y.register_hook(hook(y))


def held_ctx(t: Probe) -> None:
    n = Refers.apply(leaf(), t, "").grad_fn
    n.n, t.n = n, n  # type: ignore[attr-defined]


def ctx_with_weak_references(t: Probe) -> None:
    y = Refers.apply(leaf(), t, "")
    n = y.grad_fn
    y.y, y.weak, n.weak = y, weakref.ref(y), weakref.ref(n)


def leaf_hook(t: Probe) -> None:
    x = leaf()
    x.handle = x.register_hook(hook(x, t))


def leaf_accumulated(t: Probe) -> None:
    x = leaf()
    x.register_post_accumulate_grad_hook(hook(x, t))


def output_hook(t: Probe) -> None:
    y = leaf() * 2
    y.handle = y.register_hook(hook(y, t))


def hook_within_a_graph(t: Probe) -> None:
    y = leaf() * 2
    z = (y + 1).sum()
    y.register_hook(hook(z, t))


def hook_met_twice(t: Probe) -> None:
    y = leaf() * 2
    z = y * y
    y.register_hook(hook(z, t))


def node_hooks(t: Probe) -> None:
    n = (leaf() * 2).grad_fn
    n.register_hook(hook(n, t))
    n.register_prehook(hook(n, t))


def node_that_only_the_core_can_clear(t: Probe) -> None:
    n = (leaf() * 2).grad_fn
    n.metadata["t"] = t
    n.register_hook(n.name)


def hook_of_a_next_node(t: Probe) -> None:
    n = (leaf() * 2 + 1).grad_fn
    n.next_functions[0][0].register_hook(hook(n, t))


def node_metadata(t: Probe) -> None:
    y = leaf() * 2
    y.grad_fn.metadata["y"] = y, t


def accumulating_node(t: Probe) -> None:
    x = leaf()
    n = x.view_as(x).grad_fn.next_functions[0][0]
    n.register_hook(hook(n, t))
    n.metadata["n"] = n


def attributes(t: Probe) -> None:
    x = torch.ones(2)
    x.x, x.t = x, t


def attributes_of_a_parameter_in_a_graph(t: Probe) -> None:
    x = torch.nn.Parameter(torch.ones(3))
    x.kept = x * 2, t


def attributes_of_a_gradient(t: Probe) -> None:
    x = leaf()
    x.grad = torch.ones(3)
    x.grad.kept = x, t


def attributes_of_a_base(t: Probe) -> None:
    x = torch.ones(4)
    x.kept = x.view(2, 2), t


def attributes_of_a_saved_tensor(t: Probe) -> None:
    y = leaf() * 2
    y.kept = y * y, t


def attributes_of_a_storage(t: Probe) -> None:
    x = torch.ones(2)
    x.untyped_storage().kept = x, t  # an object of the storage that the tensor holds too would be kept, as PyTorch does


class Array(np.ndarray):  # type: ignore[type-arg]
    """An array with attributes."""

    kept: Any


def owner_of_memory(t: Probe) -> None:
    a = np.ones(3).view(Array)
    a.kept = torch.from_numpy(a), t


def owner_of_a_storage(t: Probe) -> None:
    a = np.ones(3).view(Array)
    a.kept = torch.from_numpy(a).untyped_storage(), t


def packed_tensors(t: Probe) -> None:
    x, box = leaf(), []  # type: ignore[var-annotated]
    with torch.autograd.graph.saved_tensors_hooks(lambda v: (v.detach(), box, t), lambda packed: packed[0]):
        box.append(x * x)


def packed_tensor_of_a_node(t: Probe) -> None:
    y = leaf().exp()
    saved = y.grad_fn._raw_saved_result
    box: list[Any] = [saved]
    saved.register_hooks(lambda v: (v.detach(), box, t), lambda packed: packed[0])


def saved_tensor_of_no_node(t: Probe) -> None:
    saved = _core._make_saved_tensor(torch.ones(2))
    box: list[Any] = [saved]
    saved.register_hooks(lambda v: (v.detach(), box, t), lambda packed: packed[0])


def second_gradient(t: Probe) -> None:
    x = leaf()
    y = (x * x).sum()
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    g.register_hook(hook(g, y, t))


def operator_call(t: Probe) -> None:
    from shim_torch._ops import OpOverloadPacket

    f = OpOverloadPacket.__new__(OpOverloadPacket, "aten::add")
    f.kept = f, t


def long_chain(t: Probe) -> None:
    y = leaf()
    for _ in range(2000):
        y = Refers.apply(y, None, "")
    y.register_hook(hook(y, t))


def finalizer(t: Probe) -> None:
    class Owner:
        def __del__(self) -> None:
            self.y.sum().backward()

    owner: Any = Owner()
    owner.y = Refers.apply(leaf(), t, "")
    owner.y.register_hook(hook(owner))


CASES: dict[str, Callable[[Probe], None]] = {
    f.__name__: f
    for f in list(globals().values())
    if getattr(f, "__annotations__", {}) == {"t": "Probe", "return": "None"}
} | {
    f"ctx and hook, keeps {s}": lambda t, s=s: ctx_and_hook(t, s)
    for s in ("", "input", "output", "saved input", "saved output")
}


def make(name: str) -> weakref.ref[Probe]:
    t = Probe()
    CASES[name](t)
    return weakref.ref(t)


def main() -> None:
    for before in (gc.disable, gc.enable, gc.freeze):
        for name in CASES:
            child = os.fork()
            if not child:
                make(name)
                before()
                return
            if end := os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
                print(name, before.__name__, end, flush=True)


if __name__ == "__main__":
    main()
    sys.exit()
