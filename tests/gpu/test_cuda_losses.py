# ruff: noqa: B023 (what is made in a loop is called in the same round)
"""Losses of classes and of chances on CUDA: the CPU's values and gradients, by our own kernels."""

import pytest

import shim_torch as torch

F = torch.nn.functional
pytestmark = pytest.mark.usefixtures("on_our_kernels")

FLOATS = [torch.float64, torch.float32, torch.float16, torch.bfloat16]
TOLERANCE = {torch.float64: 1e-12, torch.float32: 1e-5, torch.float16: 4e-3, torch.bfloat16: 3e-2}


def check(loss, dtype, *inputs, others=()):
    """loss(*inputs, *others) and its gradients by the inputs on CUDA, in this dtype, are those of float64 on the CPU; others are as they are."""
    outcomes = []
    for device, t in (("cpu", torch.float64), ("cuda", dtype)):
        leaves = [x.to(dtype).to(device, t).requires_grad_() for x in inputs]
        fixed = [o if o is None else o.to(device, t) if o.is_floating_point() else o.to(device) for o in others]
        value = loss(*leaves, *fixed)
        assert value.dtype == t
        outcomes.append([value.detach(), *torch.autograd.grad(value, leaves, torch.full_like(value, 0.5))])
    for want, got in zip(*outcomes, strict=True):
        assert got.is_cuda
        torch.testing.assert_close(
            got.cpu().double(), want, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype], equal_nan=True
        )


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_nll_loss(dtype, reduction):
    for shape in ((5, 7), (1300, 10), (4, 3, 6), (2, 5, 3, 4), (1, 1)):
        x, weight = torch.randn(shape), torch.rand(shape[1]) + 0.5
        target = torch.randint(0, shape[1], (shape[0], *shape[2:]))
        for ignored in (-100, 0, 2):
            for w in (None, weight.to(dtype)):
                check(
                    lambda a, t, w: F.nll_loss(a, t, w, ignore_index=ignored, reduction=reduction),
                    dtype,
                    x,
                    others=(target, w),
                )
    check(
        lambda a, t: F.nll_loss(a.transpose(0, 1), t, reduction=reduction),
        dtype,
        torch.randn(7, 5),
        others=(torch.tensor([1, 2, 6, 0, 3]),),
    )
    check(lambda a, t: F.nll_loss(a, t, reduction=reduction), dtype, torch.randn(7), others=(torch.tensor(3),))


def test_nll_loss_of_nothing_and_twice():
    x = torch.randn(4, 3, device="cuda", requires_grad=True)
    ignored = torch.full((4,), -100, device="cuda")
    loss = F.nll_loss(x, ignored)
    assert loss.isnan().item()
    assert torch.equal(torch.autograd.grad(loss, x)[0].cpu(), torch.zeros(4, 3))
    assert F.nll_loss(x[:0], ignored[:0]).isnan().item() and F.nll_loss(x[:0], ignored[:0], reduction="sum").item() == 0
    assert F.nll_loss(x[:0], ignored[:0], reduction="none").shape == (0,)
    target = torch.tensor([0, 2, 1, 1], device="cuda")
    first = torch.autograd.grad(F.nll_loss(x.log_softmax(1), target), x, create_graph=True)[0]
    leaf = x.detach().cpu().requires_grad_()
    other = torch.autograd.grad(F.nll_loss(leaf.log_softmax(1), target.cpu()), leaf, create_graph=True)[0]
    torch.testing.assert_close(
        torch.autograd.grad(first.square().sum(), x)[0].cpu(), torch.autograd.grad(other.square().sum(), leaf)[0]
    )


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_binary_cross_entropy(dtype, reduction):
    for shape in ((5, 7), (3000,)):
        chance, target, weight = torch.rand(shape) * 0.9 + 0.05, torch.rand(shape), torch.rand(shape)
        for w in (None, weight.to(dtype)):
            check(
                lambda a, t, w: F.binary_cross_entropy(a, t, w, reduction=reduction),
                dtype,
                chance,
                others=(target.to(dtype), w),
            )
            check(
                lambda a, t, w: F.binary_cross_entropy_with_logits(a, t, w, reduction=reduction),
                dtype, chance * 20 - 10, others=(target.to(dtype), w),
            )  # fmt: skip
        check(
            lambda a, t, w: F.binary_cross_entropy_with_logits(a, t, pos_weight=w, reduction=reduction),
            dtype, chance * 8 - 4, others=(target.to(dtype), weight.to(dtype)),
        )  # fmt: skip


