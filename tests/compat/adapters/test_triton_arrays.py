"""Interpreted kernels launched with arrays of NumPy and JAX: they read and write the arrays' own memory."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

import shim_torch as torch
from compat import torch_proxy

if importlib.util.find_spec("triton") is None:  # not importorskip: Triton is to be imported in scope
    pytest.skip("Triton is not installed", allow_module_level=True)
if torch.cuda.is_available():
    pytest.skip("tests/gpu has those of a GPU", allow_module_level=True)

sys.path.insert(0, str(Path(__file__).parent))
with torch_proxy({"triton", "kernels_of_arrays"}):
    import kernels_of_arrays as kernels


def test_numpy_arrays_are_written_in_place():
    x, out = np.arange(40, dtype=np.float32), np.zeros(40, dtype=np.float32)
    kernels.add_one[(3,)](x, out, 40, BLOCK=16)
    np.testing.assert_array_equal(out, x + 1)
    kernels.add_one[(3,)](x_ptr=x, out_ptr=x, n=40, BLOCK=16)  # by name; the same array twice
    np.testing.assert_array_equal(x, out)


def test_strided_views_start_where_they_start():
    base = np.zeros((4, 8), dtype=np.float64)
    kernels.add_one[(1,)](base[2, 3:], base[1], 4, BLOCK=4)
    assert base.sum() == 4 and (base[1, :4] == 1).all()


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.float16, np.float64])
def test_each_dtype_is_the_kernels(dtype):
    x = np.arange(8).astype(dtype)
    kernels.add_one[(1,)](x, x, 8, BLOCK=8)
    np.testing.assert_array_equal(x, np.arange(1, 9).astype(dtype))


def test_bfloat16():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = np.arange(8).astype(ml_dtypes.bfloat16)
    kernels.add_one[(1,)](x, x, 8, BLOCK=8)
    np.testing.assert_array_equal(x.astype(np.float32), np.arange(1, 9))


def test_arrays_and_tensors_together():
    x, out = np.ones(8, dtype=np.float32), torch.zeros(8)
    kernels.add_one[(1,)](x, out, 8, BLOCK=8)
    assert out.tolist() == [2.0] * 8


def test_a_grid_function_heuristics_and_autotuning_see_tensors():
    x, out = np.ones((2, 12), dtype=np.float32), np.zeros((2, 12), dtype=np.float32)
    seen = []

    def grid(meta):
        seen.append(type(meta["x_ptr"]))
        return (-(-meta["x_ptr"].numel() // meta["BLOCK"]),)

    kernels.add_one[grid](x, out, 24, BLOCK=8)
    assert (out == 2).all()
    kernels.add_one_with_heuristics[(1,)](x, out, 24)
    assert (out == 2).all() and kernels.seen[-1] is torch.Tensor
    out[:] = 5
    kernels.add_one_tuned[lambda meta: (-(-24 // meta["BLOCK"]),)](x, out, 24)
    assert (out == 2).all() and seen[0] is torch.Tensor


def test_an_array_that_has_no_dtype_of_tensors_is_refused():
    with pytest.raises(TypeError, match="can't convert np.ndarray of type numpy.object_"):
        kernels.add_one[(1,)](np.array([None]), np.zeros(1), 1, BLOCK=1)


class TestJax:
    """The same with jax.Array; the examples use Liger's operators and gradients as well."""

    @pytest.fixture(autouse=True)
    def jax(self):
        return pytest.importorskip("jax")

    def test_memory_is_shared(self, jax):
        x, out = jax.numpy.arange(16.0), jax.numpy.zeros(16)
        kernels.add_one[(1,)](x, out, 16, BLOCK=16)
        np.testing.assert_array_equal(np.asarray(out), np.arange(1, 17))

    def test_a_traced_value_says_what_to_call(self, jax):
        def call(x):
            kernels.add_one[(1,)](x, x, 16, BLOCK=16)
            return x

        with pytest.raises(TypeError, match=r"add_one\[grid\]\(\) got a value that JAX traces .*jax\.pure_callback"):
            jax.jit(call)(jax.numpy.zeros(16))
