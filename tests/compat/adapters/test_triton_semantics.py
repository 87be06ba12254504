"""Triton's interpreter computes as a GPU does where NumPy alone does not: NaN, float8, int1, ranges, custom reductions."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import shim_torch as torch
from compat import torch_proxy
from shim_torch_proxy.adapters.triton.mends import symbols

if importlib.util.find_spec("triton") is None:
    pytest.skip("Triton is not installed", allow_module_level=True)
if torch.cuda.is_available():
    pytest.skip("the interpreter is for machines with no GPU", allow_module_level=True)

sys.path.insert(0, str(Path(__file__).parent))
with torch_proxy({"triton"}):
    import kernels_of_semantics as kernels

NAN, INF = float("nan"), float("inf")


def binary(op: str, x: torch.Tensor, y: torch.Tensor, dtype: torch.dtype | None = None) -> np.ndarray:
    out = torch.empty(x.shape, dtype=dtype or x.dtype)
    kernels.binary[(1,)](x, y, out, OP=op, BLOCK=x.numel())
    return out.float().numpy() if out.dtype.is_floating_point else out.numpy()


@pytest.mark.parametrize(
    "dtype, held", [(torch.float8_e4m3fn, ml_dtypes.float8_e4m3fn), (torch.float8_e5m2, ml_dtypes.float8_e5m2)]
)
def test_float8_computes_with_numbers(dtype, held):
    x, y = torch.tensor([1.5, -2, 0.25, 3]).to(dtype), torch.tensor([0.5, 3, 0.125, 3.5]).to(dtype)
    a, b = x.float().numpy(), y.float().numpy()
    for op, exact in [("+", a + b), ("-", a - b), ("*", a * b), ("max", np.maximum(a, b))]:
        np.testing.assert_array_equal(binary(op, x, y), exact.astype(held).astype(np.float32))
    np.testing.assert_array_equal(binary("<", x, y, torch.int32), a < b)


def test_int1_wraps_around():
    out = torch.empty(4, dtype=torch.int32)
    kernels.parity[(1,)](torch.tensor([0, 0, 1, 1]), torch.tensor([0, 1, 0, 1]), out, BLOCK=4)
    assert out.tolist() == [0, 1, 1, 0]


def test_bfloat16_constants():
    out = torch.zeros(4, dtype=torch.bfloat16)
    kernels.constant[(1,)](out, BLOCK=4)
    assert out.tolist() == [1.5] * 4


def test_the_number_beside_a_nan():
    x, y = torch.tensor([NAN, 2.0, NAN, -1.0]), torch.tensor([0.5, NAN, NAN, 1.0])
    np.testing.assert_array_equal(binary("max", x, y), np.float32([0.5, 2, NAN, 1]))
    np.testing.assert_array_equal(binary("min", x, y), np.float32([0.5, 2, NAN, -1]))
    np.testing.assert_array_equal(binary("max nan", x, y), np.float32([NAN, NAN, NAN, 1]))
    np.testing.assert_array_equal(binary("clamp", x, y), np.float32([0, 1, 0, 0]))


def test_fma_rounds_once():
    x = torch.tensor([1 + 2.0**-12, 1 + 2.0**-20, 3.0, -1.5])
    exact = x.double().numpy() ** 2 - 1
    np.testing.assert_array_equal(binary("fma", x, x), exact.astype(np.float32))


def test_high_halves_of_products():
    x, y = [-1, 2**31 - 1, -(2**31), 5], [-1, 2**31 - 1, 3, -7]
    high = [((a % 2**32) * (b % 2**32) >> 32) for a, b in zip(x, y, strict=True)]
    got = binary("umulhi", torch.tensor(x, dtype=torch.int32), torch.tensor(y, dtype=torch.int32))
    assert [int(v) % 2**32 for v in got] == high


def test_integer_division_truncates():
    x, y = torch.tensor([7, -7, 7, -7], dtype=torch.int32), torch.tensor([2, 2, -2, -2], dtype=torch.int32)
    assert binary("//", x, y).tolist() == [3, -3, -3, 3] and binary("%", x, y).tolist() == [1, -1, 1, -1]


@pytest.mark.parametrize("source", [torch.float32, torch.float64])
def test_floats_beyond_the_integers_saturate(source):
    x = torch.tensor([1e20, -1e20, NAN, -3.5, INF, 7.9, 2.0**31, -(2.0**31)], dtype=source)
    for dtype, expected in [
        (torch.int32, [2**31 - 1, -(2**31), 0, -3, 2**31 - 1, 7, 2**31 - 1, -(2**31)]),
        (torch.int64, [2**63 - 1, -(2**63), 0, -3, 2**63 - 1, 7, 2**31, -(2**31)]),
        (torch.uint32, [2**32 - 1, 0, 0, 0, 2**32 - 1, 7, 2**31, 0]),
    ]:
        out = torch.empty(8, dtype=dtype)
        kernels.cast[(1,)](x, out, BLOCK=8)
        assert out.numpy().tolist() == expected


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_extremes_pass_over_nan(dtype, recwarn):
    x = torch.tensor([[1.0, NAN, 5.0, -2.0], [NAN] * 4, [3.0, 3.0, NAN, 3.0], [-INF, 0.0, 1.0, INF]]).to(dtype)
    out = torch.empty(4, 4)
    kernels.extremes[(1,)](x, out, M=4, N=4)
    got = out.numpy()
    np.testing.assert_array_equal(got[0], np.float32([5, NAN, 3, INF]))
    np.testing.assert_array_equal(got[1], np.float32([-2, NAN, 3, -INF]))
    assert got[2][[0, 2, 3]].tolist() == [2, 0, 3] and got[3][[0, 2, 3]].tolist() == [3, 0, 0]
    assert not recwarn.list


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("axis", [0, 1])
def test_scans_of_a_function(axis, reverse):
    rng = np.random.default_rng(0)
    x, y = rng.uniform(-1, 1, (4, 8)).astype(np.float32), rng.uniform(-1, 1, (4, 8)).astype(np.float32)
    out = torch.empty(2, 4, 8)
    kernels.scan[(1,)](torch.tensor(x), torch.tensor(y), out, M=4, N=8, AXIS=axis, REVERSE=reverse)
    order = (lambda a: np.flip(a, axis)) if reverse else (lambda a: a)
    a, b = np.moveaxis(order(x.astype(np.float64)), axis, 0), np.moveaxis(order(y.astype(np.float64)), axis, 0)
    scale, shift = [a[0]], [b[0]]
    for k in range(1, len(a)):
        scale.append(scale[-1] * a[k])
        shift.append(shift[-1] * a[k] + b[k])
    for got, expected in zip(out.numpy(), (scale, shift), strict=True):
        np.testing.assert_allclose(got, order(np.moveaxis(np.array(expected), 0, axis)), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("keep", [False, True])
def test_reductions_of_a_function(keep):
    x = torch.tensor(np.random.default_rng(0).integers(0, 9, (8, 16))).float()
    out = torch.empty(2, 8)
    kernels.reduce[(1,)](x, out, M=8, N=16, KEEP=keep)
    np.testing.assert_array_equal(out.numpy(), np.stack([x.numpy().max(1), x.numpy().argmax(1)]))
    out = torch.empty(2)
    kernels.reduce_all[(1,)](x[3], out, N=16)
    assert out.tolist() == [x[3].max().item(), x[3].numpy().argmax()]


@pytest.mark.parametrize("dtype", [torch.float32, torch.int32, torch.bfloat16])
@pytest.mark.parametrize("descending", [False, True])
def test_sorts_and_flips(dtype, descending):
    x = (torch.randn(4, 64) * 100).to(dtype)
    out = torch.empty(2, 4, 64, dtype=dtype)
    kernels.sort[(1,)](x, out, M=4, N=64, DESCENDING=descending)
    expected = np.sort(x.double().numpy(), 1)
    np.testing.assert_array_equal(out[0].double().numpy(), expected[:, ::-1] if descending else expected)
    np.testing.assert_array_equal(out[1].double().numpy(), np.flip(x.double().numpy(), 1))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_descriptors_add_into_memory(dtype):
    x, out = torch.randn(5, 8).to(dtype), torch.ones(5, 8, dtype=dtype)
    kernels.descriptor_add[(1,)](x, out, 5, M=4, N=8)
    expected = torch.ones(5, 8, dtype=dtype)
    expected[2:] += x[:3]
    assert torch.equal(out, expected)


@pytest.mark.parametrize("op", ["exchange", "min", "max"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int32])
def test_atomics_of_floats(op, dtype):
    x, out = torch.tensor([1.0, -2, 3, -4]).to(dtype), torch.tensor([0.0, 5, -6, -3]).to(dtype)
    before, old = out.clone(), torch.empty(4, dtype=dtype)
    kernels.atomics[(1,)](x, out, old, OP=op, BLOCK=4)
    expected = x if op == "exchange" else torch.minimum(x, before) if op == "min" else torch.maximum(x, before)
    assert torch.equal(out, expected)
    if op == "exchange":
        assert torch.equal(old, before)


def test_a_list_is_a_grid():
    for grid in ([2, 3], lambda meta: [2, meta["COLUMNS"]]):
        out = torch.empty(2, 3, dtype=torch.int32)
        kernels.places[grid](out, COLUMNS=3)
        assert out.tolist() == [[0, 1, 2], [10, 11, 12]]


def test_random_numbers_are_philox():
    for seed in (7, 2**40 + 3):
        out = torch.empty(4, 16, dtype=torch.int32)
        kernels.random[(1,)](seed, out, BLOCK=16)
        for lane in range(16):
            words, keys = [lane, 0, 0, 0], [seed % 2**32, seed >> 32]
            for _ in range(10):
                a, b = 0xD2511F53 * words[0], 0xCD9E8D57 * words[2]
                words = [b >> 32 ^ words[1] ^ keys[0], b % 2**32, a >> 32 ^ words[3] ^ keys[1], a % 2**32]
                keys = [(keys[0] + 0x9E3779B9) % 2**32, (keys[1] + 0xBB67AE85) % 2**32]
            assert [int(v) % 2**32 for v in out[:, lane]] == words


def test_assembly_is_refused_by_name():
    with pytest.raises(Exception, match="inline_asm not supported in interpreter mode"):
        kernels.assembly[(1,)](torch.ones(4), torch.empty(4), BLOCK=4)


SPECIAL = {  # to 15 digits, Abramowitz and Stegun
    "__nv_j0": [(2.0,), 0.223890779141236], "__nv_j1": [(-2.0,), -0.576724807756873], "__nv_y0": [(2.0,), 0.510375672649745],
    "__nv_y1": [(2.0,), -0.107032431540938], "__nv_cyl_bessel_i0": [(2.0,), 2.27958530233607],
    "__nv_cyl_bessel_i1": [(-2.0,), -1.59063685463733], "__nv_jn": [(3, 5.0), 0.364831230613667],
    "__nv_yn": [(2, 5.0), 0.367662882605525], "__nv_j0f": [(1000.0,), 0.0247866861524201], "__nv_y0f": [(1000.0,), 0.00471591797762281],
    "__nv_y1f": [(0.1,), -6.45895109470203], "__nv_erfcx": [(6.0,), 0.0927765678005384],
    "__nv_fma": [(1 + 2.0**-30, 1 + 2.0**-30, -1.0), 2.0**-29 + 2.0**-60],
}  # fmt: skip


@pytest.mark.parametrize("symbol", SPECIAL)
def test_special_functions(symbol):
    arguments, expected = SPECIAL[symbol]
    got = symbols.find(symbol)(np.dtype(np.float64), *(np.array([a]) for a in arguments))
    np.testing.assert_allclose(got, [expected], rtol=2e-13)


def test_special_functions_at_their_ends():
    find = lambda name, *x: symbols.find(name)(np.dtype(np.float64), *(np.array([v]) for v in x))[0]
    assert find("__nv_y0", 0.0) == -INF and np.isnan(find("__nv_y1", -1.0)) and find("__nv_j0", INF) == 0
    assert (
        find("__nv_cyl_bessel_i0", 1e9) == INF
        and find("__nv_cyl_bessel_i1", -INF) == -INF
        and np.isnan(find("__nv_j1", NAN))
    )
    assert find("__nv_fma", 1e308, 10.0, 0.0) == INF and np.isnan(find("__nv_fma", INF, 0.0, 1.0))


def test_parts_of_numbers():
    find, int32 = symbols.find, np.dtype(np.int32)
    x = np.array([-1.5, np.pi])
    high, low = find("__nv_double2hiint")(int32, x), find("__nv_double2loint")(int32, x)
    assert high.dtype == low.dtype == int32 and high.tolist() == [-1074266112, 1074340347]
    np.testing.assert_array_equal(find("__nv_hiloint2double")(np.dtype(np.float64), high, low), x)
    x, y, s = np.int32([0x33221100]), np.int32([0x77665544]), np.int32([0x7530])
    assert find("__nv_byte_perm")(int32, x, y, s).tolist() == [0x77553300]
    assert find("__nv_rcp64h")(np.dtype(np.float64), np.array([4.0])).tolist() == [0.25]


def test_functions_mapped_over_elements():
    if not hasattr(kernels.tl, "map_elementwise"):
        pytest.skip("this Triton has no tl.map_elementwise")
    x, y, out = torch.tensor([1.0, 5, 2, 8]), torch.tensor([3.0, 3, 3, 3]), torch.empty(3, 4)
    kernels.mapped[(1,)](x, y, out, BLOCK=4)
    assert out.tolist() == [[6, 5, 6, 8], [4, 8, 5, 11], [3, 15, 6, 24]]


def test_device_assertions_in_launches_for_debugging():
    kernels.asserts[(1,)](torch.ones(1))
    with pytest.raises(Exception, match="x is too small"):
        kernels.asserts[(1,)](torch.ones(1), debug=True)
    kernels.asserts[(1,)](torch.ones(1))
    kernels.asserts[(1,)](torch.full((1,), 6.0), debug=True)


def test_a_kernel_without_a_grid_and_wrong_arguments():
    with pytest.raises(
        RuntimeError, match=r"Cannot call @triton.jit'd outside of the scope of a kernel: launch cast as cast\[grid\]"
    ):
        kernels.cast(torch.ones(4), torch.empty(4), BLOCK=4)
    for wrong, name in [([1, 2], "builtins.list"), ("x", "builtins.str")]:
        with pytest.raises(
            Exception, match=f"a kernel's argument is of type {name}; it may be an array, a torch.Tensor"
        ):
            kernels.cast[(1,)](wrong, torch.empty(4), BLOCK=4)


@pytest.mark.parametrize(
    "op, expected",
    [
        ("and", [1, 0, 0, 0]),
        ("or", [1, 1, 1, 0]),
        ("not", [0, 0, 1, 1]),
        ("constants", [1, 0, 0, 0]),
        ("scalars", [1, 1, 0, 0]),
        ("never", [0, 0, 0, 0]),
    ],
)
def test_logical_operators_decide_each_element(op, expected):
    x, y, out = torch.tensor([1, 2, 0, 0]), torch.tensor([3, 0, 4, 0]), torch.empty(4, dtype=torch.int32)
    kernels.logical[(1,)](x, y, out, 2, OP=op, BLOCK=4)
    assert out.tolist() == expected


def test_reductions_decide_each_element():
    out = torch.empty(2, dtype=torch.int32)
    kernels.all_of_rows[(1,)](torch.tensor([[0.0, 1, 1, 1], [1, 1, 1, 1]]), out, ROWS=2, COLUMNS=4)
    assert out.tolist() == [0, 1]


def test_reductions_by_a_function_that_branches():
    out = torch.empty(9)
    kernels.nearest_to_zero[(1,)](torch.tensor([5.0, -3, 4, -2, 7, 1, -8, 2]), out, BLOCK=8)
    assert out.tolist() == [1, 5, -3, -3, -2, -2, 1, 1, 1]


def test_constants_have_values():
    for dtype, largest in [(torch.float32, INF), (torch.int16, 2**15 - 1), (torch.int32, 2**31 - 1)]:
        out = torch.empty(4, dtype=dtype)
        kernels.filled_with_largest[(1,)](out, BLOCK=4)
        assert out.tolist() == [largest] * 4
