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


def test_operators_are_defined_when_they_are_asked_for():
    """Few by the import, most of what elementary programs use at the first one that is not there, all others with torch.nn."""
    code = """
import threading
import shim_torch as torch
from shim_torch._impl.table import operators as table
def state():
    return table._common, table._whole
methods = set(dir(torch.Tensor))
def keys():
    return set(table._defined)
def of(some):  # names of operators, whatever their overload
    return {(table.RECORDS[key].ns, name.partition(".")[0]) for key in some for name in table._defined[key]}
assert (torch.ones(2) + 1).sum().shape == () and state() == (False, False)
first, few = keys(), of(keys())
shapes = []
threads = [threading.Thread(target=lambda: shapes.append(torch.rand(3).sort().values.shape)) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert shapes == [(3,)] * 8 and state() == (True, False)
assert torch._segment_reduce is torch.segment_reduce and torch.cat([torch.ones(1)] * 2).shape == (2,)
assert torch.ones(2, 2).gather(1, torch.tensor([[0], [1]])).shape == (2, 1) and state() == (True, False)
assert (-torch.ones(2) @ torch.ones(2)).item() == -2 and (~torch.tensor([True, False])).tolist() == [False, True]
second, common = keys() - first, of(keys() - first)
import shim_torch.nn
assert state() == (True, True)
rest = of(keys() - first - second)
assert not few & common and not few & rest and not common & rest, (few & common, few & rest, common & rest)
assert set(dir(torch.Tensor)) == methods
print("ok")"""
    assert run(code) == "ok"


def test_the_list_of_operators_has_those_that_wait():
    code = "import shim_torch as t; print('sort' in t._core.operator_names('aten'), 'histc' in t._core.operator_names('aten'))"
    assert run(code) == "True True"
    assert run("import shim_torch as t; print(len(t._core.operator_overloads('aten::histc')))") != "0"
