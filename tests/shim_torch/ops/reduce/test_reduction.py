"""Sums, products, means and logarithms of sums: along any dims, of any length, at the edges of their dtypes."""

import math

import ml_dtypes
import numpy as np
import pytest

import shim_torch as torch


@pytest.mark.devices("cpu", "cuda")
def test_prod_as_bool(device):
    assert torch.prod(torch.tensor([1, 0, 2]), dtype=torch.bool).item() is False
    assert torch.prod(torch.tensor([], dtype=torch.bool), dtype=torch.bool).item() is True
    rows = torch.tensor([[True, False], [True, True]])
    assert rows.prod(1, dtype=torch.bool).tolist() == [False, True] and rows.prod(0, True, dtype=torch.bool).shape == (
        1,
        2,
    )
    assert rows.prod().dtype == torch.int64


@pytest.mark.devices("cpu")
@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128])
def test_an_infinite_part_of_a_complex_mean(device, dtype):
    x = torch.tensor([complex(math.inf, 1), complex(1, 2)], dtype=dtype)
    for mean in (x.mean(), x.mean(0), x.reshape(2, 1).mean(0, keepdim=True)[0, 0]):
        assert mean.real.item() == math.inf and math.isnan(mean.imag.item())
    assert torch.tensor([1 + 2j, 3 - 4j], dtype=dtype).mean().item() == 2 - 1j
    assert torch.isnan(torch.empty(0, dtype=dtype).mean().real)


def test_the_reference_of_prod_takes_several_dims():
    import shim_torch._refs as refs

    x = torch.arange(1.0, 25.0).reshape(2, 3, 4)
    torch.testing.assert_close(refs.prod(x, [0, 2], True), x.prod(2, True).prod(0, True))
    torch.testing.assert_close(refs.prod(x, [-1]), x.prod(2))
    assert refs.prod(torch.tensor([2, 3]), dtype=torch.float64).item() == 6.0 and refs.prod(x, []).dim() == 0
    assert refs.prod(x, keepdim=True).shape == refs.prod(x, [], keepdim=True).shape == (1, 1, 1)
    with pytest.raises(RuntimeError, match="duplicate value in the list of dims"):
        refs.prod(x, (0, -3))
    with pytest.raises(IndexError, match=r"Dimension out of range \(expected to be in range of \[-3, 2\], but got 3\)"):
        refs.prod(x, (0, 3))


def test_references_take_out_and_keepdim_without_a_dim():
    from shim_torch import _refs

    x = torch.tensor([[1.0, float("inf"), float("nan")]])
    assert _refs.mean(x[:, :1], keepdim=True).tolist() == [[1.0]] and _refs.sum(x, keepdim=True).shape == (1, 1)
    for name in ("isinf", "isnan"):
        out = torch.empty(1, 3, dtype=torch.bool)
        assert getattr(_refs, name)(x, out=out) is out and torch.equal(out, getattr(torch, name)(x))


def test_sums_without_nan_take_the_dtype_of_out():
    x = torch.tensor([1.0, math.nan, 2.0])
    assert torch.nansum(x, out=torch.empty((), dtype=torch.float64)).item() == 3.0
    with pytest.raises(RuntimeError, match="nansum: provided dtype must match dtype of result. Got Double and Float."):
        torch.nansum(x, dtype=torch.float32, out=torch.empty((), dtype=torch.float64))
    with pytest.raises(NotImplementedError, match="\"nansum_cpu\" not implemented for 'Long'"):
        torch.nansum(x, out=torch.empty((), dtype=torch.int64))
    assert torch.nansum(x[:0], out=torch.ones((), dtype=torch.int64)).item() == 0
    whole = torch.tensor([1, -9])  # integers have no NaN: it is sum
    assert torch.nansum(whole, out=torch.empty((), dtype=torch.int64)).item() == -8
    with pytest.raises(RuntimeError, match="Expected out tensor to have dtype float, but got long int instead"):
        torch.nansum(whole, dtype=torch.float32, out=torch.empty((), dtype=torch.int64))


def test_a_mean_says_what_its_output_cannot_take():
    with pytest.raises(
        RuntimeError, match=r"mean.dtype_out\(\): input types can't be cast to the desired output type Long"
    ):
        torch.mean(torch.ones(3), out=torch.empty((), dtype=torch.int64))


