"""torch.cuda.jiterator: element-wise functions compiled at run time."""

from __future__ import annotations

import pytest

import shim_torch as torch

create, create_several = torch.cuda.jiterator._create_jit_fn, torch.cuda.jiterator._create_multi_output_jit_fn


@pytest.mark.parametrize(
    "name", "bool uint8 int8 int32 int64 float16 bfloat16 float32 float64 complex64 complex128".split()
)
def test_values_of_each_dtype(name):
    dtype = getattr(torch, name)
    function = create("template <typename T> T f(T x, T y, T a) { return x * y + a; }", a=1)
    x, y = (torch.tensor(v, device="cuda").to(dtype) for v in ([0, 1, 2, 3], [1, 1, 0, 2]))
    expected = (x * y + torch.ones((), dtype=dtype, device="cuda")).cpu() if name != "bool" else [True] * 4
    result = function(x, y)
    assert result.dtype is dtype
    assert result.tolist() == (expected if name == "bool" else expected.tolist())


def test_broadcasting_promotion_and_strides():
    function = create(
        "template <typename T> T half_of(T x) { return x / T(2); } template <typename T> T f(T x, T y) { return half_of(x) + y; }"
    )
    x = torch.arange(6, device="cuda", dtype=torch.int32).reshape(2, 3).t()
    y = torch.tensor([[10.0], [20.0], [30.0]], device="cuda")
    assert torch.equal(function(x, y), x / 2 + y)
    assert function(x[:0], y[:0]).shape == (0, 2)


def test_several_outputs_and_keywords():
    function = create_several("template <typename T> void f(T x, T a, T& s, T& d) { s = x + a; d = x - a; }", 2, a=1.0)
    x = torch.arange(4.0, device="cuda")
    total, difference = function(x, a=0.5)
    assert torch.equal(total, x + 0.5) and torch.equal(difference, x - 0.5)
    with pytest.raises(KeyError, match="b is not declared"):
        function(x, b=1)
    with pytest.raises(RuntimeError, match="CUDA device"):
        function(x.cpu())
