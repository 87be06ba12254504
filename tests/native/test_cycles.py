"""Python's cycle collector sees through every object of the core: cycles are collected, and do no harm at exit."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cycle_cases import CASES, Refers, leaf, make

import shim_torch
from shim_torch._impl.native import _core

torch: Any = shim_torch
PLACE = Path(shim_torch.__file__).parents[1]  # where it is installed, or the source tree
HAVE_GC = 1 << 14  # of a type's __flags__


@pytest.fixture(autouse=True)
def collected() -> Iterator[None]:
    """No garbage of earlier tests, and no collection but the test's own."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize("name", CASES)
def test_a_cycle_is_collected(name: str) -> None:
    found = make(name)
    assert found() is not None
    gc.collect()
    assert found() is None


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a process a case, without another import")
def test_cycles_that_are_left_at_exit_do_no_harm() -> None:
    command = [sys.executable, str(Path(__file__).with_name("cycle_cases.py"))]
    done = subprocess.run(
        command, env=os.environ | {"PYTHONPATH": str(PLACE)}, capture_output=True, text=True, timeout=600
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stderr[-2000:]


OBJECTS: dict[str, Callable[[], Any]] = {
    "TensorBase": lambda: torch.ones(2),
    "Tensor": lambda: torch.nn.Parameter(torch.ones(2)),
    "Node": lambda: (leaf() * 2).grad_fn,
    "AccumulateGrad": lambda: (leaf() * 2).grad_fn.next_functions[0][0],
    "_FunctionBase": lambda: Refers.apply(leaf(), None, "").grad_fn,
    "SavedTensor": lambda: (leaf() ** 2).grad_fn._raw_saved_self,
    "SavedTensor of no node": lambda: _core._make_saved_tensor(torch.ones(2)),
    "StorageBase": lambda: torch.ones(2).untyped_storage(),
    "builtin_function_or_method": lambda: torch.add,
    "method_descriptor": lambda: torch.Tensor.add,
    "OpOverload": lambda: torch.ops.aten.add.Tensor,
    "_TensorMethod": lambda: _core.overridable(lambda self: self),
    "BodyRunner": lambda: _core.body_runner(len, len, len, len),
    "Size": lambda: torch.Size([2]),
}


@pytest.mark.parametrize("name", OBJECTS)
def test_objects_with_references_are_tracked(name: str) -> None:
    made = OBJECTS[name]()
    assert type(made).__flags__ & HAVE_GC
    assert gc.is_tracked(made) or name == "Size"  # tuples of numbers are let go of


def test_every_reference_is_told() -> None:
    keep: list[Any] = []
    assert keep in gc.get_referents(_core.overridable(keep))
    assert sum(o is keep for o in gc.get_referents(_core.body_runner(keep, keep, keep, keep))) == 4


def test_a_handle_keeps_neither_its_tensor_nor_its_hook() -> None:
    x = leaf()
    handle = x.register_hook(lambda g: g * 2)
    y = x * 2
    output = y.register_hook(lambda g: g * 3)
    y.detach_()
    output.remove()  # its node is gone
    x.sum().backward()
    assert x.grad.tolist() == [2, 2, 2]
    handle.remove()
    handle.remove()
    x.sum().backward()
    assert x.grad.tolist() == [3, 3, 3]
    other = x.register_hook(lambda g: g * 2)
    del x, y
    other.remove()


def test_a_long_graph_goes_without_recursion() -> None:
    y = leaf()
    for _ in range(200_000):
        y = y + 1
    del y
