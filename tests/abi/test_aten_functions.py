"""The C functions that operators have of their own (``aoti_torch_cpu_add_Tensor``): each gives what its operator gives."""

from __future__ import annotations

import ctypes

import pytest
from c_calls import Calls
from tensors_for_c import tensors

import shim_torch as torch
from shim_torch._impl.native import _core

LIB = ctypes.CDLL(_core.__file__)


# symbol after aoti_torch_cpu_, the operator, its arguments (a one-word string is a tensor's name)
CASES = [
    ("abs", "abs.default", ("x",)),
    ("add_Tensor", "add.Tensor", ("x", "y", 2.5)),
    ("add_Scalar", "add.Scalar", ("x", 1.5, 2.0)),
    ("mul_Tensor", "mul.Tensor", ("x", "half")),
    ("mul_Scalar", "mul.Scalar", ("half", 3.0)),
    ("pow_Scalar", "pow.Scalar", (2.0, "x")),
    ("pow_Tensor_Scalar", "pow.Tensor_Scalar", ("y", 0.5)),
    ("pow_Tensor_Tensor", "pow.Tensor_Tensor", ("y", "x")),
    ("addmv", "addmv.default", ("bias", "x", "v", 0.5, 2.0)),
    ("addbmm", "addbmm.default", ("y5", "b", "c", 1.0, 0.5)),
    ("cat", "cat.default", (["x", "y", "e"], 0)),
    ("convolution", "convolution.default", ("picture", "weight", "bias", [1, 2], [1, 0], [1, 1], False, [0, 0], 1)),
    ("convolution", "convolution.default", ("picture", "weight", None, [1, 1], [1, 1], [2, 1], False, [0, 0], 1)),
    ("cumsum", "cumsum.default", ("x", 1, None)),
    ("cumsum", "cumsum.default", ("x", 0, torch.float64)),
    ("cumprod", "cumprod.default", ("y", -1, None)),
    ("cummax", "cummax.default", ("x", 1)),
    ("logcumsumexp", "logcumsumexp.default", ("x", 1)),
    ("index_Tensor", "index.Tensor", ("m", [None, "k4"])),
    ("index_Tensor", "index.Tensor", ("m", ["k"])),
    ("index_put", "index_put.default", ("x", ["k"], "v", True)),
    ("index_reduce", "index_reduce.default", ("m", 0, "k", "m", "amax", True)),
    ("masked_select", "masked_select.default", ("x", "mask")),
    ("masked_scatter", "masked_scatter.default", ("x", "mask", "y")),
    ("nonzero", "nonzero.default", ("mask",)),
    ("repeat_interleave_Tensor", "repeat_interleave.Tensor", ("k", 5)),
    ("repeat_interleave_Tensor", "repeat_interleave.Tensor", ("k", None)),
    ("sort", "sort.default", ("x", -1, True)),
    ("sort_stable", "sort.stable", ("k", True, 0, False)),
    ("topk", "topk.default", ("m", 2, 1, True, True)),
    ("kthvalue", "kthvalue.default", ("m", 2, 1, True)),
    ("median", "median.default", ("x",)),
    ("mode", "mode.default", ("i", 1, False)),
    ("searchsorted_Tensor", "searchsorted.Tensor", ("sorted", "v", True, False, None, None)),
    ("searchsorted_Tensor", "searchsorted.Tensor", ("sorted", "v", False, False, "right ", None)),
    ("searchsorted_Scalar", "searchsorted.Scalar", ("sorted", 0.5, False, True, None, None)),
    ("bucketize_Tensor", "bucketize.Tensor", ("x", "sorted", True, True)),
    ("permute", "permute.default", ("b", [2, 0, 1])),
    ("reshape", "reshape.default", ("b", [4, 6])),
    ("narrow", "narrow.default", ("m", 1, 1, 3)),
    ("slice_Tensor", "slice.Tensor", ("m", 1, None, -1, 2)),
    ("slice_Tensor", "slice.Tensor", ("m", 0, 1, None, 1)),
    ("squeeze_dim", "squeeze.dim", ("picture", 0)),
    ("pad", "pad.default", ("x", [1, 2], "constant ", 7.0)),
    ("pad", "pad.default", ("x", [1, 2], "reflect ", None)),
    ("view_dtype", "view.dtype", ("x", torch.int32)),
    ("view_as_real", "view_as_real.default", ("z",)),
    ("angle", "angle.default", ("z",)),
    ("polar", "polar.default", ("x", "y")),
    ("gcd", "gcd.default", ("i", "i")),
    ("histc", "histc.default", ("x", 4, -2.0, 2.0)),
    ("hann_window", "hann_window.default", (6, None, None, None, None)),
    ("hann_window", "hann_window.default", (6, torch.float64, None, "device", False)),
    ("_adaptive_avg_pool2d", "_adaptive_avg_pool2d.default", ("picture", [2, 3])),
    ("adaptive_max_pool2d", "adaptive_max_pool2d.default", ("picture", [2, 3])),
    ("avg_pool2d", "avg_pool2d.default", ("picture", [2, 2], [], [1, 1], True, False, 3)),
    ("avg_pool2d", "avg_pool2d.default", ("picture", [3], [2], [0], False, True, None)),
    ("avg_pool3d", "avg_pool3d.default", ("solid", [2], [2], [0], False, True, None)),
    ("max_pool2d_with_indices", "max_pool2d_with_indices.default", ("picture", [2, 2], [2, 2], [1, 1], [1, 1], False)),
    ("max_pool3d_with_indices", "max_pool3d_with_indices.default", ("solid", [2], [2], [0], [1], False)),
    ("_cdist_forward", "_cdist_forward.default", ("x", "y", 2.0, None)),
    ("_cdist_forward", "_cdist_forward.default", ("x", "y", 1.0, 1)),
    ("_pdist_forward", "_pdist_forward.default", ("x", 2.0)),
    ("_fft_r2c", "_fft_r2c.default", ("x", [1], 0, True)),
    ("_fft_c2c", "_fft_c2c.default", ("z", [0], 2, False)),
    ("_fused_rms_norm", "_fused_rms_norm.default", ("x", [4], "v", 1e-5)),
    ("_fused_rms_norm", "_fused_rms_norm.default", ("x", [4], None, None)),
    ("_embedding_bag", "_embedding_bag.default", ("m", "k", "offsets", False, 0, False, None, False, -1)),
    ("_trilinear", "_trilinear.default", ("b", "b", "b", [], [], [], [2], 1)),
    ("cholesky_inverse", "cholesky_inverse.default", ("spd", False)),
    ("triangular_solve", "triangular_solve.default", ("spd", "spd", True, False, False)),
    ("segment_reduce", "segment_reduce.default", ("v", "sum ", "lengths", None, None, 0, False, None)),
    ("soft_margin_loss_backward", "soft_margin_loss_backward.default", ("one", "x", "sign", 1)),
    ("upsample_linear1d_backward", "upsample_linear1d_backward.default", ("b", [4], [2, 3, 2], False, None)),
    ("upsample_bicubic2d_backward", "upsample_bicubic2d_backward.default", ("picture", [6, 6], [1, 2, 3, 3], True, None, 2.0)),
    ("convolution_backward", "convolution_backward.default",
     ("gradient", "picture", "weight", [3], [1, 1], [1, 1], [1, 1], False, [0, 0], 1, [True, True, True])),
    ("convolution_backward", "convolution_backward.default",
     ("gradient", "picture", "weight", None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1, [False, True, False])),
    ("_scaled_dot_product_flash_attention_for_cpu", "_scaled_dot_product_flash_attention_for_cpu.default",
     ("q", "q", "q", 0.0, True, None, 0.25)),
    ("native_dropout", "native_dropout.default", ("x", 0.5, False)),
]  # fmt: skip
OUT = [
    ("mm_out", "mm.out", ("x", "m")),
    ("addmm_out", "addmm.out", ("bias1", "x", "m", 0.5, 2.0)),
    ("bmm_out", "bmm.out", ("b", "c")),
    ("baddbmm_out", "baddbmm.out", ("one", "b", "c", 1.0, 0.5)),
    ("scatter_src_out", "scatter.src_out", ("m", 0, "i", "i_values")),
    ("scatter_value_out", "scatter.value_out", ("m", 1, "i", 2.5)),
    ("scatter_reduce_two_out", "scatter_reduce.two_out", ("m", 0, "i", "i_values", "prod ", False)),
]
IN_PLACE = [
    ("fill__Scalar", "fill_.Scalar", ("x", 2.5)),
    ("resize_", "resize_.default", ("x", [2, 2], None)),
]


