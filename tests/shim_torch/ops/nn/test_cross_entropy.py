"""Cross entropies: values by hand, weights, ignored and smoothed targets, what is refused."""

from __future__ import annotations

import math

import pytest

import shim_torch as torch

F = torch.nn.functional
LOGITS = [[2.0, 0.0, 1.0], [0.0, 3.0, 0.0]]


def chances(row):
    total = sum(map(math.exp, row))
    return [math.exp(x) / total for x in row]


def test_classes():
    x, t = torch.tensor(LOGITS, dtype=torch.float64), torch.tensor([0, 2])
    each = [-math.log(chances(row)[k]) for row, k in zip(LOGITS, (0, 2), strict=True)]
    assert F.cross_entropy(x, t, reduction="none").tolist() == pytest.approx(each)
    assert F.cross_entropy(x, t).item() == pytest.approx(sum(each) / 2)
    assert F.nll_loss(x.log_softmax(1), t, reduction="sum").item() == pytest.approx(sum(each))


def test_weights_and_ignored_targets():
    x, w = torch.tensor(LOGITS, dtype=torch.float64), torch.tensor([1.0, 2.0, 4.0], dtype=torch.float64)
    each = [-math.log(chances(row)[k]) for row, k in zip(LOGITS, (0, 2), strict=True)]
    assert F.cross_entropy(x, torch.tensor([0, 2]), w).item() == pytest.approx((each[0] + 4 * each[1]) / 5)
    assert F.cross_entropy(x, torch.tensor([0, -100])).item() == pytest.approx(each[0])
    assert math.isnan(F.cross_entropy(x, torch.tensor([-100, -100])).item())


def test_probabilities_and_smoothing():
    x = torch.tensor(LOGITS, dtype=torch.float64)
    soft = torch.tensor([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]], dtype=torch.float64)
    logs = [[math.log(c) for c in chances(row)] for row in LOGITS]
    assert F.cross_entropy(x, soft, reduction="none").tolist() == pytest.approx(
        [-(logs[0][0] + logs[0][1]) / 2, -logs[1][2]]
    )
    smooth = 0.7 * -logs[0][0] + 0.3 * -sum(logs[0]) / 3
    assert F.cross_entropy(x[:1], torch.tensor([0]), label_smoothing=0.3).item() == pytest.approx(smooth)


def test_gradient_is_chances_less_targets():
    x = torch.tensor(LOGITS, dtype=torch.float64, requires_grad=True)
    F.cross_entropy(x, torch.tensor([0, 2]), reduction="sum").backward()
    expected = [[c - (k == i) for i, c in enumerate(chances(row))] for row, k in zip(LOGITS, (0, 2), strict=True)]
    torch.testing.assert_close(x.grad, torch.tensor(expected, dtype=torch.float64))


def test_binary_forms_agree():
    x, t = torch.tensor([0.5, -2.0], dtype=torch.float64), torch.tensor([1.0, 0.25], dtype=torch.float64)
    p = [1 / (1 + math.exp(-v)) for v in x.tolist()]
    each = [-(v * math.log(c) + (1 - v) * math.log(1 - c)) for v, c in zip(t.tolist(), p, strict=True)]
    assert F.binary_cross_entropy(x.sigmoid(), t, reduction="none").tolist() == pytest.approx(each)
    assert F.binary_cross_entropy_with_logits(x, t, reduction="none").tolist() == pytest.approx(each)
    assert F.binary_cross_entropy(torch.zeros(1), torch.ones(1)).item() == 100


@pytest.mark.parametrize(
    ("run", "kind", "text"),
    [
        (lambda: F.cross_entropy(torch.ones(2, 3), torch.tensor([0, 3])), IndexError, "Target 3 is out of bounds"),
        (lambda: F.binary_cross_entropy(torch.tensor([1.5]), torch.ones(1)), RuntimeError, "between 0 and 1"),
    ],
)
def test_what_is_refused(run, kind, text):
    with pytest.raises(kind, match=text):
        run()
