"""Reductions of dtypes and shapes that PyTorch refuses or answers in a way of its own."""

import pytest

import shim_torch as torch

X = torch.tensor([[1.0, 5.0, 3.0], [4.0, 2.0, 6.0]])
C = torch.tensor([1 + 3j, 4 + 6j])


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: torch.median(C), NotImplementedError, "\"median_cpu\" not implemented for 'ComplexFloat'"),
        (lambda: torch.mode(C), NotImplementedError, "\"mode_cpu\" not implemented for 'ComplexFloat'"),
        (lambda: torch.kthvalue(X > 2, 1), NotImplementedError, "\"kthvalue_cpu\" not implemented for 'Bool'"),
        (lambda: torch.amax(C), NotImplementedError, "\"max_values_cpu\" not implemented for 'ComplexFloat'"),
        (lambda: torch.cummax(C, 0), NotImplementedError, "\"cummax_cpu\" not implemented for 'ComplexFloat'"),
        (lambda: torch.logcumsumexp(X.long(), 0), NotImplementedError, "not implemented for 'Long'"),
        (lambda: torch.argmax(C), RuntimeError, r"argmax\(\): does not support complex input"),
        (lambda: torch.sort(C), RuntimeError, "Sort does not support complex dtypes on CPU"),
        (lambda: torch.nansum(C), RuntimeError, "nansum on CPU does not support complex inputs"),
        (lambda: torch.amax(torch.zeros(0, 3)), RuntimeError, "Expected reduction dim to be specified for input.numel"),
        (lambda: torch.var(X.long()), RuntimeError, "std and var only support floating point and complex dtypes"),
        (lambda: torch.isclose(X, X, rtol=-1), RuntimeError, "rtol must be greater than or equal to zero, but got -1"),
        (lambda: torch.cov(X, fweights=torch.ones(3)), RuntimeError, "expected fweights to have integral dtype"),
        (lambda: torch.trapezoid(X, torch.ones(2)), RuntimeError, "There must be one `x` value for each sample point"),
    ],
)
def test_refused(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_out_takes_the_strides_of_the_result():
    x = torch.arange(24.0).view(2, 3, 4).permute(2, 0, 1)
    assert torch.exp(x, out=torch.empty(0)).stride() == torch.exp(x).stride() == x.stride()


def test_masked():
    mask = X > 2
    assert torch.masked.logsumexp(X, mask=mask).item() == pytest.approx(6.44019, abs=1e-4)
    assert torch.masked.median(X, 0, mask=mask).tolist() == [4, 5, 3]
    assert torch.masked.argmax(X, 0, mask=mask).dtype == torch.float32
    assert torch.allclose(torch.masked.normalize(X, 2, 0, mask=mask)[:, 2], torch.tensor([0.4472, 0.8944]), atol=1e-4)
    assert torch.masked.prod(torch.tensor(3.0), 0).item() == 3
