"""CPU kernels of CTC alignments, modes, vector products and convolutions of volumes: against definitions in NumPy."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import shim_torch as torch

F = torch.nn.functional


def chance(probabilities, labels):
    """The chance of all alignments, by enumeration."""
    steps, classes = probabilities.shape
    total = 0.0
    for way in itertools.product(range(classes), repeat=steps):
        heard = [c for i, c in enumerate(way) if c and (i == 0 or way[i - 1] != c)]
        total += math.prod(probabilities[t, c] for t, c in enumerate(way)) if heard == list(labels) else 0
    return total


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("labels", [[], [1], [2, 2], [1, 2, 1]])
def test_alignments_are_all_counted(dtype, labels):
    torch.manual_seed(0)
    p = torch.rand(5, 2, 3, dtype=dtype).softmax(2)
    targets = torch.tensor([[*labels, *[1] * (3 - len(labels))], [2, 1, 1]])
    found = F.ctc_loss(p.log(), targets, torch.tensor([5, 4]), torch.tensor([len(labels), 2]), reduction="none")
    wanted = [-math.log(chance(p[:, 0].numpy(), labels)), -math.log(chance(p[:4, 1].numpy(), [2, 1]))]
    assert np.allclose(found.numpy(), wanted, rtol=1e-6 if dtype == torch.float64 else 1e-5)


def test_gradients_of_alignments():
    torch.manual_seed(1)
    x = torch.rand(6, 3, 4, dtype=torch.float64, requires_grad=True)
    targets, ends = torch.tensor([[1, 1, 2], [3, 2, 1], [2, 0, 0]]), torch.tensor([3, 2, 1])

    def loss(x):
        return F.ctc_loss(x.log_softmax(2), targets, torch.tensor([6, 5, 4]), ends, reduction="sum")

    assert torch.autograd.gradcheck(loss, x)
    impossible = F.ctc_loss(
        x.log_softmax(2), targets, torch.tensor([1, 6, 6]), ends, reduction="none", zero_infinity=True
    )
    (slope,) = torch.autograd.grad(impossible.sum(), x)
    assert impossible[0] == 0 and not slope[:, 0].any() and slope[:, 1:].any()


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int8", "int16", "int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("shape", [(1,), (9,), (4, 31), (5, 3, 6), (2, 700)])
def test_modes(shape, dtype):
    r = np.random.default_rng(0)
    for spread in (4, 100):
        a = (r.integers(-spread, spread, shape) * (0.5 if "float" in dtype else 1)).astype(dtype)
        for dim, keep in itertools.product(range(len(shape)), (False, True)):
            values, places = torch.mode(torch.from_numpy(a), dim, keep)
            x = np.moveaxis(a, dim, -1)
            wanted = np.empty(x.shape[:-1], dtype)
            last = np.empty(x.shape[:-1], np.int64)
            for at in np.ndindex(x.shape[:-1]):
                each, counts = np.unique(x[at], return_counts=True)
                wanted[at] = each[counts.argmax()]
                last[at] = np.flatnonzero(x[at] == wanted[at])[-1]
            if keep:
                wanted, last = np.expand_dims(wanted, dim), np.expand_dims(last, dim)
            assert np.array_equal(values.numpy(), wanted) and np.array_equal(places.numpy(), last)
            assert values.is_contiguous()


def test_modes_of_what_is_no_number():
    nan = math.nan
    assert torch.mode(torch.tensor([nan, nan, 2.0, nan])).values == 2
    assert torch.mode(torch.tensor([nan, nan])).values.isnan()
    assert torch.mode(torch.tensor([1.0, -0.0, 0.0])).indices == 2
    assert torch.mode(torch.tensor([2**62, -(2**62), 2**62, 2**63 - 1, 2**63 - 1])).values == 2**62


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64", "int8", "complex64"])
def test_vector_products(dtype):
    r = np.random.default_rng(0)
    a, b = ((r.standard_normal((4, 3, 5)) * 9).astype(dtype) for _ in range(2))
    x, y = torch.from_numpy(a), torch.from_numpy(b)
    wanted = np.cross(a, b, axis=1)
    assert np.allclose(torch.linalg.cross(x, y, dim=1).numpy(), wanted)
    assert np.allclose(torch.cross(x.transpose(0, 1), y.transpose(0, 1), dim=0).numpy(), np.moveaxis(wanted, 1, 0))
    assert np.allclose(torch.linalg.cross(x, y[:1], dim=-2).numpy(), np.cross(a, b[:1], axis=1))
    if dtype == "float64":
        assert torch.autograd.gradcheck(
            lambda x, y: torch.linalg.cross(x, y, dim=1), (x.requires_grad_(), y[:1].detach().requires_grad_())
        )
        assert np.allclose(
            torch.linalg.cross(torch.complex(x, y).conj().imag.detach(), x.detach(), dim=1).numpy(),
            np.cross(-b, a, axis=1),
        )


@pytest.mark.parametrize(
    "stride, padding, dilation, groups",
    [(1, 1, 1, 1), ((2, 1, 1), (0, 2, 1), (2, 1, 1), 2), ((3, 2, 1), (2, 0, 1), (1, 2, 2), 4)],
)
def test_convolutions_of_volumes(stride, padding, dilation, groups):
    torch.manual_seed(0)
    x, w, b = (
        torch.randn(2, 4, 6, 5, 7, dtype=torch.float64),
        torch.randn(8, 4 // groups, 3, 2, 3, dtype=torch.float64),
        torch.randn(8, dtype=torch.float64),
    )
    y = F.conv3d(x, w, b, stride, padding, dilation, groups)
    s, p, d = (v if isinstance(v, tuple) else (v,) * 3 for v in (stride, padding, dilation))
    deep = np.pad(x.numpy(), [(0, 0), (0, 0), (p[0], p[0]), (0, 0), (0, 0)])
    for z in range(y.size(2)):  # the sum of the convolutions of the slices that a window holds
        parts = [
            F.conv2d(
                torch.from_numpy(np.ascontiguousarray(deep[:, :, z * s[0] + k * d[0]])),
                w[:, :, k].contiguous(),
                None,
                s[1:],
                p[1:],
                d[1:],
                groups,
            )
            for k in range(3)
        ]
        assert np.allclose(y[:, :, z].numpy(), sum(t.numpy() for t in parts) + b.numpy()[:, None, None])
    small = (x[:1].requires_grad_(), w.requires_grad_(), b.requires_grad_())
    g = torch.randn_like(F.conv3d(*small, stride, padding, dilation, groups))
    slopes = torch.autograd.grad(F.conv3d(*small, stride, padding, dilation, groups), small, g)
    for t, slope in zip(
        small, slopes, strict=True
    ):  # linear in each: along a direction, the change is the product with the gradient
        step = torch.randn_like(t)
        moved = [v.detach() + step if v is t else v.detach() for v in small]
        change = F.conv3d(*moved, stride, padding, dilation, groups) - F.conv3d(
            *[v.detach() for v in small], stride, padding, dilation, groups
        )
        assert np.allclose((change * g).sum().item(), (slope * step).sum().item())


def test_slopes_of_a_sequence_without_a_way_are_no_numbers():
    """As PyTorch's, but with zero_infinity; those of the others in the batch are what they are alone."""
    log_p = torch.randn(4, 2, 5, generator=torch.Generator().manual_seed(0)).log_softmax(2).requires_grad_()
    labels = torch.tensor([[1, 1, 2, 3, 4], [1, 2, 0, 0, 0]])
    for zeroed in (False, True):
        loss = F.ctc_loss(log_p, labels, [3, 4], [5, 2], reduction="sum", zero_infinity=zeroed)
        (slope,) = torch.autograd.grad(loss, log_p)
        assert (slope[:3, 0] == 0).all() if zeroed else slope[:3, 0].isnan().all()
        assert (slope[3, 0] == 0).all()
        one = F.ctc_loss(log_p[:, 1:], labels[1:], [4], [2], reduction="sum")
        torch.testing.assert_close(slope[:, 1], torch.autograd.grad(one, log_p)[0][:, 1])


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_slopes_of_transposed_convolutions_whose_output_padding_reaches_beyond_all_windows(dims):
    """Kernels of one element: what is added to the output comes from no input, and leaves the slopes as they are without it."""
    draws = torch.Generator().manual_seed(dims)
    size, run = (3, 4, 2)[:dims], getattr(F, f"conv_transpose{dims}d")
    x = torch.randn(2, 4, *size, generator=draws).requires_grad_()
    w = torch.randn(4, 3, *[1] * dims, generator=draws).requires_grad_()
    g = torch.randn(2, 3, *[n + 1 for n in size], generator=draws)
    found = torch.autograd.grad(run(x, w, None, 1, 0, 1, 1, 2), [x, w], g)
    cut = g[(..., *[slice(n) for n in size])]
    torch.testing.assert_close(found, torch.autograd.grad(run(x, w), [x, w], cut))
    assert found[0].is_contiguous()
