"""Images whose elements go to other places, Fourier transforms, variances down columns, running statistics, Poisson's counts, digamma: against the CPU."""

from __future__ import annotations

import pytest

import shim_torch as torch

F = torch.nn.functional


def compared(run, *given, grads=True, **close):
    """``run`` of tensors on both devices: its values and, weighed by cosines, its gradients."""
    sides = []
    for device in ("cuda", "cpu"):
        own = [t.to(device).requires_grad_(grads) for t in given]
        out = run(*own)
        found = [out.detach()]
        if grads:
            weigh = torch.cos(torch.arange(out.numel(), dtype=torch.float64)).reshape(out.shape).to(device, out.dtype)
            found += torch.autograd.grad(out, own, weigh)
        sides.append([t.cpu() for t in found])
    for mine, theirs in zip(*sides, strict=True):
        torch.testing.assert_close(mine, theirs, **close)


@pytest.mark.parametrize("dtype", (torch.float32, torch.float64, torch.bfloat16), ids=str)
@pytest.mark.parametrize(
    "how",
    (
        {"kernel_size": 3, "padding": 1},
        {"kernel_size": (2, 4), "stride": (3, 1), "dilation": (1, 2)},
        {"kernel_size": 1},
    ),
    ids=str,
)
def test_columns(how, dtype, seeded):
    x = torch.randn(2, 3, 13, 40).to(dtype)
    close = {"rtol": 2e-2, "atol": 2e-2} if dtype == torch.bfloat16 else {}
    compared(lambda t: F.unfold(t, **how), x, **close)
    compared(lambda t: F.fold(t, (13, 40), **how), F.unfold(x, **how), **close)
    compared(lambda t: F.unfold(t, **how), x[0], **close)


def test_columns_of_other_elements(seeded):
    x = torch.randn(2, 3, 9, 70, dtype=torch.complex64)
    columns = torch.ops.aten.im2col(x.cuda(), (3, 3), (1, 1), (1, 1), (2, 2)).cpu()
    assert torch.equal(columns, torch.ops.aten.im2col(x, (3, 3), (1, 1), (1, 1), (2, 2)))


@pytest.mark.parametrize("dtype", (torch.float32, torch.float16, torch.float64), ids=str)
@pytest.mark.parametrize("r", (2, 3, 4))
def test_shuffled_pixels(r, dtype, seeded):
    x = torch.randn(2, 3, 2 * r * r, 5, 7).to(dtype)
    compared(lambda t: F.pixel_shuffle(t, r), x)
    compared(lambda t: F.pixel_unshuffle(t, r), F.pixel_shuffle(x, r))
    compared(lambda t: F.pixel_unshuffle(t.transpose(-1, -2), r), F.pixel_shuffle(x, r))
    bytes_ = (x * 50).to(torch.uint8)
    assert torch.equal(F.pixel_shuffle(bytes_.cuda(), r).cpu(), F.pixel_shuffle(bytes_, r))
    last = x[0].cuda().contiguous(memory_format=torch.channels_last)
    assert torch.equal(F.pixel_shuffle(last, r).cpu(), F.pixel_shuffle(x[0], r))


