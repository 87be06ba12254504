"""Operators that wait to be asked for: what waits, and that every way of asking finds them."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from shim_torch._impl import native

ops = importlib.import_module("shim_torch._impl.table.operators")


def run(code: str) -> str:
    root = str(Path(native.__file__).parents[3])
    path = os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=dict(os.environ, PYTHONPATH=path)
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


ASK = [
    "torch.conv2d",
    "torch.ops.aten._foreach_add.List",
    "torch.ops.aten.convolution_backward",
    "torch.fft.fft",
    "torch.nn.functional.conv2d",
    "torch.special.chebyshev_polynomial_t",
    "torch._C._nn.reflection_pad1d",
    "torch._VF.lstm",
    "torch.ops.aten.lstm",
    "torch._C._jit_get_all_schemas()",
    "dir(torch).index('grid_sampler')",
    "hasattr(torch, 'batch_norm') or 1 / 0",
    "[n for n in torch.ops.aten].index('im2col')",
    "torch.library.Library('aten', 'IMPL').impl('convolution', lambda *a: None, 'CPU')",
    "early(torch.ones(1, 2, 3), [1, 1])",
    "torch.ones(2, 2).i0_()",
    "torch.eye(2).det()",
    "torch.Tensor.cov(torch.ones(2, 2))",
    "torch.linalg.qr(torch.eye(2))",
]


@pytest.mark.parametrize("ask", ASK)
def test_asking_defines_them(ask):
    assert (
        run(f"""
import sys, shim_torch as torch
from shim_torch._impl.native import _core
ops = sys.modules["shim_torch._impl.table.operators"]
early = _core.function("aten::reflection_pad1d")
print(any(key.startswith("aten::_foreach") for key in ops._defined), "conv2d" in vars(torch))
{ask}
print(any(key.startswith("aten::_foreach") for key in ops._defined), torch.conv2d(torch.ones(1, 1, 3, 3), torch.ones(1, 1, 3, 3)).item())
""")
        == "False False\nTrue 9.0"
    )


def test_tensors_alone_leave_them_waiting():
    assert (
        run("""
import sys, shim_torch as torch
x = torch.arange(6.0, requires_grad=True).reshape(2, 3)
(x @ x.T + x.sum()).exp().mean().backward()
torch.cat([x, x])[1:, 0].cpu().numpy
torch.manual_seed(0), torch.randn(3).sort(), torch.allclose(x, x)
print("aten::_foreach_add.List" in sys.modules["shim_torch._impl.table.operators"]._defined)
""")
        == "False"
    )


def test_threads_that_ask_at_once_all_find_them():
    assert (
        run("""
import sys, threading, shim_torch as torch
sys.setswitchinterval(1e-6)
found, barrier = [], threading.Barrier(8)
asks = [lambda: torch.ops.aten.lstm.input, lambda: torch.conv1d, lambda: torch._VF.gru, lambda: torch.ops.aten.im2col.default,
        lambda: torch._foreach_mul, lambda: torch.fft.rfft, lambda: torch.nn.functional.pad, lambda: torch.bilinear]
def ask(f):
    barrier.wait()
    found.append(f())
threads = [threading.Thread(target=ask, args=(f,)) for f in asks]
[t.start() for t in threads]; [t.join() for t in threads]
print(len(found))
""")
        == "8"
    )


def test_what_a_user_put_into_torch_stays():
    assert run("import shim_torch as torch; torch.conv2d = 3; torch.conv1d; print(torch.conv2d)") == "3"


def test_methods_of_what_waits_are_there_and_names_are_not_shared():
    """A further overload would be missing from an operator that is there."""
    assert (
        run("""
import sys, shim_torch
ops = sys.modules["shim_torch._impl.table.operators"]
there = {(key.partition("::")[0], name) for key, names in ops._defined.items() for name in names}
before = set(ops._defined)
later = {key: record for key, record in ops.records().items() if key not in before}
print(len(later) > 400)
methods = {name for key, record in later.items() if record.method and record.ns == "aten" for name in ops._defined[key]}
print(sorted(methods ^ set(ops.later("methods"))), [name for name in methods if not hasattr(shim_torch.Tensor, name)])
print(sorted(there & {(record.ns, name) for key, record in later.items() for name in ops._defined[key]}))
""")
        == "True\n[] []\n[]"
    )
