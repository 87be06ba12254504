# ruff: noqa: B023 (what is made in a loop is called in the same round)
"""Writes at indexed places, counts, distinct values, losses and reductions down columns on CUDA: the CPU's values, by our own kernels."""

import math

import pytest

import shim_torch as torch

pytestmark = pytest.mark.usefixtures("on_our_kernels")

FLOATS = [torch.float64, torch.float32, torch.float16, torch.bfloat16]
WHOLE = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]
TOLERANCE = {torch.float64: 1e-12, torch.float32: 1e-5, torch.float16: 4e-3, torch.bfloat16: 3e-2}


def data(*shape, dtype=torch.float32, nan=False):
    x = torch.randn(*shape, dtype=torch.float64) * 3
    if nan and dtype.is_floating_point:
        x.view(-1)[::7], x.view(-1)[1::11], x.view(-1)[2::13] = math.nan, math.inf, -math.inf
    return (x > 0) if dtype == torch.bool else (x.abs() if dtype == torch.uint8 else x).to(dtype)


def same(got, want, scale=1.0):
    """Equal; of floating numbers close, those that are no numbers too."""
    assert got.is_cuda and got.dtype == want.dtype and got.shape == want.shape and got.stride() == want.stride()
    tolerance = TOLERANCE.get(want.dtype, 0.0) * scale
    torch.testing.assert_close(got.cpu(), want, rtol=tolerance, atol=tolerance, equal_nan=True)


def both(run, *tensors, scale=1.0):
    """The call's results on CUDA compared with the CPU's."""
    got, want = run(*(t.cuda() for t in tensors)), run(*tensors)
    for a, b in zip(got, want, strict=True) if isinstance(got, (tuple, list)) else [(got, want)]:
        same(a, b, scale)


@pytest.mark.parametrize("dtype", [*FLOATS, *WHOLE, torch.bool])
@pytest.mark.parametrize("reduce", ["sum", "prod", "mean", "amax", "amin"])
@pytest.mark.parametrize("include_self", [True, False])
def test_scatter_reduce(dtype, reduce, include_self):
    if dtype == torch.bool and reduce == "mean":
        pytest.skip("truths have no mean")
    for shape, dim in (((17, 33), 0), ((5, 300), 1), ((4, 3, 9), -2)):
        x, src = data(*shape, dtype=dtype), data(*shape, dtype=dtype)
        index = torch.randint(0, shape[dim], shape)
        for places in (index, index.to(torch.int32)):
            both(
                lambda a, i, b: a.scatter_reduce(dim, i, b, reduce, include_self=include_self),
                x,
                places,
                src,
                scale=4.0,
            )
        both(
            lambda a, i, b: a.clone().scatter_reduce_(dim, i, b, reduce, include_self=include_self),
            x,
            index,
            src,
            scale=4.0,
        )
        if reduce != "sum" and dtype != torch.bool:
            along = torch.randint(0, shape[dim], (shape[dim],))
            both(lambda a, i, b: a.index_reduce(dim, i, b, reduce, include_self=include_self), x, along, src, scale=4.0)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("reduce", ["amax", "amin"])
def test_scatter_reduce_of_no_numbers(dtype, reduce):
    x, src = data(40, 31, dtype=dtype, nan=True), data(40, 31, dtype=dtype, nan=True)
    index = torch.randint(0, 40, (40, 31))
    for include_self in (True, False):
        both(lambda a, i, b: a.scatter_reduce(0, i, b, reduce, include_self=include_self), x, index, src)


