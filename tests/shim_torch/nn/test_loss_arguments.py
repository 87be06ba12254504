"""Losses: which variances and class weights they take."""

import pytest

import shim_torch as torch
from shim_torch.nn import functional as F


@pytest.mark.parametrize("sizes", [(3, 1), (1, 2), (3,), (3, 2)])
def test_gaussian_variances(sizes):
    x, target, var = torch.ones(3, 2), torch.full((3, 2), 0.5), torch.full(sizes, 2.0)
    expected = 0.5 * (torch.tensor(2.0).log() + 0.25 / 2)
    assert torch.allclose(F.gaussian_nll_loss(x, target, var, reduction="none"), expected.expand(3, 2))


@pytest.mark.parametrize("sizes", [(1, 1), (2,), (), (1, 3, 2)])
def test_gaussian_variances_refused(sizes):
    with pytest.raises(ValueError, match="var is of incorrect size"):
        F.gaussian_nll_loss(torch.ones(3, 2), torch.ones(3, 2), torch.ones(sizes))


@pytest.mark.parametrize("sizes", [(3, 4), (0, 4), (2, 4, 3, 3)])
@pytest.mark.parametrize(
    ("dtype", "other", "text"),
    [
        (torch.float32, torch.float64, "expected scalar type Float but found Double"),
        (torch.bfloat16, torch.float32, "expected scalar type BFloat16 but found Float"),
    ],
)
def test_class_weights_have_the_inputs_dtype(sizes, dtype, other, text):
    x, target = torch.ones(sizes, dtype=dtype), torch.zeros(sizes[0], *sizes[2:], dtype=torch.long)
    for loss in (F.nll_loss, F.cross_entropy):
        with pytest.raises(RuntimeError, match=text):
            loss(x, target, torch.ones(4, dtype=other))
        assert loss(x, target, torch.ones(4, dtype=dtype)).dtype == dtype


@pytest.mark.parametrize(
    ("log_input", "full", "losses", "slopes"),
    [
        (True, True, [1.6487, 2.9817, 3.5569, 8.9184], [[1.6487, 3.4817, 4.8891, -5.8948], [-1.5, -0.8837, 1.9173]]),
        (True, False, [1.6487, 2.9817, 2.3891, 0.4052], [[1.6487, 3.4817, 4.8891, -5.8948], [-1.5, -2.0, -0.1]]),
        (False, True, [0.5, 1.0945, 1.4349, 24.7314], [[1.0, 0.3333, -0.25, -69.0], [-0.4055, 0.4231, 4.3199]]),
        (False, False, [0.5, 1.0945, 0.2671, 16.2181], [[1.0, 0.3333, -0.25, -69.0], [-0.4055, -0.6931, 2.3026]]),
    ],
)
def test_poisson_nll_loss_has_pytorchs_values(log_input, full, losses, slopes):
    x = torch.tensor([0.5, 1.5, 2.0, 0.1], requires_grad=True)
    counts = torch.tensor([0.0, 1.0, 2.5, 7.0], requires_grad=True)
    found = torch.nn.functional.poisson_nll_loss(x, counts, log_input=log_input, full=full, reduction="none")
    found.sum().backward()
    near = {"rtol": 1e-4, "atol": 1e-4}
    torch.testing.assert_close(found, torch.tensor(losses), **near)
    torch.testing.assert_close(x.grad, torch.tensor(slopes[0]), **near)
    torch.testing.assert_close(counts.grad[1:], torch.tensor(slopes[1]), **near)
    assert bool(counts.grad[0].isnan()) is full  # 0 times log(0), in PyTorch too


@pytest.mark.parametrize(
    "target, weight", [((3, 0, 8), None), ((2,), None), ((3,), (3, 2)), ((3, 0, 8), (3, 2))], ids=str
)
def test_the_operator_of_cross_entropy_reads_no_more_than_there_is(target, weight):
    """Anybody can call it: by itself it sees sizes that the function would have refused."""
    operator = torch.ops.shim.cross_entropy
    target, weight = torch.zeros(target, dtype=torch.int64), None if weight is None else torch.randn(weight)
    with pytest.raises((RuntimeError, ValueError), match="fit together|could not be broadcast"):
        operator(torch.randn(3, 2), target, weight, 2, 3, False)
