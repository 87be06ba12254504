"""Each mend of Triton's interpreter."""

from __future__ import annotations

import importlib.util
import math
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import shim_torch as torch
from compat import torch_proxy
from shim_torch_proxy.adapters.triton.mends import symbols

if importlib.util.find_spec("triton") is None:  # not importorskip: Triton is to be imported in scope
    pytest.skip("Triton is not installed", allow_module_level=True)
if torch.cuda.is_available():
    pytest.skip("the interpreter is for machines with no GPU", allow_module_level=True)

sys.path.insert(0, str(Path(__file__).parent))
with torch_proxy({"triton"}):
    import kernels_for_triton as kernels


def numbers(t: torch.Tensor) -> np.ndarray:
    return t.double().numpy()


def bfloat16(values: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        return values.astype(ml_dtypes.bfloat16)


def test_bfloat16_arithmetic_rounds_once_an_operation():
    torch.manual_seed(0)
    x = torch.randn(100).to(torch.bfloat16)
    y = torch.empty_like(x)
    kernels.polynomial[(2,)](x, y, 100, BLOCK=64)
    held = bfloat16(numbers(x))
    expected = np.abs(held) * held + np.abs(held)
    np.testing.assert_array_equal(numbers(y), expected.astype(np.float64))


def test_bfloat16_fma_rounds_once():
    x = torch.tensor([1.0078125, -3.5, 0.1, 1e30]).to(torch.bfloat16)
    y = torch.empty_like(x)
    kernels.fused[(1,)](x, y, BLOCK=4)
    held = numbers(x)
    np.testing.assert_array_equal(numbers(y), bfloat16(held * held + held).astype(np.float64))


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3fn", "float8_e5m2", "float16"])
def test_dot_accumulates_in_float32(dtype):
    torch.manual_seed(1)
    a, b = (torch.randn(32, 32).to(getattr(torch, dtype)) for _ in range(2))
    c = torch.empty(32, 32)
    kernels.dot[(1,)](a, b, c, BLOCK=32)
    np.testing.assert_allclose(numbers(c), numbers(a) @ numbers(b), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("a_format, b_format", [("e4m3", "e5m2"), ("e2m1", "e4m3"), ("e5m2", "bf16")])
def test_dot_scaled(a_format, b_format):
    rng, m, n, k = np.random.default_rng(0), 32, 32, 64
    dtypes = {"e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2, "bf16": torch.bfloat16}
    a_scale, b_scale = (rng.integers(120, 134, (side, k // 32)).astype(np.uint8) for side in (m, n))
    if a_format == "e2m1":
        a = torch.tensor(rng.integers(0, 256, (m, k // 2)).astype(np.uint8))
        codes = np.stack([a.numpy() & 15, a.numpy() >> 4], -1).reshape(m, k)
        sizes = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])[codes & 7]
        left = np.where(codes & 8, -sizes, sizes)
    else:
        a = torch.tensor(rng.standard_normal((m, k))).to(dtypes[a_format])
        left = numbers(a)
    b = torch.tensor(rng.standard_normal((n, k)) * (1e5 if b_format == "bf16" else 1)).to(dtypes[b_format])
    right = numbers(b)
    left = left * np.repeat(2.0 ** (a_scale.astype(int) - 127), 32, -1)
    if b_format != "bf16":
        right = right * np.repeat(2.0 ** (b_scale.astype(int) - 127), 32, -1)
    c = torch.empty(m, n)
    arrays = [
        t.view(torch.uint8) if t.dtype.itemsize == 1 else t
        for t in (a, torch.tensor(a_scale), b, torch.tensor(b_scale))
    ]
    kernels.dot_scaled[(1,)](*arrays, c, m, n, k, 2 if a_format == "e2m1" else 1, a_format, b_format)
    np.testing.assert_allclose(numbers(c), left @ right.T, rtol=1e-4, atol=1e-4 * np.abs(left @ right.T).max())


EDGES = [
    0.0,
    -0.0,
    1.0,
    1.00390625,
    1.01171875,
    -1.0058,
    3e38,
    1e-40,
    math.inf,
    -math.inf,
    math.nan,
    240.0,
    479.0,
    1e5,
    17.0,
    19.0,
]


@pytest.mark.parametrize("source", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("target", ["bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_casts_round_to_nearest_even(source, target):
    x = torch.tensor(EDGES + list(np.linspace(-3, 3, 48))).to(getattr(torch, source))
    y = torch.empty(64, dtype=getattr(torch, target))
    kernels.cast[(1,)](x, y, BLOCK=64)
    held = getattr(ml_dtypes, target)
    value = numbers(x)
    if target.startswith("float8"):  # NVIDIA's conversions saturate
        most = float(ml_dtypes.finfo(held).max)
        value = np.clip(value, -most, most)
    with np.errstate(over="ignore"):
        expected = value.astype(np.float32).astype(held).astype(np.float64)
    np.testing.assert_array_equal(numbers(y), expected)


@pytest.mark.parametrize("source", ["float8_e4m3fn", "float8_e5m2", "bfloat16"])
def test_casts_up_are_exact(source):
    x = torch.tensor([0.5, -1.75, 448.0, 2**-9, math.inf if source != "float8_e4m3fn" else 1.0, math.nan, -0.0, 3.0])
    x = x.to(getattr(torch, source))
    y = torch.empty(8)
    kernels.cast[(1,)](x, y, BLOCK=8)
    np.testing.assert_array_equal(numbers(y), numbers(x))


def test_cast_toward_zero():
    x = torch.tensor([1.00781, -1.00781, 1.0, 1e38])
    y = torch.empty(4, dtype=torch.bfloat16)
    kernels.cast_toward_zero[(1,)](x, y, BLOCK=4)
    bits = x.numpy().view(np.uint32) & np.uint32(0xFFFF0000)
    np.testing.assert_array_equal(numbers(y), bits.view(np.float32).astype(np.float64))


def test_bfloat16_atomic_add_on_one_address():
    x, y = torch.arange(1, 9).to(torch.bfloat16), torch.full((1,), 2.0).to(torch.bfloat16)
    old = torch.zeros(8).to(torch.bfloat16)
    kernels.add_all[(1,)](x, y, old, 7, BLOCK=8)
    assert numbers(y) == [2 + 28]
    assert numbers(old).tolist() == [2, 3, 5, 8, 12, 17, 23, 0]


def test_scalars_have_a_tensors_methods():
    y = torch.zeros(2, dtype=torch.float64)
    kernels.scalars[(1,)](y, 0.25, True, 1, 4)
    assert y.tolist() == [0.25 + 60 + 1000 + 0.5, 1.0]


@pytest.mark.parametrize("n", [0, 1, 5])
def test_a_comparison_of_scalars_may_be_part_of_a_mask(n):
    x, y = torch.arange(8.0), torch.full((16,), -2.0)
    kernels.scalar_conditions[(1,)](x, y, n, BLOCK=8)
    rows = np.full((2, 8), -2.0)
    if n > 1:
        rows[:] = [-1, -1, 2, 3, 4, 5, 6, 7]
        rows[:, 7] = -2
    rows[0, 0] = 3 if n > 1 else 0
    np.testing.assert_array_equal(numbers(y), rows.reshape(-1))


def test_loop_variable_is_as_wide_as_its_bounds():
    y = torch.zeros(1, dtype=torch.int64)
    kernels.wide_loop[(1,)](y, 2**33, 2**33 + 1, 3)
    assert y.item() == 3 * 2**33


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_libdevice(dtype):
    x = torch.linspace(-4, 4, 32).to(dtype)
    y = torch.empty_like(x)
    kernels.tanh[(1,)](x, y, BLOCK=32)
    np.testing.assert_allclose(numbers(y), np.tanh(numbers(x)), rtol=1e-6)
    kernels.cuda_rsqrt[(1,)](x.abs(), y, BLOCK=32)
    np.testing.assert_allclose(numbers(y), 1 / np.sqrt(np.abs(numbers(x))), rtol=1e-6)


VALUES = {
    "__nv_erff": [(0.5,), math.erf(0.5)],
    "__nv_erfinvf": [(0.5,), 0.4769362762044699],
    "__nv_erfcinv": [(0.25,), 0.8134198475976185],
    "__nv_erfcx": [(30.0,), 0.018795888861416751],
    "__nv_normcdfinv": [(0.975,), 1.959963984540054],
    "__nv_lgammaf": [(0.5,), math.lgamma(0.5)],
    "__nv_tgamma": [(5.0,), 24.0],
    "__nv_powf": [(2.0, 10.0), 1024.0],
    "__nv_fast_powf": [(2.0, 3.0), 8.0],
    "__nv_round": [(-2.5,), -3.0],
    "__nv_rint": [(2.5,), 2.0],
    "__nv_llrintf": [(3.5,), 4],
    "__nv_cospif": [(1.0,), -1.0],
    "__nv_rnorm3df": [(1.0, 2.0, 2.0), 1 / 3],
    "__nv_saturatef": [(-0.5,), 0.0],
    "__nv_ilogbf": [(10.0,), 3],
    "__nv_isnanf": [(math.nan,), 1],
    "__nv_remainderf": [(5.0, 3.0), -1.0],
    "__nv_atan2f": [(1.0, -1.0), 3 * math.pi / 4],
}


@pytest.mark.parametrize("symbol", VALUES)
def test_symbols(symbol):
    args, expected = VALUES[symbol]
    held = np.float64
    result = symbols.find(symbol)(np.dtype(held), *(np.array([arg], dtype=held) for arg in args))
    np.testing.assert_allclose(result, [expected], rtol=1e-6)


def test_integer_symbols():
    x = np.array([0, 1, 0x50, -1], dtype=np.int32)
    find = symbols.find
    assert find("__nv_popc")(np.dtype(np.int32), x).tolist() == [0, 1, 2, 32]
    assert find("__nv_clz")(np.dtype(np.int32), x).tolist() == [32, 31, 25, 0]
    assert find("__nv_ffs")(np.dtype(np.int32), x).tolist() == [0, 1, 5, 1]
    assert find("__nv_brev")(np.dtype(np.int32), x).tolist() == [0, -(2**31), 0x0A000000, -1]
    big = np.array([2**62], dtype=np.int64)
    assert find("__nv_mul64hi")(np.dtype(np.int64), big, big).tolist() == [2**60]
    assert find("__nv_float2int_rz")(np.dtype(np.int32), np.array([-1.7, 3e10, np.nan], np.float32)).tolist() == [
        -1,
        2**31 - 1,
        0,
    ]
    assert find("__nv_float_as_int")(np.dtype(np.int32), np.array([1.0], np.float32)).tolist() == [0x3F800000]
    assert find("__nv_nosuch") is None


def test_directed_rounding_brackets_the_value():
    third = [
        symbols.find(f"__nv_fdiv_{mode}")(np.dtype(np.float32), np.float32([1]), np.float32([3]))[0]
        for mode in ("rd", "rn", "ru", "rz")
    ]
    assert third[0] < third[2] == np.nextafter(third[0], np.float32(1))
    assert third[3] == third[0]
    assert third[1] in (third[0], third[2])


def test_every_declared_symbol_is_known():
    import inspect
    import re

    from triton.language.extra.cuda import libdevice

    declared = set(re.findall(r'"(__nv_\w+)"', Path(inspect.getfile(libdevice)).read_text()))
    assert len(declared) > 300 and not {name for name in declared if symbols.find(name) is None}


def test_kernels_overflow_silently(recwarn):
    x, y = torch.full((4,), 60000.0, dtype=torch.float16), torch.empty(4, dtype=torch.float16)
    kernels.polynomial[(1,)](x, y, 4, BLOCK=4)
    assert y.tolist() == [math.inf] * 4
    assert not recwarn.list


def test_views_and_aliases_are_written_through():
    base = torch.arange(64.0)
    kernels.cast[(1,)](base[:32], base[32:], BLOCK=32)
    assert base[32:].tolist() == list(range(32))