@pytest.mark.parametrize("rows", [2, 5, 64, 131, 1000])
@pytest.mark.parametrize("columns", [1, 7, 130])
def test_column_sums_of_bfloat16(rows, columns):
    x = torch.randn(rows, columns).bfloat16()
    torch.testing.assert_close(x.sum(0), x.double().sum(0).bfloat16())
    torch.testing.assert_close(x.sum(0, dtype=torch.float32), x.double().sum(0).float())
    x[rows // 2, 0] = float("nan")
    assert x.sum(0).isnan().nonzero().flatten().tolist() == [0]


INF, NAN = math.inf, math.nan


SHAPE = (6, 20, 7, 11)


@pytest.mark.parametrize("dims", [(0,), (1,), (3,), (0, 2), (0, 3), (0, 2, 3), (1, 3), (1, 2), (0, 1, 2, 3), (2, 3)])
@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 2, 1, 0), (1, 0, 3, 2), (0, 2, 3, 1)])
def test_reductions_along_any_dims(dims, order):
    x = torch.randn(*(SHAPE[d] for d in order)).permute(*np.argsort(order).tolist())
    wide = x.double().numpy()
    for keepdim in (False, True):
        np.testing.assert_allclose(x.sum(dims, keepdim).numpy(), wide.sum(dims, keepdims=keepdim), rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(
            x.mean(dims, keepdim).numpy(), wide.mean(dims, keepdims=keepdim), rtol=1e-4, atol=1e-5
        )
        assert np.array_equal(x.amax(dims, keepdim).numpy(), x.numpy().max(dims, keepdims=keepdim))
        assert np.array_equal((x > 2).any(dims[0]).numpy(), (x > 2).numpy().any(dims[0]))
    half = x.to(torch.bfloat16)
    np.testing.assert_allclose(half.mean(dims).float().numpy(), half.double().numpy().mean(dims), rtol=8e-3, atol=1e-3)
    whole = (x * 10).to(torch.int32)
    assert np.array_equal(whole.sum(dims).numpy(), whole.numpy().sum(dims)) and whole.sum(dims).dtype == torch.int64


@pytest.mark.parametrize("cols", [1, 2, 3, 10, 47, 48, 49, 64, 300])
@pytest.mark.parametrize("rows", [1, 3, 4, 5, 3000])
def test_rows_of_every_width(rows, cols):
    x = torch.randn(rows, cols)
    np.testing.assert_allclose(x.sum(1).numpy(), x.double().numpy().sum(1), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(x.prod(1).numpy(), x.double().numpy().prod(1), rtol=1e-4, atol=1e-30)
    assert np.array_equal(x.amin(1).numpy(), x.numpy().min(1))
    x[rows // 2, cols - 1] = NAN
    assert np.isnan(x.amax(1).numpy()).tolist() == [r == rows // 2 for r in range(rows)]
    z = torch.complex(x.nan_to_num(), -x.nan_to_num())
    np.testing.assert_allclose(z.sum(1).numpy(), z.numpy().sum(1), rtol=1e-3, atol=1e-3)


def test_sums_of_all_lengths() -> None:
    for n in (0, 1, 5, 31, 32, 33, 1023, 1025, 70_001):
        x = np.random.default_rng(n).standard_normal(n)
        for dtype in (np.float32, np.float64, ml_dtypes.bfloat16, np.float16):
            v = x.astype(dtype)
            got = torch.from_numpy(v).sum(dtype=torch.float32 if np.dtype(dtype).itemsize < 8 else None).item()
            np.testing.assert_allclose(
                got, v.astype(np.float64).sum(), rtol=1e-5, atol=1e-3 if np.dtype(dtype).itemsize < 8 else 1e-9
            )
    y = np.random.default_rng(1).standard_normal((67, 130)).astype(np.float32)
    np.testing.assert_allclose(torch.from_numpy(y).sum(0).numpy(), y.astype(np.float64).sum(0), rtol=1e-4, atol=1e-5)
    assert torch.tensor([[1.0, float("nan")], [2.0, 3.0]]).amax(0)[1].isnan().item()


def array(shape, dtype, seed=0):
    r = np.random.default_rng(seed)
    return (
        r.integers(0, 9, shape).astype(dtype)
        if "float" not in dtype
        else np.round(r.standard_normal(shape) * 3, 1).astype(dtype)
    )


@pytest.mark.parametrize("shape", [(5,), (3, 4), (2, 700, 3), (70000,), (300, 200)])
def test_nansum(shape):
    a = array(shape, "float32")
    a.reshape(-1)[::3] = np.nan
    for dims in [None, *range(len(shape)), *([(0, 2)] if len(shape) == 3 else [])]:
        wanted = np.nansum(a.astype("float64"), axis=dims)
        found = torch.from_numpy(a).nansum() if dims is None else torch.from_numpy(a).nansum(dims)
        assert np.allclose(found.numpy(), wanted, rtol=1e-4, atol=1e-3)
    inf = torch.tensor([[float("inf"), float("nan")], [float("-inf"), 1.0]])
    assert np.isnan(inf.nansum().item()) and inf.nansum(0)[1].item() == 1


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(1, 1), (5, 3), (700, 10), (3000, 31), (40, 32)])
def test_sums_of_short_rows(shape, dtype):
    a = (np.random.default_rng(0).standard_normal(shape) * 5).astype(dtype)
    near = {"rtol": 1e-5 if dtype == "float32" else 1e-13}
    wide = a.astype(np.float64)
    found = torch.logsumexp(torch.from_numpy(a), 1).numpy()
    assert np.allclose(found, np.log(np.exp(wide).sum(1)), atol=near["rtol"], **near)
    assert np.allclose(torch.linalg.vector_norm(torch.from_numpy(a), dim=1).numpy(), np.sqrt((wide**2).sum(1)), **near)
    a[0, 0], a[-1] = np.inf, -np.inf
    found = torch.logsumexp(torch.from_numpy(a), 1)
    assert found[-1] == -np.inf and (found[0] == np.inf or shape[0] == 1)
    a[0, -1] = np.nan
    assert (
        torch.logsumexp(torch.from_numpy(a), 1)[0].isnan()
        and torch.linalg.vector_norm(torch.from_numpy(a), dim=1)[0].isnan()
    )


rng = np.random.default_rng(0)


@pytest.mark.parametrize("shape", [(1000, 3), (7, 300), (65, 130), (129, 1)])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_columns_of_narrow_floats(shape, dtype):
    x = torch.from_numpy(rng.standard_normal(shape)).to(dtype)
    wide = x.double().numpy()
    torch.testing.assert_close(x.sum(0, dtype=torch.float32).numpy(), wide.sum(0).astype(np.float32))
    torch.testing.assert_close(x.mean(0), torch.from_numpy(wide.mean(0)).to(dtype))
    assert np.array_equal(x.amax(0).double().numpy(), wide.max(0))
    x[1, 0] = NAN
    assert x.amin(0)[0].isnan() and not x.amin(0)[1:].isnan().any()


def test_sums_and_products_of_any_length():
    for n in (0, 1, 15, 16, 17, 63, 64, 65, 200, 16385, 100003):
        x = rng.uniform(0.5, 1.5, n)
        x[::7] = NAN
        found = torch.from_numpy(x).nansum().item(), torch.from_numpy(x.astype(np.float32)).nansum().item()
        assert found == pytest.approx((np.nansum(x), np.nansum(x.astype(np.float32), dtype=np.float64)), rel=1e-6)
        y = np.nan_to_num(x, nan=1.0) ** (1 / max(n, 1))
        assert torch.from_numpy(y).sum().item() == pytest.approx(y.sum(), rel=1e-12)
        assert torch.from_numpy(y).prod().item() == pytest.approx(y.prod(), rel=1e-10)
    assert torch.full((3, 100000), 0.5).prod(1).tolist() == [0.0] * 3


@pytest.mark.devices("cpu", "cuda")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.int64])
@pytest.mark.parametrize(
    ("shape", "dims"), [((3, 50, 70), 1), ((5, 2, 33, 40), (1, 2)), ((2, 3, 40, 500, 1), (2,)), ((9, 700, 3), 1)]
)
def test_dims_in_the_middle(device, dtype, shape, dims):
    values = np.random.default_rng(0).integers(-4, 5, shape)
    x = torch.tensor(values, dtype=dtype, device=device)
    for name in ("sum", "amax", "amin"):
        got = getattr(x, name)(dims)
        assert got.dtype == dtype and np.array_equal(
            got.double().cpu().numpy(), getattr(values, name.strip("a"))(axis=dims)
        )
    if dtype != torch.int64:
        kept = x.mean(dims, keepdim=True)
        want = torch.tensor(values.mean(axis=dims, keepdims=True), dtype=dtype, device=device)
        torch.testing.assert_close(kept, want)
