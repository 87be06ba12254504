"""What importing shim_torch costs, and that the records it declares are sound."""

from __future__ import annotations

import subprocess
import sys

import pytest

import shim_torch

RECORDS = sys.modules["shim_torch._impl.table.operators"].records()


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.strip()


def test_every_record_is_sound():
    for record in RECORDS.values():
        record.check()


def test_a_wrong_name_in_a_record_is_reported():
    record = RECORDS["aten::add.Tensor"]
    wrong = type(record).__new__(type(record))
    for name in record.__slots__:
        setattr(wrong, name, getattr(record, name))
    wrong.grad = {"self": lambda g, nobody: g}
    with pytest.raises(TypeError, match="nobody"):
        wrong.check()


def test_argument_names_are_the_parsers():
    core = shim_torch._core
    for record in RECORDS.values():
        ns, name, overload, _, arguments, *_ = core.parse_schema_data(record.schema)
        assert (record.ns, record.name, record.overload) == (ns, name, overload)
        assert record.arguments == tuple(a[0] for a in arguments)


def test_import_stays_lean():
    code = """
import sys, numpy
before = set(sys.modules)
import shim_torch
print(*sorted(m for m in set(sys.modules) - before if not m.startswith("shim_torch")))"""
    heavy = {"ml_dtypes", "cupy", "triton", "torch", "inspect", "dataclasses", "ast", "unittest", "multiprocessing"}
    heavy |= {
        "asyncio",
        "subprocess",
        "logging",
        "pathlib",
        "tempfile",
        "ctypes",
        "packaging",
        "shim_torch_proxy",
        "json",
    }
    assert not heavy & set(run(code).split())


def test_what_a_first_import_does_not_need_comes_later():
    """And is there when asked for."""
    code = """
import sys, shim_torch as torch
later = ["cuda", "nn", "optim", "autograd.graph", "_impl.autograd.gradient_checks", "_impl.transforms", "_impl.sparse",
         "_impl.records.sparse.parts", "_impl.records.nn.nn_functional"]
print([name for name in later if f"shim_torch.{name}" in sys.modules])
import gc
print(gc.isenabled(), "graph" in dir(torch.autograd), torch.autograd.graph.Node.__module__, torch.cuda.OutOfMemoryError is torch.OutOfMemoryError)
print(torch.autograd.gradcheck(torch.exp, torch.ones(2, dtype=torch.float64, requires_grad=True)))
from shim_torch.autograd.gradcheck import GradcheckError, get_numerical_jacobian
print(GradcheckError.__module__, callable(get_numerical_jacobian))
"""
    assert run(code).splitlines() == [
        "[]",
        "True True torch.autograd.graph True",
        "True",
        "torch.autograd.gradcheck True",
    ]


def test_the_proxy_is_lean_too():
    heavy = {
        "inspect",
        "dataclasses",
        "ast",
        "json",
        "pickle",
        "logging",
        "pathlib",
        "importlib.metadata",
        "numpy",
        "shim_torch",
    }
    assert not heavy & set(run("import sys, compat\nprint(*sys.modules)").split())


def test_the_collector_rests_only_while_it_imports():
    """Also where an import fails; what a program froze itself stays frozen."""
    code = """
import gc
from shim_torch._impl.utils.uncollected import Uncollected
held = Uncollected()
inner = Uncollected()
inner.close()
print(gc.isenabled())
del held
print(gc.isenabled())
gc.freeze()
frozen = gc.get_freeze_count()
Uncollected().close()
print(frozen > 0 and gc.get_freeze_count() > 0, gc.isenabled())
gc.disable()
Uncollected().close()
print(gc.isenabled())
"""
    assert run(code).splitlines() == ["False", "True", "True True", "False"]


def test_narrow_dtypes_reach_numpy_when_needed():
    code = "import shim_torch as t; print(t.ones(2, dtype=t.bfloat16).cumsum(0).sum().item(), t.bfloat16)"
    assert run(code) == "3.0 torch.bfloat16"


def test_the_module_is_called_torch_by_who_asked_for_torch():
    """pyro and array-api-compat compare the name; who imports shim_torch goes on from its own."""
    assert run("import shim_torch as t; print(t.__name__, t.__package__)").split() == ["shim_torch"] * 2
    for first in ("", "import shim_torch\n"):
        code = (
            f"{first}from compat import disable_torch_proxy, enable_torch_proxy\nenable_torch_proxy()\nimport torch\n"
            "print(torch.__name__, torch.nn.__name__)\nfrom torch import nn\nimport torch.nn.functional\n"
            "try:\n    from torch import no_such_name\nexcept ImportError as e: print(e.name)\n"
            "disable_torch_proxy()\nimport shim_torch\nprint(shim_torch.__name__)"
        )
        assert run(code).split() == ["torch", "torch.nn", "torch", "shim_torch"]