def given(torch, args):
    more = {
        "y5": torch.ones(3, 5), "k4": torch.tensor([4, 0]), "sorted": torch.tensor([-1.0, 0.0, 0.5, 2.0]),
        "offsets": torch.tensor([0, 1]), "lengths": torch.tensor([1, 3]), "one": torch.ones(()),
        "sign": torch.tensor([[1.0, -1.0, 1.0, 1.0]] * 3), "gradient": torch.linspace(0, 1, 108).reshape(1, 3, 6, 6),
        "bias1": torch.tensor([[0.5]]), "i_values": torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]),
    }  # fmt: skip
    known = {**tensors(torch), **more}

    def one(x):
        if isinstance(x, list):
            return [one(e) for e in x]
        if isinstance(x, str):
            return torch.device("cpu") if x == "device" else known[x].clone() if x in known else x.strip()
        return getattr(torch, str(x).rpartition(".")[2]) if "dtype" in type(x).__name__ else x

    return [one(x) for x in args]


def check(torch, lib, symbol, op, args):
    packet, _, overload = op.partition(".")
    function = getattr(getattr(torch.ops.aten, packet), overload)
    ours, theirs = given(torch, args), given(torch, args)
    schema = function._schema
    named = {a.name: x for a, x in zip(schema.arguments, ours, strict=False) if a.kwarg_only}
    ours = ours[: len(ours) - len(named)]
    if any(a.is_out for a in schema.arguments):
        out = [torch.empty(0), torch.full((), 0.0)]
        expected = function(*ours, **named, out=out[0])
        out[1] = torch.full_like(expected, -1)
        Calls(torch, lib).run(symbol, function, tuple(theirs), out[1])
        got, expected = [out[1]], [expected]
    else:
        expected = function(*ours, **named)
        expected = list(expected) if isinstance(expected, (tuple, list)) else [expected]
        calls = Calls(torch, lib)
        got = calls.run(symbol, function, tuple(theirs))
        if schema.is_mutable:
            got = [calls.tensor(calls.kept_first)]
    assert len(got) == len(expected)
    for a, b in zip(got, expected, strict=False):
        assert (a is None) == (b is None)
        if a is None:
            continue
        assert (a.dtype, a.size(), a.stride()) == (b.dtype, b.size(), b.stride())
        torch.testing.assert_close(a, b, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize(
    ("symbol", "op", "args"), CASES + OUT + IN_PLACE, ids=lambda x: x if isinstance(x, str) else ""
)
def test_a_function_gives_what_its_operator_gives(symbol, op, args):
    check(torch, LIB, f"aoti_torch_cpu_{symbol}", op, args)


def test_both_devices_have_them():
    for symbol, *_ in CASES + OUT + IN_PLACE:
        if "for_cpu" not in symbol:
            assert hasattr(LIB, f"aoti_torch_cuda_{symbol}"), symbol