def test_scatter_reduce_of_views_and_gradients():
    x, src, index = data(9, 20), data(9, 20), torch.randint(0, 20, (9, 20))
    both(lambda a, i, b: a.t().scatter_reduce(0, i.t(), b.t(), "amax"), x, index, src)
    wanted = []
    for device in ("cpu", "cuda"):
        a, b = (t.detach().to(device).requires_grad_() for t in (x, src))
        a.scatter_reduce(1, index.to(device), b, "amax").sum().backward()
        wanted.append((a.grad.cpu(), b.grad.cpu()))
    for a, b in zip(*wanted, strict=True):
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize("dtype", [*FLOATS, torch.int64, torch.uint8, torch.bool, torch.complex64])
def test_index_copy_and_fill(dtype):
    for shape, dim in (((17, 33), 0), ((5, 300), 1), ((4, 3, 9), -2), ((7,), 0)):
        n = shape[dim]
        index = torch.randperm(n)[: n // 2 + 1]
        part = list(shape)
        part[dim] = len(index)
        x, src = data(*shape).to(dtype), data(*part).to(dtype)
        both(lambda a, i, b: a.index_copy(dim, i, b), x, index, src)
        both(lambda a, i, b: a.clone().index_copy_(dim, i, b), x, index, src)
        if not dtype.is_complex:
            both(lambda a, i: a.index_fill(dim, i, 1), x, index - n)
            both(lambda a, i: a.clone().index_fill_(dim, i, True), x, index)
            both(lambda a, i, v: a.index_fill(dim, i, v), x, index, torch.tensor(3).to(dtype))
            both(lambda a, i: a.t().index_fill(0, i, 2) if a.dim() == 2 and dim == 1 else a, x, index)


@pytest.mark.parametrize("dtype", [*FLOATS, torch.int32, torch.bool, torch.complex128])
def test_masked_scatter(dtype):
    for shape in ((3,), (17, 33), (100, 1000)):
        x, source, mask = data(*shape).to(dtype), data(*shape).to(dtype), torch.rand(*shape) > 0.4
        both(lambda a, m, s: a.masked_scatter(m, s), x, mask, source)
        both(lambda a, m, s: a.clone().masked_scatter_(m, s), x, mask, source)
        both(lambda a, m, s: a.masked_scatter(m[..., :1], s), x, mask, source)
        both(lambda a, m, s: a[..., :1].masked_scatter(m, s), x, mask, source)


@pytest.mark.parametrize("dtype", WHOLE)
def test_bincount(dtype):
    for n, most in ((1, 3), (1000, 100), (300_000, 60), (50_000, 127)):
        x = torch.randint(0, most, (n,)).to(dtype)
        both(lambda a: torch.bincount(a), x)
        both(lambda a: torch.bincount(a, minlength=200), x)
        for weights in (data(n), data(n, dtype=torch.float64), torch.arange(n)):
            got, want = torch.bincount(x.cuda(), weights.cuda()), torch.bincount(x, weights)
            same(got, want, 100.0)
    many = torch.randint(0, 100_000, (200_000,))
    both(lambda a: torch.bincount(a), many)
    with pytest.raises(RuntimeError, match="non-negative"):
        torch.bincount(torch.tensor([1, -1], device="cuda"))


def test_histc():
    for n in (1, 1000, 300_001):
        x = torch.randint(-40, 40, (n,)).double() / 4
        for dtype in (torch.float32, torch.float64):
            for bins, low, high in ((100, 0, 0), (7, -2, 5), (1, 0, 1), (5000, -3, 3), (20_000, 0, 9)):
                # eighths fall into the same bins whatever way they are computed
                both(lambda a: a.histc(bins, low, high), x.to(dtype) if bins != 100 else x.to(dtype).sign())
    whole = torch.randint(0, 30, (1000,), device="cuda")
    assert whole.histc(30, 0, 30).sum().item() == 1000 and whole.histc(30, 0, 30).dtype == torch.int64
    with pytest.raises(RuntimeError, match="is not finite"):
        torch.tensor([math.nan, 1.0], device="cuda").histc()
    with pytest.raises(RuntimeError, match="max must be larger than min"):
        torch.ones(3, device="cuda").histc(3, 5, 1)


@pytest.mark.parametrize("dtype", [*FLOATS, *WHOLE, torch.bool])
def test_distinct_values(dtype):
    for n in (1, 50, 5000, 20_000):
        x = (
            data(n, dtype=torch.float64).mul(5).round().to(dtype)
            if dtype != torch.uint8
            else torch.randint(0, 90, (n,)).to(dtype)
        )
        for sorts in (torch.unique, torch.unique_consecutive):
            both(lambda a: sorts(a, return_inverse=True, return_counts=True), x)
            both(lambda a: sorts(a), x.reshape(-1, n // 5 + 1) if n % (n // 5 + 1) == 0 else x)
            both(lambda a: sorts(a, return_counts=True), x)
    x = torch.tensor([math.nan, 1.0, -0.0, 0.0, math.nan, math.inf, 1.0]).to(torch.float32)
    both(lambda a: torch.unique(a, return_inverse=True, return_counts=True), x)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ["mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"])
def test_losses(dtype, name):
    loss = getattr(torch.nn.functional, name)
    for shape in ((3,), (33, 1001), (700, 1024)):
        for reduction in ("mean", "sum", "none"):
            if reduction == "sum" and dtype == torch.float16:
                continue  # too large for it
            results = []
            for device in ("cpu", "cuda"):
                torch.manual_seed(1)
                x, y = data(*shape, dtype=dtype).to(device), data(*shape, dtype=dtype).to(device)
                x.requires_grad_(), y.requires_grad_()
                value = loss(x, y, reduction=reduction)
                value.sum().backward()
                results.append((value.detach().cpu(), x.grad.cpu(), y.grad.cpu()))
            for a, b in zip(*results, strict=True):
                torch.testing.assert_close(b, a, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", [*FLOATS, torch.int64, torch.uint8, torch.bool])
def test_reductions_down_columns(dtype):
    for shape, dim in (
        ((1000, 256), 0),
        ((77, 40), 0),
        ((3, 50, 64), 1),
        ((4, 9, 2048), (0, 1)),
        ((5, 16, 3, 128), (0, 2)),
        ((300, 33), 0),
    ):
        x = data(*shape, dtype=dtype)
        for run in (
            lambda a: a.sum(dim),
            lambda a: a.amax(dim),
            lambda a: (a > 4).any(dim) if a.dtype != torch.bool else a.all(dim),
        ):
            both(run, x, scale=10.0)  # sums of a thousand terms may be near zero
        if dtype.is_floating_point:
            both(lambda a: a.mean(dim, True), x)
            both(lambda a: torch.linalg.vector_norm(a, dim=dim), x)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.bfloat16, torch.float32, torch.float64, torch.complex128])
def test_flips_of_rows(dtype):
    x = data(6, 10, 64).to(dtype)
    for dims in ((2,), (0, 2), (1, 2), (0, 1, 2), (0, 1)):
        both(lambda a: a.flip(dims), x)
        both(lambda a: a[1:, ::2, 16:48].flip(dims), x)
        both(lambda a: a.transpose(0, 1).flip(dims).contiguous(), x)


@pytest.mark.parametrize("dtype", FLOATS)
def test_long_running_sums(dtype):
    x = data(3, 50_001, dtype=dtype) * 0.01
    got, want = x.cuda().cumsum(1), x.double().cumsum(1).to(dtype)
    same(got, want)
    places = torch.arange(1 << 20)
    both(lambda a: a.cumsum(0), places)
    both(lambda a: a.view(4, -1).argmax(1), data(1 << 18, dtype=dtype))


@pytest.mark.parametrize("dtype", FLOATS)
def test_gradients_of_norms_and_activations(dtype):
    for rows, cols in ((1, 8), (300, 64), (1000, 1000), (7, 8192), (40, 5120), (3, 16_384), (5, 33)):
        results = []
        torch.manual_seed(2)
        values = [
            data(rows, cols, dtype=dtype),
            data(cols, dtype=dtype),
            data(cols, dtype=dtype),
            data(rows, cols, dtype=dtype),
        ]
        for device, compute in (("cpu", torch.float64), ("cuda", dtype)):
            x, w, b, g = (t.to(compute).to(device).detach().clone() for t in values)
            leaves = [t.requires_grad_() for t in (x, w, b)]
            torch.nn.functional.layer_norm(x, (cols,), w, b).backward(g)
            torch.nn.functional.rms_norm(x, (cols,), w, 1e-5).backward(g)
            torch.nn.functional.gelu(x).backward(g)
            torch.nn.functional.silu(x).backward(g)
            results.append([t.grad.cpu().double() for t in leaves])
        for a, b in zip(*results, strict=True):
            bound = TOLERANCE[dtype] * (a.abs() + 4 * a.pow(2).mean().sqrt())
            assert bool(((a - b).abs() <= bound).all()), (rows, cols, (a - b).abs().max().item())


def test_gelu_of_16_bits_has_its_tails():
    x = torch.linspace(-12, 12, 100_001, dtype=torch.float64)
    for dtype in (torch.bfloat16, torch.float16):
        narrow = x.to(dtype)
        want = narrow.double() * torch.erfc(narrow.double() * -math.sqrt(0.5)) / 2
        got = torch.nn.functional.gelu(narrow.cuda()).cpu().double()
        bound = torch.finfo(dtype).eps * want.abs() * 0.51 + torch.finfo(dtype).smallest_normal * 0.01
        assert bool(((got - want).abs() <= bound).all())


def test_in_graphs():
    """What needs no value on the host is captured, and runs again on other values."""
    x, src, mask = data(64, 128).cuda(), data(64, 128).cuda(), (data(64, 128) > 0).cuda()
    index = torch.randint(0, 64, (64,), device="cuda")
    calls = [
        lambda: x.scatter_reduce(0, index.unsqueeze(1).expand(64, 128), src, "mean", include_self=False),
        lambda: x.scatter_reduce(0, index.unsqueeze(1).expand(64, 128), src, "amin"),
        lambda: x.index_fill(0, index, 2.0),
        lambda: x.masked_scatter(mask, src),
        lambda: x.logsumexp(1),
        lambda: torch.nn.functional.mse_loss(x, src),
        lambda: x.mean(0),
        lambda: x.flip(1),
    ]
    for call in calls:
        call()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            captured = call()
        for _ in range(2):
            x.copy_(torch.randn_like(x))
            src.copy_(torch.randn_like(src))
            graph.replay()
            torch.testing.assert_close(captured.cpu(), call().cpu())
