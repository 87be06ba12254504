"""Products of Householder reflections and QR by them: against NumPy, gradients, shapes refused."""

import shim_torch as torch

ONES = torch.ones


def test_products_of_no_reflections_still_have_a_gradient():
    x = torch.ones(3, 2, requires_grad=True)
    q = torch.linalg.householder_product(x, ONES(0))
    assert q.tolist() == [[1, 0], [0, 1], [0, 0]]
    q.sum().backward()
    assert x.grad.tolist() == [[0, 0]] * 3
