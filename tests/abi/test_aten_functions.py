"""The C functions that operators have of their own (``aoti_torch_cpu_add_Tensor``): each gives what its operator gives."""

from __future__ import annotations

import ctypes

import pytest
from c_calls import I32, I64, Calls, P

import shim_torch as torch
from shim_torch._impl.native import _core

LIB = ctypes.CDLL(_core.__file__)


def tensors(torch):
    """Name -> tensor: the same values for every torch."""
    made = {
        "x": torch.linspace(-2, 3, 12).reshape(3, 4),
        "y": torch.linspace(1, 2, 12).reshape(3, 4),
        "m": torch.linspace(-1, 1, 20).reshape(4, 5),
        "v": torch.tensor([0.5, -1.0, 2.0, 0.25]),
        "i": torch.tensor([[3, 1, 2], [0, 2, 2]]),
        "k": torch.tensor([2, 0, 1, 2]),
        "b": torch.linspace(-1, 1, 24).reshape(2, 3, 4),
        "c": torch.linspace(1, -1, 40).reshape(2, 4, 5),
        "picture": torch.linspace(-1, 1, 72).reshape(1, 2, 6, 6),
        "solid": torch.linspace(-1, 1, 128).reshape(1, 2, 4, 4, 4),
        "weight": torch.linspace(-0.5, 0.5, 54).reshape(3, 2, 3, 3),
        "bias": torch.tensor([0.1, -0.2, 0.3]),
        "q": torch.linspace(-1, 1, 96).reshape(1, 2, 6, 8),
        "z": torch.tensor([1 + 2j, -0.5j, 3.0], dtype=torch.complex64),
        "mask": torch.tensor([[True, False, True, False]] * 3),
        "half": torch.linspace(-2, 3, 12).reshape(3, 4).to(torch.bfloat16),
        "spd": torch.tensor([[4.0, 1.0, 0.5], [1.0, 3.0, 0.25], [0.5, 0.25, 2.0]]),
        "e": torch.zeros(0, 4),
    }
    return made


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


# --- the functions of shim.h and shim_deprecated.h, which have signatures of their own -----------------------------------


def test_views_and_copies():
    run_shim_functions(torch, LIB)


