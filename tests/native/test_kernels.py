"""Native CPU kernels against NumPy: values, dtypes, layouts and extremes."""

from __future__ import annotations

import importlib
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import shim_torch  # noqa: F401
from shim_torch._impl.native import _core

ops = importlib.import_module("shim_torch._impl.table.operators")

ops.complete()

FLOATS = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]
INTS = [np.uint8, np.int8, np.int16, np.int32, np.int64]
TOLERANCE = {"float16": 1e-3, "bfloat16": 8e-3, "float32": 2e-6, "float64": 1e-13}


def f(name: str) -> Any:
    return _core.function(f"aten::{name}")


def tensor(array: Any) -> Any:
    return _core.from_numpy(array)


def numpy(t: Any) -> Any:
    return _core.to_numpy(t)


def natively(name: str, *args: Any, **kwargs: Any) -> Any:
    """Calls the operator and checks that no body ran."""
    before = sum(v[0] for v in _core.operator_counts().values())
    result = f(name)(*args, **kwargs)
    assert sum(v[0] for v in _core.operator_counts().values()) == before, f"{name} ran its body"
    return result


def random(shape: Any, dtype: Any) -> Any:
    rng = np.random.default_rng(0)
    if np.dtype(dtype).kind in "iu":
        return rng.integers(1, 50, shape).astype(dtype)
    return rng.standard_normal(shape).astype(dtype)


def close(actual: Any, expected: Any, dtype: Any) -> None:
    limit = TOLERANCE[np.dtype(dtype).name]
    np.testing.assert_allclose(actual.astype(np.float64), expected, rtol=limit, atol=limit)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "maximum", "minimum"])
def test_float_arithmetic_rounds_once(name: str, dtype: Any) -> None:
    a, b = random((7, 33), dtype), random((7, 33), dtype)
    functions = {
        "add": np.add,
        "sub": np.subtract,
        "mul": np.multiply,
        "div": np.divide,
        "maximum": np.maximum,
        "minimum": np.minimum,
    }
    wide = np.float64 if dtype is np.float64 else np.float32
    expected = functions[name](a.astype(wide), b.astype(wide)).astype(dtype)
    assert numpy(natively(name, tensor(a), tensor(b))).tobytes() == expected.tobytes()


@pytest.mark.parametrize("dtype", INTS)
def test_integers_wrap(dtype: Any) -> None:
    a, b = np.array([np.iinfo(dtype).max, 3], dtype), np.array([1, 5], dtype)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(numpy(natively("add", tensor(a), tensor(b))), a + b)
        np.testing.assert_array_equal(numpy(natively("mul", tensor(a), tensor(a))), a * a)


@pytest.mark.parametrize("name", ["exp", "log", "sqrt", "tanh", "sigmoid", "erf", "sin", "rsqrt"])
@pytest.mark.parametrize("dtype", FLOATS)
def test_unary(name: str, dtype: Any) -> None:
    from scipy import special

    reference = {"sigmoid": special.expit, "erf": special.erf, "rsqrt": lambda v: 1 / np.sqrt(v)}.get(name) or getattr(
        np, name
    )
    x = np.abs(random((5, 41), dtype)) + np.array(0.1, dtype)
    close(numpy(natively(name, tensor(x))), reference(x.astype(np.float64)), dtype)


def test_exp_extremes() -> None:
    x = np.array([np.nan, np.inf, -np.inf, 0, 88.7, 89, 1000, -87.5, -103, -104, -1000] + [0.1] * 20, np.float32)
    with np.errstate(over="ignore", under="ignore"):
        expected = np.exp(x.astype(np.float64)).astype(np.float32)
    np.testing.assert_allclose(numpy(natively("exp", tensor(x))), expected, rtol=2e-6, atol=3e-45)


LAYOUTS = [
    lambda a: a,
    lambda a: a.T,
    lambda a: a[::2],
    lambda a: a[:, ::3],
    lambda a: np.lib.stride_tricks.as_strided(a, a.shape, (0, a.strides[1])),
]


@pytest.mark.parametrize("left", range(len(LAYOUTS)))
@pytest.mark.parametrize("right", range(len(LAYOUTS)))
def test_layouts(left: int, right: int) -> None:
    base = random((12, 12), np.float32)
    a, b = LAYOUTS[left](base), LAYOUTS[right](base * 2)
    if a.shape != b.shape:
        a, b = a[:4, :4], b[:4, :4]
    np.testing.assert_array_equal(numpy(natively("mul", tensor(a), tensor(b))), a * b)


def test_broadcast_promote_and_blocks() -> None:
    a, b = random((3, 1, 1300), np.float32), random((5, 1), np.int32)
    result = natively("add", tensor(a), tensor(b))
    assert result.dtype is _core.float32
    np.testing.assert_array_equal(numpy(result), a + b.astype(np.float32))


def test_large_runs_on_all_threads() -> None:
    a, b = random((300, 1001), np.float32), random((300, 1001), np.float32)
    np.testing.assert_array_equal(numpy(natively("add", tensor(a), tensor(b))), a + b)
    np.testing.assert_array_equal(numpy(natively("add", tensor(a), tensor(b[:, :1]))), a + b[:, :1])


