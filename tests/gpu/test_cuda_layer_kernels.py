"""Our own CUDA kernels of norms, losses and activations, with their gradients, against the CPU's operators."""

import math

import pytest
from kernel_checks import FLOATS, close, gradients, random

import shim_torch as torch

pytestmark = pytest.mark.usefixtures("seeded")
F = torch.nn.functional
NORM_SHAPES = [(3, 5), (2, 3, 64), (33, 256), (4, 1000), (2, 5003), (2, 36000)]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", NORM_SHAPES)
def test_layer_and_rms_norm(dtype, shape):
    cols = shape[-1]
    x, w, b, g = (random(*s, dtype=dtype) for s in (shape, (cols,), (cols,), shape))
    for call, tensors in (
        (lambda x, w, b: F.layer_norm(x, (cols,), w, b), (x, w, b)),
        (lambda x, w: F.layer_norm(x, (cols,), w), (x, w)),
        (lambda x: F.layer_norm(x, (cols,)), (x,)),
        (lambda x, w: F.rms_norm(x, (cols,), w, 1e-5), (x, w)),
        (lambda x: F.rms_norm(x, (cols,), None, 1e-5), (x,)),
    ):
        got = gradients("cuda", dtype, call, tensors, g)
        want = gradients("cpu", torch.float64, call, tensors, g)
        for a, c in zip(got, want, strict=True):
            close(a, c, scale=8)
        with torch.no_grad():
            assert torch.equal(call(*[t.cuda() for t in tensors]), got[0])


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape, groups", [((2, 6, 5), 3), ((3, 8, 4, 4), 2), ((2, 4, 33, 31), 4), ((2, 32, 64), 1)])
def test_group_norm(dtype, shape, groups):
    channels = shape[1]
    x, w, b, g = (random(*s, dtype=dtype) for s in (shape, (channels,), (channels,), shape))
    for call, tensors in (
        (lambda x, w, b: F.group_norm(x, groups, w, b), (x, w, b)),
        (lambda x: F.group_norm(x, groups), (x,)),
    ):
        got = gradients("cuda", dtype, call, tensors, g)
        want = gradients("cpu", torch.float64, call, tensors, g)
        for a, c in zip(got, want, strict=True):
            close(a, c, scale=8)


def test_norms_are_differentiated_twice():
    x, w, b = random(3, 8, dtype=torch.float64), random(8, dtype=torch.float64), random(8, dtype=torch.float64)
    image, scale = random(2, 4, 3, dtype=torch.float64), random(4, dtype=torch.float64)
    for call, tensors in (
        (lambda x, w, b: F.layer_norm(x, (8,), w, b), (x, w, b)),
        (lambda x, w: F.rms_norm(x, (8,), w, 1e-5), (x, w)),
        (lambda x, w: F.group_norm(x, 2, w, w), (image, scale)),
    ):
        found = []
        for device in ("cpu", "cuda"):
            leaves = [t.to(device).requires_grad_() for t in tensors]
            first = torch.autograd.grad((call(*leaves) ** 3).sum(), leaves, create_graph=True)
            second = torch.autograd.grad(sum((f**2).sum() for f in first), leaves)
            found.append([t.detach().cpu() for t in (*first, *second)])
        for a, c in zip(found[1], found[0], strict=True):
            torch.testing.assert_close(a, c, rtol=1e-7, atol=1e-7)


# --- losses and activations -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_cross_entropy(dtype, reduction):
    for rows, classes in ((5, 3), (17, 1000), (4, 5003)):
        x, weight = random(rows, classes, dtype=dtype) * 3, torch.rand(classes, dtype=torch.float64).to(dtype)
        target = torch.randint(0, classes, (rows,))
        target[1] = -100
        for w in (None, weight):
            found = []
            for device, kind in (("cuda", dtype), ("cpu", torch.float64)):
                leaf = x.to(device, kind, copy=True).requires_grad_()
                loss = F.cross_entropy(
                    leaf, target.to(device), None if w is None else w.to(device, kind), reduction=reduction
                )
                (loss * 2).sum().backward()
                found.append((loss.detach(), leaf.grad))
            close(found[0][0], found[1][0], scale=4)
            close(found[0][1], found[1][1], scale=4)
    x, target = random(2, 5, 3, 4), torch.randint(0, 5, (2, 3, 4))
    close(
        F.cross_entropy(x.cuda(), target.cuda(), reduction=reduction), F.cross_entropy(x, target, reduction=reduction)
    )


def test_cross_entropy_of_infinities_and_twice():
    x = torch.tensor([[1.0, -math.inf, 2.0], [0.0, 0.0, -math.inf]])
    target = torch.tensor([2, 1])
    close(F.cross_entropy(x.cuda(), target.cuda()), F.cross_entropy(x, target))
    found = []
    for device in ("cpu", "cuda"):
        leaf = torch.arange(12.0, dtype=torch.float64).reshape(3, 4).sin().to(device).requires_grad_()
        loss = F.cross_entropy(leaf, torch.tensor([0, -100, 3], device=device))
        (first,) = torch.autograd.grad(loss, leaf, create_graph=True)
        (second,) = torch.autograd.grad((first**2).sum(), leaf)
        found.append((first.detach().cpu(), second.cpu()))
    for a, b in zip(*found, strict=True):
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(3, 5), (2, 4, 64), (7, 1000), (2, 40000)])
def test_softmax_gradients(dtype, shape):
    x, g = random(*shape, dtype=dtype), random(*shape, dtype=dtype)
    for call in (lambda x: x.softmax(-1), lambda x: x.log_softmax(-1), lambda x: x.softmax(0)):
        got = gradients("cuda", dtype, call, (x,), g)
        want = gradients("cpu", torch.float64, call, (x,), g)
        # the result that the gradient is taken from is rounded
        close(got[1], want[1], scale=10 * max(1.0, want[1].abs().max().item()))


@pytest.mark.parametrize("dtype", FLOATS)
def test_activation_gradients(dtype):
    x, g = random(9, 33, dtype=dtype), random(9, 33, dtype=dtype)
    for call in (F.relu, F.silu, F.gelu, lambda x: F.gelu(x, approximate="tanh"), torch.sigmoid, torch.tanh):
        got = gradients("cuda", dtype, call, (x,), g)
        want = gradients("cpu", torch.float64, call, (x,), g)
        close(got[1], want[1], scale=4)
