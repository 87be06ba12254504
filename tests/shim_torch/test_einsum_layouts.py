"""How results and gradients of ``einsum`` lie in memory, for operands that are transposed."""

import numpy as np
import pytest

import shim_torch as torch

CASES = [  # equation, how the operands' dims lie, strides of the result and of the gradients
    ("ij,jk->ik", (True, True), (5, 1), [(4, 1), (5, 1)]),
    ("ij,jk->ki", (True, False), (3, 1), [(1, 3), (1, 4)]),
    ("ij,ij->ij", (True, True), (1, 3), [(4, 1), (4, 1)]),
    ("ij,b->ijb", (True, False), (2, 6, 1), [(4, 1), (1,)]),
]

SIZES = dict(zip("abcde", range(2, 7), strict=True))
STRIDES = {  # of results of contiguous operands, as PyTorch 2.13 has them
    "edc->cd": (5, 1),
    "b,cbe->eb": (3, 1),
    "dac,d->ad": (5, 1),
    "dc,abc->bda": (2, 6, 1),
    "cde,dce->ec": (4, 1),
    "ec,bed->dbc": (12, 4, 1),
    "ab,d,ed->eba": (6, 2, 1),
    "eda,de,b->de": (6, 1),
    "c,ace,aed->adc": (20, 4, 1),
    "ecb,b->ec": (4, 1),
    "cb,ca": (3, 1),
    "ac,c,ecd->da": (1, 5),
    "ced,acb->be": (1, 3),
}


@pytest.mark.parametrize("equation, strides", STRIDES.items())
def test_strides_of_results(equation, strides):
    operands = [torch.rand([SIZES[n] for n in names]) for names in equation.split("->")[0].split(",")]
    found = torch.einsum(equation, *operands)
    assert found.stride() == strides
    doubles = [t.double().numpy() for t in operands]
    exact = np.einsum(equation, *doubles)
    torch.testing.assert_close(found, torch.from_numpy(exact).float())


@pytest.mark.parametrize("equation, transposed, result, gradients", CASES)
def test_layouts(equation, transposed, result, gradients):
    sizes = {"i": 3, "j": 4, "k": 5, "b": 2}
    operands = []
    for names, turned in zip(equation.split("->")[0].split(","), transposed, strict=True):
        shape = [sizes[n] for n in names]
        t = torch.rand(shape[::-1]).mT if turned else torch.rand(shape)
        operands.append(t.requires_grad_())
    found = torch.einsum(equation, *operands)
    assert found.stride() == result
    g = torch.rand(found.shape)
    grads = torch.autograd.grad(found, operands, g)
    assert [x.stride() for x in grads] == gradients
    copies = [t.detach().contiguous().requires_grad_() for t in operands]
    torch.testing.assert_close(torch.einsum(equation, *copies), found)
    torch.testing.assert_close(torch.autograd.grad(torch.einsum(equation, *copies), copies, g), grads)
