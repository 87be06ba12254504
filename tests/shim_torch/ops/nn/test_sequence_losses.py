"""CTC and margins over several classes: alignments all counted, operators of one kernel, slopes."""

import itertools
import math

import numpy as np
import pytest

import shim_torch as torch
import shim_torch.nn.functional as F


@pytest.mark.parametrize("number, reduction", enumerate(("none", "mean", "sum")))
def test_operator_is_the_loss(number, reduction):
    torch.manual_seed(0)
    x = torch.randn(5, 7, dtype=torch.float64, requires_grad=True)
    y = torch.randint(-1, 7, (5, 7))
    y[0], y[1], y[2, :4] = -1, torch.arange(7), torch.tensor([3, 3, 1, -1])
    found = [F.multilabel_margin_loss(x, y, reduction=reduction), torch.ops.shim.multilabel_margin_loss(x, y, number)]
    g = torch.randn(found[0].shape, dtype=torch.float64)
    torch.testing.assert_close(*found)
    torch.testing.assert_close(*(torch.autograd.grad(loss, x, g) for loss in found))
    assert torch.autograd.gradcheck(lambda v: torch.ops.shim.multilabel_margin_loss(v, y, number), x)
    assert torch.autograd.gradgradcheck(lambda v: torch.ops.shim.multilabel_margin_loss(v, y, number), x)


def test_no_slope_where_the_gap_is_zero():
    x = torch.tensor([[1.0, 0.0, 2.0]], requires_grad=True)
    loss = F.multilabel_margin_loss(x, torch.tensor([[0, -1, 0]]))
    assert torch.equal(torch.autograd.grad(loss, x)[0], torch.tensor([[-1 / 3, 0.0, 1 / 3]]))
    loss = F.multi_margin_loss(x, torch.tensor([0]))
    assert torch.equal(torch.autograd.grad(loss, x)[0], torch.tensor([[-1 / 3, 0.0, 1 / 3]]))


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


def test_an_utterance_of_no_steps_is_certain_or_impossible():
    lp = torch.randn(2, 2, 5).log_softmax(2).requires_grad_()
    loss = F.ctc_loss(
        lp, torch.ones(2, 2, dtype=torch.int), torch.tensor([0, 0]), torch.tensor([0, 1]), reduction="none"
    )
    assert loss.tolist() == [0.0, float("inf")]
    loss.sum().backward()
    assert lp.grad.abs().sum().item() == 0
    zeroed = F.ctc_loss(
        lp,
        torch.ones(2, 2, dtype=torch.int),
        torch.tensor([0, 0]),
        torch.tensor([0, 1]),
        reduction="none",
        zero_infinity=True,
    )
    assert zeroed.tolist() == [0.0, 0.0]
