"""PyTorch's own ``torch.testing._internal`` imports and works on this package (of the reference environment's PyTorch)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from shim_torch._impl import native

HERE = Path(__file__).resolve().parent
# Made absolute here, where a relative path of the environment still means something: the test runs in another folder.
PYTHON = os.path.abspath(
    os.environ.get("SHIM_TORCH_REFERENCE_PYTHON", HERE.parents[1] / ".venv-reference" / "bin" / "python")
)

CASES = '''
import importlib

import torch
from torch.testing._internal.common_device_type import OpDTypes, instantiate_device_type_tests, ops
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.common_modules import module_db
from torch.testing._internal.common_optimizers import optim_db
from torch.testing._internal.common_utils import TestCase, parametrize


SUPPORT = """common_cuda common_dtype common_jit common_mkldnn common_nn common_pruning common_quantization common_quantized
composite_compliance custom_op_db custom_tensor dynamo_pytree_test_utils inductor_utils jit_metaprogramming_utils jit_utils
logging_tensor logging_utils opinfo.definitions.nested subclasses triton_utils two_tensor""".split()


class TestSupport(TestCase):
    def test_what_test_files_import(self, device):
        for name in SUPPORT:
            importlib.import_module(f"torch.testing._internal.{name}")

    def test_databases(self, device):
        self.assertGreater(len(op_db), 500)
        self.assertGreater(len(module_db), 100)
        self.assertGreater(len(optim_db), 10)

    @parametrize("size", [0, 3])
    def test_equality(self, device, size):
        x = torch.arange(size, device=device, dtype=torch.float32)
        self.assertEqual(x + 1, torch.arange(1, size + 1, device=device), exact_dtype=False)
        if size:
            with self.assertRaisesRegex(AssertionError, "Tensor-likes are not close"):
                self.assertEqual(x, x + 1)

    @ops([op for op in op_db if op.name in NAMES and op.ref is not None], dtypes=OpDTypes.any_one)
    def test_against_numpy(self, device, dtype, op):
        for sample in op.sample_inputs(device, dtype):
            self.compare_with_reference(op, op.ref, sample)


NAMES = "add sub mul exp log sin cos sqrt where maximum cumsum sum mean amax sort cat stack tril flip".split()
'''


def test_files_in_pytorchs_style_run(tmp_path):
    if not Path(PYTHON).exists() and "SHIM_TORCH_UPSTREAM_TESTING" not in os.environ:
        pytest.skip("there is no reference environment: run make test-reference")
    pytest.importorskip("expecttest")
    file = tmp_path / "test_support.py"
    head, names = CASES.split("NAMES = ")
    file.write_text(f"NAMES = {names}\n{head}\ninstantiate_device_type_tests(TestSupport, globals(), only_for='cpu')\n")
    installed = Path(native.__file__).resolve().parents[3]  # the sources may lie beside, without what is compiled
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join((str(installed), str(HERE))),
        "SHIM_TORCH_REFERENCE_PYTHON": PYTHON,
    }
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "upstream",
        "-q",
        "-p",
        "no:cacheprovider",
        "--tb=short",
        str(file),
    ]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert " passed" in done.stdout and "failed" not in done.stdout
