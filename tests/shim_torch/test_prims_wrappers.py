"""What torch._prims_common.wrappers gives functions, and the references that the tests of operators ask for."""

import inspect
import subprocess
import sys

import pytest

import shim_torch as torch
from shim_torch import _refs
from shim_torch._prims_common import ELEMENTWISE_TYPE_PROMOTION_KIND
from shim_torch._prims_common.wrappers import (
    _maybe_remove_out_wrapper,
    elementwise_type_promotion_wrapper,
    elementwise_unary_scalar_wrapper,
    out_wrapper,
)


def test_out_wrapper_writes_into_out():
    @out_wrapper()
    def double(a):
        return a * 2

    out = torch.empty(0)
    assert double(torch.ones(2), out=out) is out and out.tolist() == [2.0, 2.0]
    assert list(inspect.signature(double).parameters) == ["a", "out"]
    with pytest.warns(UserWarning, match="An output with one or more elements was resized"):
        double(torch.ones(2), out=torch.empty(3))
    with pytest.raises(RuntimeError, match="can't be cast because it is not safe"):
        double(torch.ones(2), out=torch.empty(2, dtype=torch.int64))
    bare = _maybe_remove_out_wrapper(double)
    assert "out" not in inspect.signature(bare).parameters and bare(torch.ones(1)).item() == 2


def test_out_wrapper_of_several():
    @out_wrapper("low", "high", exact_dtype=True)
    def ends(a):
        return a.min(), a.max()

    found = ends(torch.arange(3.0))
    assert found.low == 0 and found.high == 2
    low, high = torch.empty(()), torch.empty(())
    assert ends(torch.arange(4.0), low=low, high=high).high is high and high == 3
    with pytest.raises(RuntimeError, match="Expected out tensor to have dtype torch.float32 but got torch.float64"):
        ends(torch.arange(3.0), out=(low, torch.empty((), dtype=torch.float64)))


def test_promotion_of_named_arguments():
    @elementwise_type_promotion_wrapper(
        type_promoting_args=("a", "b"), type_promotion_kind=ELEMENTWISE_TYPE_PROMOTION_KIND.INT_TO_FLOAT
    )
    def quotient(a, b):
        assert a.dtype == b.dtype == torch.float32
        return a / b

    assert quotient(torch.tensor([3]), torch.tensor([2], dtype=torch.uint8)).tolist() == [1.5]
    assert quotient(torch.tensor([3.0]).half(), torch.tensor([2])).dtype == torch.float16
    assert elementwise_unary_scalar_wrapper(torch.neg)(2.0) == -2.0


def test_references_have_their_names_and_arguments():
    assert {"add", "sum", "tril_indices"} <= set(_refs.__all__) and "i0e" in _refs.special.__all__
    assert all(callable(getattr(_refs, name)) for name in _refs.__all__)
    assert "dtype" in inspect.getfullargspec(_refs.sum).kwonlyargs
    assert "dtype" not in inspect.getfullargspec(_refs.all).kwonlyargs
    out = torch.empty(0, dtype=torch.bool)
    assert _refs.isfinite(torch.tensor([1.0, float("nan")]), out=out) is out and out.tolist() == [True, False]
    assert _refs.sum(torch.ones(3), dtype=torch.int64).item() == 3
    out = torch.empty(2)
    assert _refs.rsub(torch.ones(2), torch.tensor([3.0, 4.0]), out=out) is out and out.tolist() == [2.0, 3.0]
    outs = torch.empty(2, 3), torch.empty(2, 1), torch.empty(2, 1)
    found = _refs.native_layer_norm(torch.arange(6.0).reshape(2, 3), (3,), None, None, 1e-5, out=outs)
    assert found[1] is outs[1] and outs[1].flatten().tolist() == [1.0, 4.0]


def test_attention_with_a_function_as_an_operator():
    from shim_torch._higher_order_ops import InvokeQuant, invoke_quant_packed
    from shim_torch._higher_order_ops.flex_attention import flex_attention as operator
    from shim_torch.nn.attention.flex_attention import _create_empty_block_mask, flex_attention

    q, k, v = (torch.randn(1, 2, n, 4) for n in (3, 5, 5))
    everything = _create_empty_block_mask(q, k)

    def later(score, b, h, m, n):
        return score + m - n

    out, lse, peak = operator(q, k, v, later, everything.as_tuple(), 0.5, {})
    expected, natural = flex_attention(q, k, v, later, everything, 0.5, return_lse=True)
    torch.testing.assert_close(out, expected)
    torch.testing.assert_close(lse * 0.6931471805599453, natural)
    assert peak.shape == (1, 2, 3)
    assert InvokeQuant()(torch.neg, v).equal(-v) and invoke_quant_packed(torch.neg, v).equal(-v)


def test_references_are_the_same_under_the_proxy():
    code = (
        "from compat import enable_torch_proxy; enable_torch_proxy()\n"
        "import torch, torch._refs as refs\n"
        "out = torch.empty(0, dtype=torch.bool)\n"
        "assert refs.isfinite(torch.tensor([1.0, float('inf')]), out=out) is out\n"
        "print(out.tolist())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "[True, False]\n", done.stderr
