"""torch.einsum where sizes of one wait for a later operand."""

import numpy as np
import pytest

import shim_torch as torch


@pytest.mark.parametrize(
    ("equation", "sizes"),
    [
        ("ia,ib,a->iab", [(1, 3), (6, 2), (3,)]),
        ("ia,ib,ia->ba", [(1, 3), (6, 2), (6, 1)]),
        ("ab,bc,ad->cd", [(1, 3), (3, 2), (5, 4)]),
        ("...a,b,...b->...ab", [(1, 3), (2,), (4, 2)]),
        ("ab,c,ab->c", [(1, 1), (2,), (4, 5)]),
    ],
)
def test_a_size_of_one_is_broadcast_by_a_later_operand(equation, sizes):
    generator = np.random.default_rng(0)
    arrays = [generator.standard_normal(size) for size in sizes]
    found = torch.einsum(equation, *map(torch.from_numpy, arrays))
    np.testing.assert_allclose(found.numpy(), np.einsum(equation, *arrays), rtol=1e-12)
