"""The vLLM wheel without a GPU: all its libraries register their operators, and its Python facades import.

It is too large for ``make test``: ``pip download --no-deps vllm==0.33.0``, unzip, and put the folder on PYTHONPATH.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from shim_torch._impl.native import _core

SPACES = {
    "_C": 111,
    "_C_cache_ops": 19,
    "_C_cuda_utils": 2,
    "_C_custom_ar": 15,
    "_moe_C": 18,
    "_qutlass_C": 9,
    "_vllm_fa2_C": 4,
    "_vllm_fa3_C": 2,
    "_flashmla_C": 8,
    "_flashmla_extension_C": 2,
    "_flashkda_C": 2,
    "deep_gemm": 79,
}
LOAD = """
import sys, warnings
from pathlib import Path
import shim_torch as torch
warnings.simplefilter("error")
for path in sorted(Path(sys.argv[1]).rglob("*.so")):
    torch.ops.load_library(path)
"""
COUNT = """
for space in sys.argv[2:]:
    operators = [getattr(getattr(torch.ops, space), n) for n in dir(getattr(torch.ops, space)) if n != "name" and n[:2] != "__"]
    print(space, sum(len(o.overloads()) for o in operators))
"""


@pytest.fixture(scope="module")
def vllm() -> Path:
    spec = importlib.util.find_spec("vllm")
    if spec is None or not spec.origin:
        pytest.skip("the vLLM wheel is not there")
    return Path(spec.origin).parent


@pytest.fixture(scope="module")
def environment(vllm, tmp_path_factory) -> dict[str, str]:
    """With a libcuda.so.1 whose functions fail, where no driver is: the libraries name it."""
    root = str(Path(__file__).parents[2])
    found = {**os.environ, "PYTHONPATH": os.pathsep.join([root, str(vllm.parent), os.environ.get("PYTHONPATH", "")])}
    if "could not be loaded" not in _core.cuda_why_not():
        return found
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler")
    names = subprocess.run(
        [
            "grep",
            "-ahoE",
            "cu(Ctx|Device|Driver|Get|Mem|Pointer|TensorMap|Stream|Module|Func|Launch|Link|Library|Kernel)[A-Za-z_0-9]+",
        ]
        + [str(p) for p in vllm.rglob("*.so")],
        capture_output=True,
        text=True,
    ).stdout.split()
    folder = tmp_path_factory.mktemp("driver")
    (folder / "stub.c").write_text("\n".join(f"int {n}(void) {{ return 100; }}" for n in sorted(set(names))))
    command = [compiler, "-shared", "-fPIC", "-w", "-Wl,-soname,libcuda.so.1", str(folder / "stub.c")]
    subprocess.run([*command, "-o", str(folder / "libcuda.so.1")], check=True)
    return {**found, "LD_LIBRARY_PATH": f"{folder}:{found.get('LD_LIBRARY_PATH', '')}"}


def run(environment: dict[str, str], code: str, *arguments: str) -> str:
    done = subprocess.run([sys.executable, "-c", code, *arguments], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def test_all_libraries_register(vllm, environment):
    counts = dict(line.split() for line in run(environment, LOAD + COUNT, str(vllm), *SPACES).splitlines())
    assert {name: int(n) for name, n in counts.items()} == SPACES


@pytest.mark.parametrize("module", ["vllm._custom_ops", "vllm.utils.deep_gemm", "vllm.vllm_flash_attn"])
def test_python_facades_import(environment, module):
    if importlib.util.find_spec("regex") is None or importlib.util.find_spec("pydantic") is None:
        pytest.skip("vLLM's Python dependencies are not installed")
    run(environment, f"from compat import enable_torch_proxy\nenable_torch_proxy({{'vllm'}})\nimport {module}")
