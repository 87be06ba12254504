"""``instantiate_device_type_tests`` and ``tf32_off``: the classes and names that PyTorch makes."""

from __future__ import annotations

import unittest

import shim_torch as torch
from shim_torch.testing._internal import common_utils
from shim_torch.testing._internal.common_cuda import tf32_off
from shim_torch.testing._internal.common_device_type import instantiate_device_type_tests


def made(**options):
    ran = []

    class Numbers(common_utils.TestCase):
        def test_plain(self, device):
            ran.append(("plain", device))

        @common_utils.parametrize("dtype", [torch.half, torch.float])
        def test_rows(self, dtype):
            ran.append(("rows", dtype))

    scope = {"Numbers": Numbers}
    instantiate_device_type_tests(Numbers, scope, **options)
    return scope, ran


def test_a_class_for_each_device():
    scope, ran = made(only_for=("cpu",))
    assert list(scope) == ["NumbersCPU"]
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(scope["NumbersCPU"])
    names = sorted(test.id().rpartition(".")[2] for test in suite)
    assert names == ["test_plain_cpu", "test_rows_float16_cpu_float16", "test_rows_float32_cpu_float32"]
    result = unittest.TestResult()
    suite.run(result)
    assert result.wasSuccessful() and result.testsRun == 3
    assert sorted(map(str, ran)) == sorted(map(str, [("plain", "cpu"), ("rows", torch.half), ("rows", torch.float)]))
    assert made(except_for="cpu")[0].keys() <= {"NumbersCUDA"} and made(only_for="xpu")[0] == {}


def test_tf32_off():
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = True
    try:

        @tf32_off()
        def within():
            return torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32

        assert within() == (False, False) and torch.backends.cuda.matmul.allow_tf32 is True
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before
