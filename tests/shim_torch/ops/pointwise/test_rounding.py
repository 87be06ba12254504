"""Rounding, signs and absolute values: dtypes that PyTorch refuses, in its words."""

from __future__ import annotations

import pytest

import shim_torch as torch

BOOLS, COMPLEX = torch.tensor([True]), torch.tensor([1.5 + 2j])

REFUSED = [
    (torch.floor, COMPLEX, "floor is not supported for complex inputs"),
    (torch.ceil, BOOLS, "\"ceil_vml_cpu\" not implemented for 'Bool'"),
    (torch.trunc, COMPLEX, "trunc is not supported for complex inputs"),
    (torch.round, COMPLEX, "\"round_vml_cpu\" not implemented for 'ComplexFloat'"),
    (torch.frac, torch.tensor([1]), "\"frac_cpu\" not implemented for 'Long'"),
    (torch.abs, BOOLS, "\"abs_cpu\" not implemented for 'Bool'"),
    (torch.sign, COMPLEX, "Unlike NumPy, torch.sign is not intended to support complex numbers"),
    (torch.signbit, COMPLEX, "signbit is not implemented for complex tensors."),
    (torch.bitwise_not, torch.tensor([1.0]), "\"bitwise_not_cpu\" not implemented for 'Float'"),
]


@pytest.mark.parametrize(("function", "x", "text"), REFUSED, ids=[f.__name__ for f, *_ in REFUSED])
def test_refused_dtypes(function, x, text):
    with pytest.raises(NotImplementedError) as raised:
        function(x)
    assert text in str(raised.value)


def test_refused_with_a_runtime_error():
    for call, text in ((lambda: -BOOLS, "Negation, the `-` operator"), (lambda: +BOOLS, "The `+` operator, on a bool")):
        with pytest.raises(RuntimeError, match=text.replace("+", r"\+")) as raised:
            call()
        assert type(raised.value) is RuntimeError


def test_meta_tensors_know_no_kernels():
    assert torch.frac(torch.tensor([1], device="meta")).dtype == torch.int64


def test_values():
    x = torch.tensor([-2.5, -0.5, 1.5, 2.5])
    assert torch.round(x).tolist() == [-2.0, -0.0, 2.0, 2.0] and torch.fix(x).tolist() == [-2.0, -0.0, 1.0, 2.0]
    assert torch.frac(x).tolist() == [-0.5, -0.5, 0.5, 0.5] and torch.sign(x).tolist() == [-1.0, -1.0, 1.0, 1.0]
    assert torch.sgn(torch.tensor([3 + 4j])).tolist() == [0.6000000238418579 + 0.800000011920929j]