def run_shim_functions(torch, lib):
    known = tensors(torch)

    def after(symbol, *cells, places=1):
        """The results of a call whose last arguments are places for handles."""
        results = [P() for _ in range(places)]
        code = getattr(lib, f"aoti_torch_{symbol}")(*cells, *map(ctypes.byref, results))
        assert code == 0, symbol
        return [calls.tensor(r) for r in results]

    def longs(*numbers):
        return calls.keep((I64 * len(numbers))(*numbers))

    def same(a, b):
        assert (a.dtype, a.size(), a.stride()) == (b.dtype, b.size(), b.stride())
        torch.testing.assert_close(a, b, rtol=0, atol=0, equal_nan=True)

    calls = Calls(torch, lib)
    x, y, m, z = (known[n] for n in "xymz")
    hx, hy, hm = (calls.handle(t) for t in (x, y, m))
    null = P()
    same(after("_reinterpret_tensor", hx, I64(1), longs(5), longs(2), I64(1))[0], x.as_strided([5], [2], 1))
    same(
        after("_alloc_from_pool", hx, I64(8), I32(calls.number_of(torch.int64)), I64(1), longs(3), longs(1))[0],
        x.view(-1)[2:8].view(torch.int64),
    )
    same(after("as_strided", hx, longs(2, 2), longs(1, 4))[0], x.as_strided([2, 2], [1, 4]))
    same(after("clone", calls.handle(m.t()))[0], m.t().clone())
    same(
        after("clone_preserve_strides", calls.handle(m[:, ::2]))[0],
        torch.empty_strided([4, 3], [5, 2]).copy_(m[:, ::2]),
    )
    same(after("view_as_real", calls.handle(z))[0], torch.view_as_real(z))
    same(after("view_dtype", hx, I32(calls.number_of(torch.int32)))[0], x.view(torch.int32))
    same(after("nonzero", calls.handle(known["mask"]))[0], known["mask"].nonzero())
    same(after("repeat_interleave_Tensor", calls.handle(known["k"]), null)[0], torch.repeat_interleave(known["k"]))
    same(after("_fft_c2c", calls.handle(z), longs(0), I64(1), I64(0), I32(1))[0], torch.fft.fft(z))
    weight, picture = calls.handle(known["weight"]), calls.handle(known["picture"])
    one = longs(1, 1)
    convolved = [picture, weight, None, one, I64(2), one, I64(2), one, I64(2), 0, longs(0, 0), I64(2), I64(1)]
    for bias in (null, calls.handle(known["bias"])):
        convolved[2] = bias
        given_bias = known["bias"] if bias.value else None
        same(
            after("convolution", *convolved)[0],
            torch.nn.functional.conv2d(known["picture"], known["weight"], given_bias, padding=1),
        )
    same(after("scalar_to_tensor_int16", ctypes.c_int16(-7))[0], torch.tensor(-7, dtype=torch.int16))
    same(after("assign_tensors_out", hx)[0], x)

    def into(symbol, out, *cells):
        """An out= function: writes to ``out``."""
        assert getattr(lib, f"aoti_torch_{symbol}")(calls.handle(out), *cells) == 0, symbol
        return out

    same(into("mm_out", torch.zeros(3, 5), hx, hm), x @ m)
    same(into("_mm_plus_mm_out", torch.zeros(3, 5), hx, hm, hy, hm), (x @ m).addmm_(y, m))
    half, two = ctypes.c_float(0.5), ctypes.c_float(2)
    bias = torch.ones(1, 5)
    same(
        into("addmm_out", torch.zeros(3, 5), calls.handle(bias), hx, hm, half, two),
        torch.addmm(bias, x, m, beta=0.5, alpha=2.0),
    )
    same(
        into("bmm_out", torch.zeros(2, 3, 5), calls.handle(known["b"]), calls.handle(known["c"])),
        known["b"] @ known["c"],
    )
    same(into("copy_", torch.zeros(3, 4), hx, I32(0)), x)
    target = torch.zeros(3, 4)
    assert lib.aoti_torch_tensor_copy_(hx, calls.handle(target)) == 0
    same(target, x)
    same(into("zero_", torch.ones(2)), torch.zeros(2))
    source = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    index, hsource = calls.handle(known["i"]), calls.handle(source)
    same(into("scatter_out", torch.zeros(4, 5), hm, I64(0), index, hsource), m.scatter(0, known["i"], source))
    reduced = m.scatter_reduce(0, known["i"], source, "sum", include_self=True)
    same(
        into("scatter_reduce_out", torch.zeros(4, 5), hm, I64(0), index, hsource, ctypes.c_char_p(b"sum"), I32(1)),
        reduced,
    )
    places = calls.keep((P * 1)(calls.handle(known["k"]).value))
    put = into(
        "index_put_out",
        torch.zeros(4, 5),
        hm,
        places,
        ctypes.c_uint32(1),
        calls.handle(torch.ones(5)),
        ctypes.c_bool(True),
    )
    same(put, m.index_put((known["k"],), torch.ones(5), accumulate=True))
    assert lib.aoti_torch_check_inf_and_nan(b"x", hx) == 0
    for bad in (float("inf"), float("nan")):
        assert lib.aoti_torch_check_inf_and_nan(b"bad", calls.handle(torch.tensor([1.0, bad]))) == 1


def test_errors_are_texts():
    calls = Calls(torch, LIB)
    with pytest.raises(RuntimeError, match="mat1 and mat2 shapes cannot be multiplied|size mismatch"):
        calls.run(
            "aoti_torch_cpu_mm_out", torch.ops.aten.mm.out, (torch.ones(2, 3), torch.ones(2, 3)), torch.zeros(2, 3)
        )
    out = P()
    assert LIB.aoti_torch_cpu_abs(P(), ctypes.byref(out)) == 1
    assert (
        LIB.torch_exception_get_what_without_backtrace()
        and b"null tensor handle" in LIB.torch_exception_get_what_without_backtrace()
    )
    assert (
        LIB.aoti_torch__reinterpret_tensor(
            calls.handle(torch.ones(4)), I64(1), (I64 * 1)(5), (I64 * 1)(1), I64(0), ctypes.byref(out)
        )
        == 1
    )
    assert b"storage of 16" in LIB.torch_exception_get_what_without_backtrace()


def test_assigned_tensors_share_memory():
    calls = Calls(torch, LIB)
    x, y = torch.arange(6.0), torch.zeros(2)
    target = calls.handle(y)
    assert LIB.aoti_torch_assign_tensors(calls.handle(x), target) == 0
    assert calls.get("get_data_ptr", target, P).value == x.data_ptr() and calls.get("get_numel", target).value == 6
    torch.testing.assert_close(calls.tensor(target), x)
