"""When Triton's interpreter is switched on and mended, and what is mended once."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import shim_torch as torch
from compat import torch_proxy
from shim_torch_proxy.adapters import triton as adapter

if importlib.util.find_spec("triton") is None:  # not importorskip: Triton is to be imported in scope
    pytest.skip("Triton is not installed", allow_module_level=True)
if torch.cuda.is_available():
    pytest.skip("the interpreter is for machines with no GPU", allow_module_level=True)

sys.path.insert(0, str(Path(__file__).parent))
with torch_proxy({"triton"}):
    import kernels_for_triton as kernels
    import triton


def numbers(t: torch.Tensor) -> np.ndarray:
    return t.double().numpy()


def test_mends_are_applied_once():
    from triton.runtime import interpreter

    before = interpreter._implicit_cvt, interpreter.GridExecutor.__call__
    with torch_proxy({"triton"}):
        assert (interpreter._implicit_cvt, interpreter.GridExecutor.__call__) == before
    assert (interpreter._implicit_cvt, interpreter.GridExecutor.__call__) == before


def test_language_functions_bound_by_other_names():
    import language_names

    bound = kernels.cast_to, kernels.load_values, kernels.exp2, language_names.root, language_names.where
    x, y = torch.arange(16), torch.empty(16, dtype=torch.float64)
    for _ in range(2):
        kernels.bound_names[(1,)](x, y, BLOCK=16)
        expected = 2.0 ** np.arange(16) + np.sqrt(np.arange(16)) + 15
        np.testing.assert_allclose(numbers(y), expected, rtol=1e-12)
        assert (kernels.cast_to, kernels.load_values, kernels.exp2, language_names.root, language_names.where) == bound
    with pytest.raises(Exception, match="static_assert|Assertion|assert"):
        kernels.bound_names[(1,)](x, y, BLOCK=8)
    assert kernels.cast_to is bound[0]


def test_report_names_every_mend():
    lines = adapter.report()
    assert len(lines) == len(adapter.mends.MENDS)
    assert any(line.startswith("bfloat16:") for line in lines)
    newer = adapter.mends.parse(triton.__version__) >= (3, 8)
    assert ("not for" in next(line for line in lines if line.startswith("bool arguments"))) == newer


def run(code: str, **environment: str) -> str:
    """The output of ``code`` in an interpreter of its own."""
    root = str(Path(adapter.__file__).parents[3])
    paths = os.pathsep.join([root, os.environ.get("PYTHONPATH", "")])
    kept = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    done = subprocess.run(
        [sys.executable, "-c", code], env={**kept, "PYTHONPATH": paths, **environment}, capture_output=True, text=True,
        timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_variable_is_put_back_and_triton_keeps_its_mode():
    code = """
import os
from compat import enable_torch_proxy, disable_torch_proxy
enable_torch_proxy({"triton"})
assert "TRITON_INTERPRET" not in os.environ
import triton
assert os.environ["TRITON_INTERPRET"] == "1"
disable_torch_proxy()
assert "TRITON_INTERPRET" not in os.environ
assert triton.knobs.runtime.interpret
print(triton.runtime.driver.active.get_current_target().backend, type(triton.jit(lambda: None)).__name__)
"""
    assert run(code).split() == ["cpu", "InterpretedFunction"]


def test_triton_imported_before_gets_a_clear_message():
    code = """
import triton, warnings
from compat import enable_torch_proxy
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    enable_torch_proxy({"triton"})
print([str(w.message) for w in seen if "TRITON_INTERPRET=1" in str(w.message)])
try:
    import kernels_for_triton as kernels
    kernels.triton.knobs.runtime.interpret = False
    kernels.triton.jit(kernels.tanh.fn)[(1,)](1, 2, 4)
except RuntimeError as error:
    print("compiled, and there is no GPU" in str(error) or error)
"""
    out = run(
        code,
        PYTHONPATH=os.pathsep.join(
            [str(Path(adapter.__file__).parents[3]), str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
        ),
    )
    assert "triton was imported before enable_torch_proxy" in out
    assert "no GPU" in out or "True" in out


def test_triton_interpreting_already_is_mended_while_enabled():
    code = """
import triton
from triton.runtime import interpreter
from compat import torch_proxy
stock = interpreter._implicit_cvt, interpreter._get_np_dtype
with torch_proxy({"triton"}):
    assert interpreter._implicit_cvt is not stock[0]
    made = triton.JITFunction(triton.language.zeros.fn), triton.JITFunction(triton.language.zeros.fn)
assert (interpreter._implicit_cvt, interpreter._get_np_dtype) == stock
kind = type(triton.JITFunction(triton.language.zeros.fn))
assert kind is triton.JITFunction and {type(k).__name__ for k in made} <= {"InterpretedFunction"}, made
print("ok")
"""
    assert run(code, TRITON_INTERPRET="1") == "ok\n"


@pytest.mark.parametrize("module", ["compiler", "driver"])
def test_parts_of_the_entry_point_can_be_imported_before_triton(module, tmp_path):
    """Triton imports them too, while it is imported itself."""
    made = tmp_path / "backend_of_ours-1.0.dist-info"
    made.mkdir()
    (made / "METADATA").write_text("Metadata-Version: 2.1\nName: backend-of-ours\nVersion: 1.0\n")
    (made / "entry_points.txt").write_text("[triton.backends]\nshim_cpu = shim_torch_proxy.adapters.triton.cpu\n")
    code = f"""
import sys
sys.path.insert(0, {str(tmp_path)!r})
import shim_torch_proxy.adapters.triton.cpu.{module} as ours
from triton.backends import backends
print(backends["shim_cpu"].{module} is getattr(ours, dict(compiler="CPUBackend", driver="CPUDriver")[{module!r}]))
"""
    assert run(code).split() == ["True"]
