"""The functions of shim.h and shim_deprecated.h, which have signatures of their own: each gives what its operator gives."""

from __future__ import annotations

import ctypes

import pytest
from c_calls import I32, I64, Calls, P
from tensors_for_c import tensors

import shim_torch as torch
from shim_torch._impl.native import _core

LIB = ctypes.CDLL(_core.__file__)


class ShimCalls:
    """The functions of shim.h and shim_deprecated.h, called with these tensors."""

    def __init__(self, torch, lib):
        self.lib, self.calls, self.known = lib, Calls(torch, lib), tensors(torch)

    def after(self, symbol, *cells, places=1):
        """The results of a call whose last arguments are places for handles."""
        results = [P() for _ in range(places)]
        code = getattr(self.lib, f"aoti_torch_{symbol}")(*cells, *map(ctypes.byref, results))
        assert code == 0, symbol
        return [self.calls.tensor(r) for r in results]

    def longs(self, *numbers):
        return self.calls.keep((I64 * len(numbers))(*numbers))

    def into(self, symbol, out, *cells):
        """An out= function: writes to ``out``."""
        assert getattr(self.lib, f"aoti_torch_{symbol}")(self.calls.handle(out), *cells) == 0, symbol
        return out


def same(a, b):
    assert (a.dtype, a.size(), a.stride()) == (b.dtype, b.size(), b.stride())
    torch.testing.assert_close(a, b, rtol=0, atol=0, equal_nan=True)


def test_views_and_copies():
    c = ShimCalls(torch, LIB)
    views_and_copies(c)
    products_and_writes(c)


def views_and_copies(c):
    x, m, z = (c.known[n] for n in "xmz")
    hx, null = c.calls.handle(x), P()
    same(c.after("_reinterpret_tensor", hx, I64(1), c.longs(5), c.longs(2), I64(1))[0], x.as_strided([5], [2], 1))
    same(
        c.after("_alloc_from_pool", hx, I64(8), I32(c.calls.number_of(torch.int64)), I64(1), c.longs(3), c.longs(1))[0],
        x.view(-1)[2:8].view(torch.int64),
    )
    same(c.after("as_strided", hx, c.longs(2, 2), c.longs(1, 4))[0], x.as_strided([2, 2], [1, 4]))
    same(c.after("clone", c.calls.handle(m.t()))[0], m.t().clone())
    same(
        c.after("clone_preserve_strides", c.calls.handle(m[:, ::2]))[0],
        torch.empty_strided([4, 3], [5, 2]).copy_(m[:, ::2]),
    )
    same(c.after("view_as_real", c.calls.handle(z))[0], torch.view_as_real(z))
    same(c.after("view_dtype", hx, I32(c.calls.number_of(torch.int32)))[0], x.view(torch.int32))
    same(c.after("nonzero", c.calls.handle(c.known["mask"]))[0], c.known["mask"].nonzero())
    same(
        c.after("repeat_interleave_Tensor", c.calls.handle(c.known["k"]), null)[0],
        torch.repeat_interleave(c.known["k"]),
    )
    same(c.after("_fft_c2c", c.calls.handle(z), c.longs(0), I64(1), I64(0), I32(1))[0], torch.fft.fft(z))
    weight, picture = c.calls.handle(c.known["weight"]), c.calls.handle(c.known["picture"])
    one = c.longs(1, 1)
    convolved = [picture, weight, None, one, I64(2), one, I64(2), one, I64(2), 0, c.longs(0, 0), I64(2), I64(1)]
    for bias in (null, c.calls.handle(c.known["bias"])):
        convolved[2] = bias
        given_bias = c.known["bias"] if bias.value else None
        same(
            c.after("convolution", *convolved)[0],
            torch.nn.functional.conv2d(c.known["picture"], c.known["weight"], given_bias, padding=1),
        )
    same(c.after("scalar_to_tensor_int16", ctypes.c_int16(-7))[0], torch.tensor(-7, dtype=torch.int16))
    same(c.after("assign_tensors_out", hx)[0], x)


def products_and_writes(c):
    x, y, m = (c.known[n] for n in "xym")
    hx, hy, hm = (c.calls.handle(t) for t in (x, y, m))
    same(c.into("mm_out", torch.zeros(3, 5), hx, hm), x @ m)
    same(c.into("_mm_plus_mm_out", torch.zeros(3, 5), hx, hm, hy, hm), (x @ m).addmm_(y, m))
    half, two = ctypes.c_float(0.5), ctypes.c_float(2)
    bias = torch.ones(1, 5)
    same(
        c.into("addmm_out", torch.zeros(3, 5), c.calls.handle(bias), hx, hm, half, two),
        torch.addmm(bias, x, m, beta=0.5, alpha=2.0),
    )
    same(
        c.into("bmm_out", torch.zeros(2, 3, 5), c.calls.handle(c.known["b"]), c.calls.handle(c.known["c"])),
        c.known["b"] @ c.known["c"],
    )
    same(c.into("copy_", torch.zeros(3, 4), hx, I32(0)), x)
    target = torch.zeros(3, 4)
    assert c.lib.aoti_torch_tensor_copy_(hx, c.calls.handle(target)) == 0
    same(target, x)
    same(c.into("zero_", torch.ones(2)), torch.zeros(2))
    source = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    index, hsource = c.calls.handle(c.known["i"]), c.calls.handle(source)
    same(c.into("scatter_out", torch.zeros(4, 5), hm, I64(0), index, hsource), m.scatter(0, c.known["i"], source))
    reduced = m.scatter_reduce(0, c.known["i"], source, "sum", include_self=True)
    same(
        c.into("scatter_reduce_out", torch.zeros(4, 5), hm, I64(0), index, hsource, ctypes.c_char_p(b"sum"), I32(1)),
        reduced,
    )
    places = c.calls.keep((P * 1)(c.calls.handle(c.known["k"]).value))
    put = c.into(
        "index_put_out",
        torch.zeros(4, 5),
        hm,
        places,
        ctypes.c_uint32(1),
        c.calls.handle(torch.ones(5)),
        ctypes.c_bool(True),
    )
    same(put, m.index_put((c.known["k"],), torch.ones(5), accumulate=True))
    assert c.lib.aoti_torch_check_inf_and_nan(b"x", hx) == 0
    for bad in (float("inf"), float("nan")):
        assert c.lib.aoti_torch_check_inf_and_nan(b"bad", c.calls.handle(torch.tensor([1.0, bad]))) == 1


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
