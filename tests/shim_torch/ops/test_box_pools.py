"""Pools over volumes and adaptive pools: kernels of the CPU against loops over the windows, and against what keeps a history."""

import itertools
import math

import pytest

import shim_torch as torch

F = torch.nn.functional


def spans_of_windows(size, k, s, p, d, ceil_mode):
    room = size + 2 * p - d * (k - 1) - 1
    many = (-(-room // s) if ceil_mode else room // s) + 1
    many -= ceil_mode and (many - 1) * s >= size + p
    return [[i * s - p + j * d for j in range(k)] for i in range(many)]


def boxes(x, spans):
    """For every window the values of its places inside, and how many it has with padding."""
    for places in itertools.product(*spans):
        inside = [[i for i in at if 0 <= i < n] for at, n in zip(places, x.shape, strict=True)]
        yield [x[i].item() for i in itertools.product(*inside)], list(itertools.product(*inside))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(
    ("k", "s", "p", "d"), [((2, 2, 2), (2, 2, 2), (0, 0, 0), (1, 1, 1)), ((3, 2, 3), (1, 2, 2), (1, 1, 0), (2, 1, 1))]
)
@pytest.mark.parametrize("ceil_mode", [False, True])
def test_windows_of_volumes(dtype, k, s, p, d, ceil_mode):
    x = torch.randn(2, 5, 6, 5, dtype=dtype)
    x[0, 1, 2, 3] = math.nan
    values, places = F.max_pool3d(x, k, s, p, d, ceil_mode, return_indices=True)
    assert torch.equal(F.max_pool3d(x, k, s, p, d, ceil_mode).nan_to_num(7), values.nan_to_num(7))
    means = F.avg_pool3d(x, k, s, p, ceil_mode, count_include_pad=False) if d == (1, 1, 1) else None
    for plane in range(2):
        spans = [spans_of_windows(n, *(c[i] for c in (k, s, p, d)), ceil_mode) for i, n in enumerate(x.shape[1:])]
        for at, (inside, where) in enumerate(boxes(x[plane], spans)):
            best, place = values[plane].reshape(-1)[at].item(), where[0]
            place = divmod(places[plane].reshape(-1)[at].item(), 30)
            assert x[plane, place[0], place[1] // 5, place[1] % 5].item() == pytest.approx(best, nan_ok=True)
            assert best == pytest.approx(math.nan if any(map(math.isnan, inside)) else max(inside), nan_ok=True)
            if means is not None:
                assert means[plane].reshape(-1)[at].item() == pytest.approx(
                    sum(inside) / len(inside), rel=1e-4, abs=1e-5, nan_ok=True
                )


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_adaptive_pools(n, dtype):
    x = torch.randn(2, 3, *(5, 7, 4)[:n]).to(dtype)
    for size in ((1, 1, 1), (2, 3, 4), (5, 7, 4), (7, 9, 5)):
        out = size[:n] if n > 1 else size[0]
        pool, maxima = getattr(F, f"adaptive_avg_pool{n}d"), getattr(F, f"adaptive_max_pool{n}d")
        means, (best, places) = pool(x, out), maxima(x, out, return_indices=True)
        parts = [
            [list(range(i * s // o, -(-(i + 1) * s // o))) for i in range(o)]
            for s, o in zip(x.shape[2:], size, strict=False)
        ]
        for b, c in itertools.product(range(2), range(3)):
            for at, (inside, _) in enumerate(boxes(x[b, c].float(), parts)):
                assert means[b, c].reshape(-1)[at].item() == pytest.approx(
                    sum(inside) / len(inside), rel=1e-2, abs=1e-2
                )
                assert best[b, c].reshape(-1)[at].item() == pytest.approx(max(inside))
                assert x[b, c].reshape(-1)[places[b, c].reshape(-1)[at]] == best[b, c].reshape(-1)[at]
        kept = x.clone().requires_grad_()
        torch.testing.assert_close(pool(kept, out).detach(), means)
        assert torch.equal(maxima(kept, out).detach(), best)


def test_gradients_go_back_to_the_places():
    x = torch.randn(2, 4, 4, 4, dtype=torch.float64, requires_grad=True)
    for f in (
        lambda t: F.max_pool3d(t, 2),
        lambda t: F.adaptive_max_pool3d(t, 3),
        lambda t: F.avg_pool3d(t, 2),
        lambda t: F.adaptive_avg_pool3d(t, 3),
    ):
        assert torch.autograd.gradcheck(f, (x,))


def test_refusals_stay():
    x = torch.ones(1, 4, 4, 4)
    with pytest.raises(RuntimeError, match="divisor must be not zero"):
        F.avg_pool3d(x, 2, divisor_override=0)
    with pytest.raises(NotImplementedError, match="avg_pool3d_out_frame"):
        F.avg_pool3d(x.bfloat16(), 2)
    with pytest.raises(RuntimeError, match="pad should be at most half"):
        F.max_pool3d(x, 2, padding=2)
    with pytest.raises(RuntimeError, match="Output size is too small"):
        F.max_pool3d(x, 5)
