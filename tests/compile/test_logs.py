"""Messages of TORCH_LOGS and set_logs about compiled functions, stances, and limits that torch._dynamo.config sets."""

from __future__ import annotations

import inspect
import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest

import shim_torch as torch
import shim_torch._dynamo.config as config
from shim_torch import _logging
from shim_torch._impl.compile.calls import counts


def broken(x):
    y = x * 2
    if y.sum().item() > 0:
        y = y + 1
    return y.relu() - 3


@pytest.fixture
def messages(caplog):
    kinds = ("graph_breaks", "recompiles", "guards", "graph_code", "output_code")
    _logging.set_logs(**dict.fromkeys(kinds, True))
    for name in ("torch._dynamo", "torch._inductor"):
        logging.getLogger(name).addHandler(caplog.handler)
    yield lambda kind: [r.getMessage() for r in caplog.records if r.name.endswith(f".__{kind}")]
    for name in ("torch._dynamo", "torch._inductor"):
        logging.getLogger(name).removeHandler(caplog.handler)
    _logging.set_logs(**dict.fromkeys(kinds, False))


def test_messages(messages):
    compiled = torch.compile(broken, dynamic=False)
    line = inspect.getsourcelines(broken)[1]
    for n in (2, 2, 3):
        compiled(torch.ones(n))
    breaks = messages("graph_breaks")
    assert breaks == [
        f"Graph break in user code at {__file__}:{line + 2}\nGraph Break Reason: reads the values of a tensor"
    ]
    (again,) = messages("recompiles")
    assert again.startswith(f"Recompiling function broken in {__file__}:{line}\n") and "- 5 operators" in again
    assert f"t1 = aten::mul.Tensor(t0, any number)  # {__file__}:{line + 1}" in messages("graph_code")[0]
    assert "t0: torch.float32 (2,) strides (1,) offset 0 on cpu" in messages("guards")[0]
    assert any("fused_add_relu_sub" in text for text in messages("output_code"))


def test_nothing_is_written_unasked(caplog):
    caplog.set_level(logging.DEBUG)
    torch.compile(broken)(torch.ones(2))
    assert not [r for r in caplog.records if ".__" in r.name]


def test_the_environment_asks():
    program = (
        "import shim_torch as torch\nf = torch.compile(lambda x: x.sum() + 1)\nf(torch.ones(2))\nf(torch.ones(2))\n"
    )
    root = str(Path(torch.__file__).parents[1])
    environment = os.environ | {"TORCH_LOGS": "output_code", "PYTHONPATH": root}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert done.returncode == 0 and "[__output_code] def program(" in done.stderr, done.stderr


def test_stances():
    compiled = torch.compile(lambda x: x.sin() + 1, dynamic=False)
    x, y = torch.ones(2), torch.ones(3)
    compiled(x)
    with torch.compiler.set_stance("eager_on_recompile"):
        before = counts["deferred"], counts["learned"]
        for given in (x, y):
            assert torch.equal(compiled(given), given.sin() + 1)
        assert (counts["deferred"], counts["learned"]) == (before[0] + 2, before[1])
    text = (
        "Detected recompile when torch.compile stance is 'fail_on_recompile'. filename: '.*', function name: '.*', line"
    )
    with torch.compiler.set_stance("fail_on_recompile"):
        assert torch.equal(compiled(x), x.sin() + 1)
        with pytest.raises(RuntimeError, match=text):
            compiled(y)
        with pytest.raises(RuntimeError, match=text):
            torch.compile(lambda x: x.mul_(2))(y)
    assert y.tolist() == [1, 1, 1]
    with torch.compiler.set_stance("nope"), pytest.raises(RuntimeError, match="invalid torch.compile stance 'DynamoSt"):
        compiled(x)
    with pytest.raises(RuntimeError, match="non-default stance cannot have force_backend set"):
        torch.compiler.set_stance("force_eager", force_backend="eager")


@pytest.mark.parametrize("name", ["recompile_limit", "cache_size_limit"])
def test_limits(name):
    compiled = torch.compile(lambda x: x.sin(), dynamic=False)
    with config.patch(**{name: 2}):
        limited = torch.compile(lambda x: x.sin(), dynamic=False)
    for n in range(1, 7):
        compiled(torch.ones(n)), limited(torch.ones(n))
    before = counts["deferred"]
    compiled(torch.ones(6))
    assert counts["deferred"] == before + 1
    limited(torch.ones(6))
    assert counts["deferred"] == before + 1


def test_marks_look_at_what_they_are_given():
    for call, error, text in [
        (lambda: torch.compiler.allow_in_graph(3), AssertionError, "allow_in_graph expects a callable"),
        (lambda: torch.compiler.set_default_backend(3), TypeError, "must be a string or callable, got <class 'int'>"),
        (
            lambda: torch.compiler.substitute_in_graph(3),
            TypeError,
            "substitute_in_graph expects a function but got <cl",
        ),
        (
            lambda: torch.compiler.substitute_in_graph(len)(3),
            TypeError,
            "@substitute_in_graph.* expects a function but",
        ),
    ]:
        with pytest.raises(error, match=text.replace("(", r"\(")):
            call()
