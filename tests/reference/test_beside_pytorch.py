"""The real PyTorch and ours in one process: code out of scope gets the real one, exactly; memory is exchanged by DLPack."""

from __future__ import annotations

import os
import subprocess
import textwrap
from pathlib import Path

import pytest

PYTHON = os.environ.get("SHIM_TORCH_REFERENCE_PYTHON")
pytestmark = pytest.mark.skipif(not PYTHON, reason="no PyTorch to stand beside: run make test-reference")
TESTS = Path(__file__).parents[1]


def beside(code: str) -> None:
    from shim_torch._impl import native

    libraries = TESTS / "compat" / "fixtures" / "libs"
    folders = [Path(native.__file__).parents[3], libraries]
    done = subprocess.run(
        [str(PYTHON), "-W", "ignore", "-c", textwrap.dedent(code)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, folders))}, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    if "No module named 'packaging'" in done.stderr:
        pytest.skip("the environment with PyTorch lacks what shim-torch requires")
    assert done.returncode == 0, done.stderr


START = """
import io, pickle, sys
import torch as real
from compat import enable_torch_proxy, disable_torch_proxy
enable_torch_proxy({"scoped_lib"})
import scoped_lib, outsider
ours = scoped_lib.statement()
assert ours is not real and outsider.torch is outsider.lazy() is real and sys.modules["torch"] is real
"""


def test_both_compute_and_pickle_side_by_side():
    beside(
        START
        + """
model = real.nn.Linear(3, 2)
twin = ours.nn.Linear(3, 2)
twin.load_state_dict({k: ours.from_dlpack(v.detach()) for k, v in model.state_dict().items()})
x = real.arange(6.0).reshape(2, 3)
loss, ours_loss = model(x).square().sum(), twin(ours.from_dlpack(x)).square().sum()
loss.backward(); ours_loss.backward()
assert real.allclose(real.from_dlpack(twin.weight.grad), model.weight.grad)
for value in (model, x, real.float16, real.nn.Linear):
    again = pickle.loads(pickle.dumps(value))
    assert type(again) is type(value)
again = pickle.loads(pickle.dumps(twin))
assert type(again) is ours.nn.Linear and ours.equal(again.weight, twin.weight)
file = io.BytesIO(); ours.save(twin, file); file.seek(0)
assert type(real.load(file, weights_only=False)) is real.nn.Linear
file = io.BytesIO(); real.save(model.state_dict(), file); file.seek(0)
assert ours.equal(ours.load(file)["weight"], twin.weight.detach())
import copy
assert type(copy.deepcopy(twin)) is ours.nn.Linear and type(copy.deepcopy(model)) is real.nn.Linear
"""
    )


def test_pickles_of_scoped_code_are_pytorchs(tmp_path):
    """Functions and classes that code in scope pickles are written by PyTorch's names."""
    (tmp_path / "scoped_lib_of_pickles.py").write_text("""
import pickle, torch
from torch import nn
NAMES = ["nn.Linear", "nn.functional.relu", "nn.init.kaiming_uniform_", "einsum", "add", "unique", "distributions.Normal",
    "distributions.constraints.positive", "distributions.kl_divergence", "utils.data.TensorDataset", "amp.GradScaler",
    "nn.utils.rnn.pad_sequence", "optim.lr_scheduler.StepLR", "autograd.functional.jacobian", "utils.checkpoint.checkpoint"]
def find(name):
    found = torch
    for part in name.split("."):
        found = getattr(found, part)
    return found
DATA = {name: pickle.dumps(find(name)) for name in NAMES}
""")
    beside(
        f"""
import operator, pickle, sys
sys.path.append({str(tmp_path)!r})
import torch
from compat import enable_torch_proxy
enable_torch_proxy("scoped_lib_of_pickles")
from scoped_lib_of_pickles import DATA
import torch.distributions, torch.utils.checkpoint
for name, data in DATA.items():
    again, real = pickle.loads(data), operator.attrgetter(name)(torch)
    assert b"shim_torch" not in data and (again is real or type(again) is type(real)), name
"""
    )


def test_memory_is_shared_both_ways():
    beside(
        START
        + """
for dtype in ("float32", "float64", "float16", "bfloat16", "int8", "uint8", "int64", "bool", "complex64"):
    a = ours.zeros(2, 3, dtype=getattr(ours, dtype))
    b = real.from_dlpack(a)
    assert str(b.dtype) == str(a.dtype) and b.shape == (2, 3)
    b[1, 2] = 1
    assert a[1, 2].item() == 1
    c = ours.from_dlpack(b.t())
    c[0, 0] = 1
    assert b[0, 0].item() == 1 and c.stride() == (1, 3)
"""
    )


def test_mixing_them_is_refused_with_what_to_do():
    beside(
        START
        + """
t, r = ours.ones(2, 2), real.ones(2, 2)
calls = [lambda: ours.add(t, r), lambda: ours.stack([t, r]), lambda: ours.nn.functional.linear(r, t), lambda: t.copy_(r),
         lambda: ours.nn.Linear(2, 2)(r), lambda: real.nn.functional.relu(t), lambda: real.nn.Linear(2, 2)(t),
         lambda: real.add(r, t), lambda: real.stack([r, t]), lambda: t.to(r.dtype), lambda: ours.ones(2, dtype=real.float32),
         lambda: t + r, lambda: r + t]
for call in calls:
    try:
        call()
    except TypeError as error:
        assert "installed here" in str(error) or "unsupported operand" in str(error) or "invalid combination" in str(error), error
    else:
        raise AssertionError(call)
assert not isinstance(t, real.Tensor) and not isinstance(r, ours.Tensor)
"""
    )


def test_every_idiom_in_scope_is_ours_and_outside_is_real():
    import re

    names = re.findall(r"^def (\w+)", (TESTS / "compat/fixtures/libs/scoped_lib/idioms.py").read_text(), re.M)
    beside(
        START
        + f"""
import scoped_lib.idioms as idioms
ours.OURS = True
for name in {[n for n in names if n not in ("importorskip", "monkeypatched", "inspected")]}:
    assert getattr(idioms, name)() is ours, name
    assert sys.modules["torch"] is real and outsider.lazy() is real, name
import inspect, importlib, importlib.metadata, pkgutil, unittest.mock
assert "class Linear" in inspect.getsource(ours.nn.Linear) and "shim_torch" in inspect.getfile(ours.nn.Linear)
assert inspect.getfile(real.nn.Linear).startswith(real.__path__[0])
assert importlib.metadata.version("torch") == real.__version__ and pkgutil.resolve_name("torch.nn") is real.nn
disable_torch_proxy()
assert sys.modules["torch"] is real and importlib.import_module("torch.nn.functional") is real.nn.functional
"""
    )
