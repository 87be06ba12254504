"""shim::norm, CUDA's one kernel of layer and group norms: its body's values are those of the functions."""

from __future__ import annotations

import shim_torch as torch

F = torch.nn.functional


def norm(x, weight, bias, cols, span=0, groups=1, centred=True):
    return torch.ops.shim.norm(x, weight, bias, cols, span, groups, centred, 1e-5)


def given():
    torch.manual_seed(1)
    return (
        torch.randn(6, 4, dtype=torch.float64),
        torch.randn(4, dtype=torch.float64),
        torch.randn(4, dtype=torch.float64),
    )


def test_rows():
    x, w, b = given()
    out, mean, scale = norm(x, w, b, 4)
    torch.testing.assert_close(out, F.layer_norm(x, (4,), w, b))
    torch.testing.assert_close(mean, x.mean(1))
    torch.testing.assert_close(scale, (x.var(1, correction=0) + 1e-5).rsqrt())
    torch.testing.assert_close(norm(x, w, None, 4, centred=False)[0], F.rms_norm(x, (4,), w, eps=1e-5))


def test_groups():
    x = given()[0].view(2, 4, 3)  # two samples of two groups: two channels of three columns each
    w, b = torch.tensor([1.0, 2.0, 3.0, 4.0], dtype=torch.float64), torch.ones(4, dtype=torch.float64)
    torch.testing.assert_close(norm(x, w, b, 6, span=3, groups=2)[0], F.group_norm(x, 2, w, b))


def test_gradients():
    x, w, b = (t.requires_grad_() for t in given())
    assert torch.autograd.gradcheck(lambda *a: norm(*a, 4)[0], (x, w, b))