@pytest.mark.parametrize("mode", ("reflect", "replicate"))
@pytest.mark.parametrize("dtype", (torch.float32, torch.float64, torch.bfloat16), ids=str)
@pytest.mark.parametrize("pad", ((2, 3), (0, 4), (-1, 2), (2, 1, 3, 0), (1, 1, -2, 2), (1, 2, 3, 2, 1, 0)), ids=str)
def test_frames(pad, dtype, mode, seeded):
    x = torch.randn(2, 3, *(5, 6, 7)[: len(pad) // 2]).to(dtype)
    close = {"rtol": 2e-2, "atol": 4e-2} if dtype == torch.bfloat16 else {}
    compared(lambda t: F.pad(t, pad, mode), x, **close)
    compared(lambda t: F.pad(t, pad, mode), x[0], **close)


def test_wide_frames_of_one_element(seeded):
    compared(lambda t: F.pad(t, (9, 8, 3, 20), "replicate"), torch.randn(2, 3, 1, 1))
    with pytest.raises(RuntimeError, match="Padding size should be less than"):
        F.pad(torch.randn(1, 2, 3, device="cuda"), (3, 0), "reflect")
    x = torch.randn(2, 3, 6, 5, device="cuda", dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradgradcheck(lambda t: F.pad(t, (2, 1, 3, 2), "reflect") ** 2, x)


@pytest.mark.parametrize("align", (True, False))
@pytest.mark.parametrize("dtype", (torch.float32, torch.float64), ids=str)
@pytest.mark.parametrize("size", ((3, 2, 5, 8), (2, 1, 1, 9), (2, 3, 4, 5, 6)), ids=str)
def test_affine_grids(size, dtype, align, seeded):
    n = len(size) - 2
    compared(lambda t: F.affine_grid(t, size, align_corners=align), torch.randn(size[0], n, n + 1).to(dtype))


@pytest.mark.parametrize("dtype", (torch.float32, torch.float64), ids=str)
@pytest.mark.parametrize("norm", (None, "ortho", "forward"))
def test_fourier(norm, dtype, seeded):
    fft = torch.fft
    real, odd = torch.randn(3, 4, 30).to(dtype), torch.randn(2, 27).to(dtype)
    for x in (real, odd, torch.complex(real, real.flip(-1)), real.transpose(0, 2)):
        compared(lambda t: fft.fft(t, norm=norm), x)
        compared(lambda t: fft.ifft(t, norm=norm), x)
        compared(lambda t: fft.fftn(t, norm=norm), x)
        compared(lambda t: fft.ifft2(t, norm=norm), x)
        compared(lambda t: fft.fft(t, n=20, dim=0, norm=norm), x)
    for x in (real, odd):
        compared(lambda t: fft.rfft(t, norm=norm), x)
        compared(lambda t: fft.rfft2(t, norm=norm), x)
        compared(lambda t: fft.ihfft(t, norm=norm), x)
        compared(lambda t, n=x.size(-1): fft.irfft(fft.rfft(t, norm=norm) * 2, n, norm=norm), x)
        compared(lambda t, s=x.shape[-2:]: fft.irfft2(fft.rfft2(t, norm=norm) * 2, s, norm=norm), x)
    half = torch.complex(real, real)
    kept = half.cuda()
    again = kept.clone()
    fft.irfft(kept), fft.irfft2(kept)
    assert torch.equal(kept, again)  # what was given is not written to


@pytest.mark.parametrize("dtype", (torch.float32, torch.float64, torch.bfloat16), ids=str)
@pytest.mark.parametrize(
    "shape, dim",
    (((1000, 7), 0), ((33, 640), 0), ((3, 500, 64), 1), ((5, 40, 30, 9), (1, 2)), ((2, 1, 4), 0), ((100_000, 4), 0)),
    ids=str,
)
def test_variances_down(shape, dim, dtype, seeded):
    x = (torch.randn(shape) * 3 + 100).to(dtype)
    mine, wide = x.cuda(), x.double()
    close = {"rtol": 1e-2, "atol": 1e-2} if dtype == torch.bfloat16 else {"rtol": 1e-4, "atol": 1e-5}
    for correction in (0, 1):
        for keepdim in (False, True):
            kept = {"correction": correction, "keepdim": keepdim}
            for run in (torch.var, torch.std):
                torch.testing.assert_close(run(mine, dim, **kept).cpu().double(), run(wide, dim, **kept), **close)
            for a, b in zip(torch.var_mean(mine, dim, **kept), torch.var_mean(wide, dim, **kept), strict=True):
                torch.testing.assert_close(a.cpu().double(), b, **close)


def test_variances_of_values_far_from_the_first(seeded):
    x = torch.randn(4096, 64)
    x[0] = 1e6
    torch.testing.assert_close(x[1:].cuda().std(0).cpu().double(), x[1:].double().std(0), rtol=1e-4, atol=0)
    torch.testing.assert_close(x.cuda().var(0).cpu().double(), x.double().var(0), rtol=1e-4, atol=0)
    x[5, 3], x[7, 4] = float("nan"), float("inf")
    assert x.cuda().std(0).isnan().cpu().nonzero().flatten().tolist() == [3, 4]


@pytest.mark.parametrize("dtype", (torch.float32, torch.float64), ids=str)
def test_running_statistics(dtype, seeded):
    modules = [torch.nn.BatchNorm2d(5, momentum=m).to(dtype) for m in (0.1, None)]
    for module in modules:
        there = torch.nn.BatchNorm2d(5, momentum=module.momentum).to("cuda", dtype)
        for _ in range(3):
            x = (torch.randn(4, 5, 6, 7) * 2 + 1).to(dtype)
            torch.testing.assert_close(there(x.cuda()).cpu(), module(x))
        for name in ("running_mean", "running_var", "num_batches_tracked"):
            torch.testing.assert_close(getattr(there, name).cpu(), getattr(module, name))
    versions = there.running_mean._version
    there(x.cuda())
    assert there.running_mean._version > versions


@pytest.mark.parametrize("dtype", (torch.float32, torch.float64, torch.float16), ids=str)
@pytest.mark.parametrize("rate", (0.0, 0.05, 3.0, 9.9, 10.1, 60.0, 1000.0))
def test_poissons_counts(rate, dtype):
    """Mean, variance and chances of single counts, within five deviations."""
    import math

    n = 400_000
    torch.manual_seed(3)
    rates = torch.full((n,), rate, dtype=dtype, device="cuda")
    rate = float(rates[0])
    drawn = torch.poisson(rates)
    assert drawn.dtype == dtype
    x = drawn.double()
    assert bool((x >= 0).all()) and (dtype == torch.float16 or bool((x == x.round()).all()))
    if rate == 0:
        assert not bool(x.any())
        return
    assert abs(float(x.mean()) - rate) <= 5 * math.sqrt(rate / n) + 1e-3 * rate * (dtype == torch.float16)
    assert abs(float(x.var()) / rate - 1) <= 5 * math.sqrt((2 + 1 / rate) / n) + 1e-2 * (dtype == torch.float16)
    for k in {int(rate), int(rate + math.sqrt(rate)), max(0, int(rate - 2 * math.sqrt(rate)))}:
        chance = math.exp(k * math.log(rate) - rate - math.lgamma(k + 1))
        assert abs(float((x == k).double().mean()) - chance) <= 5 * math.sqrt(chance / n)
    torch.manual_seed(3)
    assert torch.equal(torch.poisson(rates), drawn) and not torch.equal(torch.poisson(rates), drawn)


def test_poissons_rates():
    with pytest.raises(RuntimeError, match="invalid Poisson rate"):
        torch.poisson(torch.tensor([1.0, -1.0], device="cuda"))
    own = torch.rand(5, device="cuda", requires_grad=True)
    torch.poisson(own).sum().backward()
    assert not bool(own.grad.any())


@pytest.mark.parametrize("dtype", (torch.float32, torch.float64, torch.float16), ids=str)
def test_digamma_and_sign_bits(dtype, seeded):
    special = torch.tensor(
        [0.0, -0.0, -1.0, -2.0, 1e-3, -1e-3, 1e4, float("inf"), float("-inf"), float("nan"), 10.0, 9.999]
    )
    x = torch.cat([torch.randn(4000) * 3, torch.rand(1000) * 40, special]).to(dtype)
    close = (
        {"rtol": 1e-3, "atol": 1e-3}
        if dtype == torch.float16
        else {"rtol": 2e-5, "atol": 2e-5}
        if dtype == torch.float32
        else {"rtol": 1e-9, "atol": 1e-9}
    )
    torch.testing.assert_close(x.cuda().digamma().cpu(), x.digamma(), equal_nan=True, **close)
    torch.testing.assert_close(x.cuda().digamma_().cpu(), x.digamma(), equal_nan=True, **close)
    assert torch.equal(x.cuda().signbit().cpu(), x.signbit())
    assert torch.equal(x.int().cuda().signbit().cpu(), x.int().signbit())
    if dtype != torch.float16:  # whose gradients overflow next to the poles
        compared(lambda t: t.digamma(), x[4000:5000] + 0.1, **close)
