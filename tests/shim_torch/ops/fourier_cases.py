"""Fourier transforms, windows and short-time transforms."""

from .expressions import pattern


def inputs(torch):
    """The names that the expressions use."""
    a = pattern(torch, 3, 4, 5, seed=1).requires_grad_()
    z = torch.complex(pattern(torch, 3, 4, 5, seed=2), pattern(torch, 3, 4, 5, seed=3)).requires_grad_()
    x = pattern(torch, 2, 20, seed=4).requires_grad_()
    w = (pattern(torch, 6, seed=5).abs() + 0.5).requires_grad_()
    return {"torch": torch, "f": torch.fft, "a": a, "z": z, "d": a.detach().double().requires_grad_(), "x": x, "w": w}


_ONE = [
    f"f.{name}({x}{more})"
    for name, given in (("fft", "az"), ("ifft", "az"), ("rfft", "a"), ("irfft", "az"), ("hfft", "az"), ("ihfft", "a"))
    for x in given
    for more in ("", ", 7, 0, 'ortho'", ", n=3, norm='forward'", ", dim=1, norm='backward'")
]
_MANY = [
    f"f.{name}{n}({x}{more})"
    for name, given in (("fft", "az"), ("ifft", "z"), ("rfft", "a"), ("irfft", "z"), ("hfft", "z"), ("ihfft", "a"))
    for x in given
    for n in ("2", "n")
    for more in ("", ", (2, 6), (0, 2), 'ortho'", ", s=(3, 3), norm='forward'")
]
_REST = """
f.fft(d)
f.irfftn(d, dim=(1, 0))
f.fft(torch.arange(4))
f.fftfreq(5, 0.5)
f.fftfreq(4)
f.rfftfreq(5, 2.0, dtype=torch.float64)
f.fftshift(a)
f.fftshift(a, 1)
f.ifftshift(a, (0, 2))
torch.autograd.grad(f.rfft(a).abs().square().sum(), [a], create_graph=True)
torch.autograd.grad(f.irfft(z).square().sum(), [z], create_graph=True)
f.fft(a, n=0)
f.fft(a, dim=5)
f.fft(a, norm='foo')
f.rfft(z)
f.irfft(a[..., :1])
f.ihfft(z)
f.fft2(a[0, 0])
f.fft2(a, dim=(0, 0))
f.fftn(a, s=(2,), dim=(0, 1))
f.fftn(a, s=(2, 2, 2, 2))
f.fftn(a, s=(0, 2))
f.rfftn(z)
f.irfftn(a[..., :1])
f.fft(a.half())
f.fft(torch.tensor(1.0))
f.fftn(torch.tensor(2.0))
f.rfftn(torch.tensor(2.0))
f.fftshift(a, dim=3)
f.rfftfreq(5, dtype=torch.long)
"""
_SIGNALS = """
"""
CASES = [*_ONE, *_MANY, *(_REST + _SIGNALS).strip().splitlines()]