def test_binary_cross_entropy_at_the_ends_and_of_its_target():
    ends, target = torch.tensor([0.0, 1.0, 0.0, 1.0, 0.5]), torch.tensor([0.0, 1.0, 1.0, 0.0, 0.5])
    for reduction in ("none", "mean", "sum"):
        got = F.binary_cross_entropy(ends.cuda(), target.cuda(), reduction=reduction)
        torch.testing.assert_close(got.cpu(), F.binary_cross_entropy(ends, target, reduction=reduction))
        for loss in (F.binary_cross_entropy, F.binary_cross_entropy_with_logits):
            check(
                lambda a, t: loss(a, t, reduction=reduction),
                torch.float32,
                torch.rand(6) * 0.8 + 0.1,
                torch.rand(6) * 0.8 + 0.1,
            )
    x = torch.rand(9, dtype=torch.float64) * 0.8 + 0.1
    for loss in (F.binary_cross_entropy, F.binary_cross_entropy_with_logits):
        found = []
        for device in ("cpu", "cuda"):
            leaf = x.to(device).requires_grad_()
            slope = torch.autograd.grad(loss(leaf, 1 - leaf.detach()), leaf, create_graph=True)[0]
            found.append(torch.autograd.grad(slope.square().sum(), leaf)[0].cpu())
        torch.testing.assert_close(*found)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("p", [1, 2])
def test_multi_margin_loss(dtype, reduction, p):
    for shape in ((5, 7), (300, 40), (1, 1)):
        x, weight, target = torch.randn(shape), torch.rand(shape[1]) + 0.5, torch.randint(0, shape[1], shape[:1])
        for w in (None, weight.to(dtype)):
            check(
                lambda a, t, w: F.multi_margin_loss(a, t, p, 0.7, w, reduction=reduction), dtype, x, others=(target, w)
            )
    check(
        lambda a, t: F.multi_margin_loss(a, t, p, reduction=reduction), dtype, torch.randn(7), others=(torch.tensor(3),)
    )


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_multilabel_margin_loss(dtype, reduction):
    for shape in ((5, 7), (700, 40), (1, 1), (3, 300)):
        x, target = torch.randn(shape), torch.randint(-1, shape[1], shape)
        target[0] = -1
        target[-1] = torch.arange(shape[1]).flip(0)
        if shape[0] > 2:
            target[1] = torch.zeros(shape[1], dtype=torch.int64)  # the same again and again
            target[1, 4:] = -1
        check(lambda a, t: F.multilabel_margin_loss(a, t, reduction=reduction), dtype, x, others=(target,))
    check(
        lambda a, t: F.multilabel_margin_loss(a, t, reduction=reduction),
        dtype,
        torch.randn(4),
        others=(torch.tensor([3, 0, -1, 1]),),
    )


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_ctc_loss(dtype, reduction):
    scores, targets = torch.randn(9, 4, 5), torch.randint(1, 5, (4, 6))
    targets[0, :3] = 2  # repeated labels
    heard, said = torch.tensor([9, 9, 5, 3]), torch.tensor([3, 4, 0, 6])  # of the last there is no way
    for blank in (0, 4):
        for zero_infinity in (True, False):
            lengths = (heard, said) if zero_infinity else (torch.tensor([9, 9, 5, 9]), torch.tensor([3, 4, 0, 2]))

            def loss(a, t):
                return F.ctc_loss(a.log_softmax(2), t, *lengths, blank, reduction, zero_infinity)

            check(loss, dtype, scores, others=(targets % 4 if blank else targets,))
    flat = torch.randint(1, 5, (9,))
    check(
        lambda a, t: F.ctc_loss(a.log_softmax(2), t, [9, 7, 9, 9], [2, 3, 1, 3], reduction=reduction),
        dtype,
        scores,
        others=(flat,),
    )
    check(
        lambda a, t: F.ctc_loss(a.log_softmax(1), t, torch.tensor(9), torch.tensor(4), reduction=reduction),
        dtype,
        scores[:, 0],
        others=(targets[1, :4],),
    )


def test_ctc_loss_without_a_way():
    scores = torch.zeros(2, 1, 3, device="cuda").log_softmax(2).requires_grad_()
    labels = torch.tensor([[1, 2, 1]], device="cuda")
    loss = F.ctc_loss(scores, labels, [2], [3], reduction="none")
    assert loss.item() == float("inf")
    (slope,) = torch.autograd.grad(loss.sum(), scores)
    assert slope.isnan().all()
    (slope,) = torch.autograd.grad(F.ctc_loss(scores, labels, [2], [3], zero_infinity=True), scores)
    assert (slope == 0).all()
