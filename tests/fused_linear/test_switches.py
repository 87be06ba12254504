"""The switch to unfused linear: values, nesting, threads, the process, the environment."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import shim_torch as torch
from shim_torch_linear import fused_linear, gemm_problems, is_legacy_linear, legacy_linear, set_legacy_linear

F = torch.nn.functional


def random(rng, *shape, dtype):
    return torch.from_numpy(rng.standard_normal(shape)).to(dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_values_are_those_of_separate_operators(dtype):
    rng = np.random.default_rng(4)
    x, w, b = random(rng, 9, 33, dtype=dtype), random(rng, 17, 33, dtype=dtype), random(rng, 17, dtype=dtype)
    fused, apart = fused_linear(x, w, b, "gelu"), torch.matmul(x, w.t()) + b
    with legacy_linear():
        assert torch.equal(F.linear(x, w, b), apart)
        assert torch.equal(fused_linear(x, w, b), apart)
        assert torch.equal(fused_linear(x, w, b, "relu"), apart.relu())
        assert torch.equal(fused_linear(x, w, b, "gelu"), F.gelu(apart))
        assert torch.equal(fused_linear(x, w, b, "gelu", approximate="tanh"), F.gelu(apart, approximate="tanh"))
        with legacy_linear(False):
            assert torch.equal(fused_linear(x, w, b, "gelu"), fused)
    if dtype is not torch.float32:
        assert not torch.equal(fused, F.gelu(apart))  # it is rounded once


@pytest.mark.parametrize("activation", ["none", "relu", "gelu"])
def test_gradients(activation):
    rng = np.random.default_rng(5)
    tensors = [random(rng, *shape, dtype=torch.float64).requires_grad_() for shape in ((6, 5), (7, 5), (7,))]
    g = random(rng, 6, 7, dtype=torch.float64)
    want = torch.autograd.grad(fused_linear(*tensors, activation), tensors, g)
    with legacy_linear():
        found = torch.autograd.grad(fused_linear(*tensors, activation), tensors, g)
    for a, b in zip(found, want, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-12, atol=1e-13)


def test_each_restores_what_was_before():
    assert not is_legacy_linear()
    with legacy_linear():
        with legacy_linear(False):
            with legacy_linear():
                assert is_legacy_linear()
            assert not is_legacy_linear()
        assert is_legacy_linear()
        with pytest.raises(KeyError):
            with legacy_linear(False):
                raise KeyError
        assert is_legacy_linear()
    assert not is_legacy_linear()


def of_a_thread(what):
    found = []
    thread = threading.Thread(target=lambda: found.append(what()))
    thread.start()
    thread.join()
    return found[0]


def test_threads_and_the_process():
    with legacy_linear():
        assert not of_a_thread(is_legacy_linear)
    assert set_legacy_linear(True) is None
    try:
        assert is_legacy_linear() and of_a_thread(is_legacy_linear)
        with legacy_linear(False):
            assert not is_legacy_linear() and of_a_thread(is_legacy_linear)
        assert is_legacy_linear()
        assert set_legacy_linear(False) is True
        assert set_legacy_linear(None) is False
    finally:
        set_legacy_linear(None)
    assert not is_legacy_linear()


@pytest.mark.parametrize(
    "variables, legacy",
    [
        ({}, False),
        ({"SHIM_LEGACY_LINEAR": "1"}, True),
        ({"FLAGS_use_legacy_linear": "1"}, True),
        ({"FLAGS_use_legacy_linear": "true"}, True),
        ({"FLAGS_use_legacy_linear": "False"}, False),
        ({"SHIM_LEGACY_LINEAR": "0", "FLAGS_use_legacy_linear": "1"}, False),
        ({"SHIM_LEGACY_LINEAR": "", "FLAGS_use_legacy_linear": "1"}, True),
    ],
)
def test_the_environment(variables, legacy):
    code = (
        "import shim_torch as torch\n"
        "from shim_torch_linear import is_legacy_linear, legacy_linear, set_legacy_linear\n"
        "x, b = torch.full((1, 3), 1.001).bfloat16(), torch.full((1,), 1 / 3).bfloat16()\n"
        "w = torch.full((1, 3), 1 / 3).bfloat16()\n"
        "y = torch.nn.functional.linear(x, w, b)\n"
        "with legacy_linear(True): print(is_legacy_linear(), bool((torch.nn.functional.linear(x, w, b) == y).all()))\n"
        "with legacy_linear(False): print(is_legacy_linear())\n"
        "print(is_legacy_linear())\n"
    )
    clean = {k: v for k, v in os.environ.items() if k not in ("SHIM_LEGACY_LINEAR", "FLAGS_use_legacy_linear")}
    done = subprocess.run(
        [sys.executable, "-c", code], env=clean | variables, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    first, second, last = done.stdout.splitlines()
    assert first.startswith("True") and (not legacy or first.endswith("True"))
    assert second == "False" and last == str(legacy)


def test_problems_are_listed():
    for problem in gemm_problems():  # empty without a GPU
        assert {"m", "n", "k", "dtype", "transposed", "epilogue"} <= problem.keys()
