"""Elements of a rank, medians, modes and elements of the whole on CUDA: the CPU's values and places, by our own kernels."""

import math

import pytest

import shim_torch as torch

pytestmark = pytest.mark.usefixtures("on_our_kernels")

FLOATS = [torch.float64, torch.float32, torch.float16, torch.bfloat16]
WHOLE = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]
SHAPES = [((3, 1), 1), ((5, 33), 1), ((4, 300), -1), ((7, 6, 5), 0), ((2, 40, 3), 1), ((2, 2500), 1), ((9,), 0)]


def data(*shape, dtype=torch.float32, unknown=0):
    """With equal elements; every ``unknown``-th is no number."""
    x = torch.randint(-9, 9, shape).double() / 2
    if unknown:
        x.view(-1)[::unknown] = math.nan
    return (x.abs() if dtype == torch.uint8 else x).to(dtype)


def equal(a, b):
    return torch.equal(a.cpu().nan_to_num(77.0), b.nan_to_num(77.0))


def same(run, x, dim=None, keepdim=False):
    """The values on CUDA are the CPU's, and stand at the places given."""
    got, want = run(x.cuda()), run(x)
    for a, b in zip(got, want, strict=True):
        assert a.is_cuda and a.dtype == b.dtype and a.stride() == b.stride() and a.shape == b.shape
    assert equal(got[0], want[0]), (got, want)
    if dim is not None:
        places = got[1].cpu() if keepdim else got[1].cpu().unsqueeze(dim)
        found = x.gather(dim, places)
        assert equal(found if keepdim else found.squeeze(dim), want[0])


@pytest.mark.parametrize("dtype", [*FLOATS, *WHOLE])
def test_kthvalue(dtype):
    for shape, dim in SHAPES:
        x, n = data(*shape, dtype=dtype), shape[dim]
        for k in {1, (n + 1) // 2, n}:
            same(lambda a, k=k, dim=dim: a.kthvalue(k, dim), x, dim)
        same(lambda a, dim=dim: a.kthvalue(1, dim, keepdim=True), x, dim, True)
        got = x.cuda().kthvalue((n + 1) // 2, dim).indices
        assert torch.equal(got.cpu(), x.sort(dim=dim, stable=True).indices.select(dim, (n + 1) // 2 - 1))


@pytest.mark.parametrize("dtype", FLOATS)
def test_kthvalue_of_no_numbers(dtype):
    for shape, dim in SHAPES:
        x = data(*shape, dtype=dtype, unknown=3)
        for k in {1, shape[dim]}:
            same(lambda a, k=k, dim=dim: a.kthvalue(k, dim), x, dim)


@pytest.mark.parametrize("dtype", [*FLOATS, *WHOLE])
def test_median(dtype):
    for shape, dim in SHAPES:
        for unknown in (0, 7, 1) if dtype.is_floating_point else (0,):
            x = data(*shape, dtype=dtype, unknown=unknown)
            same(lambda a, dim=dim: a.median(dim), x, dim)
            same(lambda a, dim=dim: a.median(dim, keepdim=True), x, dim, True)
            same(lambda a: (a.median(),), x)
            same(lambda a: (a.nanmedian(),), x)
            if dtype.is_floating_point:
                same(lambda a, dim=dim: a.nanmedian(dim), x, dim)


def test_medians_of_views_and_their_gradients():
    x = torch.randn(6, 8, 5)
    same(lambda a: a.transpose(0, 2)[:, 1:].median(1), x)
    x[0, :3, 0] = math.nan
    for name, arguments in (
        ("median", (1,)),
        ("nanmedian", (1, True)),
        ("kthvalue", (2, 0)),
        ("mode", (2,)),
        ("nanmedian", ()),
    ):
        found = []
        for device in ("cpu", "cuda"):
            leaf = x.detach().to(device).requires_grad_()
            result = getattr(leaf, name)(*arguments)
            (result if isinstance(result, torch.Tensor) else result[0]).nan_to_num(0.0).square().sum().backward()
            found.append(leaf.grad.cpu())
        torch.testing.assert_close(*found)


@pytest.mark.parametrize("dtype", [*FLOATS, *WHOLE, torch.bool])
def test_mode(dtype):
    for shape, dim in SHAPES:
        for unknown in (0, 3) if dtype.is_floating_point else (0,):
            x = data(*shape, dtype=dtype, unknown=unknown)
            same(lambda a, dim=dim: a.mode(dim), x, dim)
            same(lambda a, dim=dim: a.mode(dim, keepdim=True), x, dim, True)
    same(lambda a: a.mode(), torch.zeros(3, 5000, dtype=dtype))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.bool, torch.complex64])
def test_take(dtype):
    x = torch.randn(6, 7).to(dtype) if dtype != torch.complex64 else torch.randn(6, 7, dtype=dtype)
    for index in (torch.randint(-42, 42, (5, 4)), torch.tensor(3), torch.empty(0, dtype=torch.int64)):
        for a in (x, x.t()):
            got = torch.take(a.cuda(), index.cuda())
            assert got.is_cuda and torch.equal(got.cpu(), torch.take(a, index))