def test_division_of_integers() -> None:
    a, b = np.array([7, -7, 7, -7, -(2**63)]), np.array([2, 2, -2, -2, -1])
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(numpy(natively("floor_divide", tensor(a), tensor(b)))[:4], (a // b)[:4])
        np.testing.assert_array_equal(numpy(natively("remainder", tensor(a), tensor(b))), [1, 1, -1, -1, 0])
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        f("floor_divide")(tensor(a), tensor(np.zeros(5, np.int64)))


def test_nan_propagates() -> None:
    a, b = np.array([np.nan, 1, np.nan], np.float32), np.array([1, np.nan, np.nan], np.float32)
    assert np.isnan(numpy(natively("maximum", tensor(a), tensor(b)))).all()
    assert np.isnan(numpy(natively("minimum", tensor(a), tensor(b)))).all()


def test_inplace_on_overlapping_memory() -> None:
    x = np.arange(8, dtype=np.float32)
    t = tensor(x)
    _core.method("aten::add_").__get__(tensor(x[1:]))(tensor(x[:-1]))
    np.testing.assert_array_equal(numpy(t), [0, 1, 3, 5, 7, 9, 11, 13])


def test_alpha() -> None:
    a, b = random((4, 5), np.int32), random((4, 5), np.int32)
    np.testing.assert_array_equal(numpy(natively("sub", tensor(a), tensor(b), alpha=3)), a - 3 * b)


@pytest.mark.parametrize(
    "types",
    [
        ("float32", "int64", "float32"),
        ("float16", "bfloat16", "float32"),
        ("uint8", "int8", "int16"),
        ("bool", "uint8", "uint8"),
    ],
)
def test_promote_types(types: tuple[str, str, str]) -> None:
    a, b, expected = (getattr(_core, t) for t in types)
    assert _core.promote_types(a, b) is expected
    assert _core.result_type(_core.from_numpy(np.ones(2, np.int32)), 1.5) is _core.float32


def test_result_type_categories() -> None:
    zero_dim = tensor(np.array(1.0, np.float64))
    assert _core.result_type(tensor(np.ones(2, np.float32)), zero_dim) is _core.float32
    assert _core.result_type(tensor(np.ones(2, np.int64)), zero_dim) is _core.float64
    assert _core.result_type(tensor(np.ones(2, np.uint8)), 300) is _core.uint8
    assert _core.result_type(tensor(np.ones(2, bool)), 1) is _core.int64


def test_where_and_clamp() -> None:
    c, a, b = random((5, 7), np.float32) > 0, random((5, 7), np.float32), random((7,), np.float64)
    result = natively("where", tensor(c), tensor(a), tensor(b))
    assert result.dtype is _core.float64
    np.testing.assert_array_equal(numpy(result), np.where(c, a.astype(np.float64), b))
    x = np.array([-3, np.nan, 0.25, 9], np.float32)
    np.testing.assert_array_equal(
        numpy(natively("clamp", tensor(x), -1, 0.5)), np.array([-1, np.nan, 0.25, 0.5], np.float32)
    )
    np.testing.assert_array_equal(
        numpy(natively("clamp", tensor(x), max=1)), np.array([-3, np.nan, 0.25, 1], np.float32)
    )


@pytest.mark.parametrize("dims", [(0,), (1,), (2,), (0, 2), (1, 2), (0, 1), (0, 1, 2)])
@pytest.mark.parametrize("permuted", [False, True])
def test_reductions(dims: tuple[int, ...], permuted: bool) -> None:
    x = random((9, 130, 17), np.float32)
    x = x.transpose(2, 0, 1) if permuted else x
    for name, reference in {"sum": np.sum, "mean": np.mean, "amax": np.max, "amin": np.min}.items():
        expected = reference(x.astype(np.float64), axis=dims)
        np.testing.assert_allclose(numpy(natively(name, tensor(x), dims)), expected, rtol=1e-5, atol=2e-5)


def test_sum_dtypes() -> None:
    assert natively("sum", tensor(np.ones(300, np.uint8))).dtype is _core.int64
    assert numpy(natively("sum", tensor(np.ones(300, bool)))) == 300
    half = np.full(5000, 0.1, np.float16)
    assert numpy(natively("sum", tensor(half))) == half.astype(np.float64).sum().astype(np.float16)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("dim", [0, 1])
def test_softmax(dtype: Any, dim: int) -> None:
    x = random((33, 50), dtype)
    e = np.exp(x.astype(np.float64) - x.astype(np.float64).max(dim, keepdims=True))
    expected = e / e.sum(dim, keepdims=True)
    close(numpy(natively("softmax", tensor(x), dim)), expected, dtype)
    close(numpy(natively("log_softmax", tensor(x), dim)), np.log(expected), dtype)


def test_float8_casts_saturate_as_pytorch() -> None:
    x = tensor(np.array([np.inf, -np.inf, 464, 480, 1e9, 448, np.nan, -500], np.float32))
    cast = _core.function("aten::_to_copy")
    codes = numpy(cast(x, dtype=_core.float8_e4m3fn)).view(np.uint8).tolist()
    assert codes == [126, 254, 126, 126, 126, 126, 127, 254]
    codes = numpy(cast(x, dtype=_core.float8_e5m2)).view(np.uint8).tolist()
    assert codes == [124, 252, 95, 96, 124, 95, 127, 224]
