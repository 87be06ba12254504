"""Dtypes of bits and of integers of few bits: made, viewed and copied, and nothing else."""

import pytest

import shim_torch as torch


@pytest.mark.parametrize("name", ["uint4", "int1", "uint7", "bits8"])
def test_bare_integers_are_made_viewed_and_copied(name):
    dtype = getattr(torch, name)
    assert (repr(dtype), dtype.itemsize, dtype.is_signed) == (f"torch.{name}", 1, name == "int1")
    assert torch.zeros(3, dtype=dtype).view(torch.uint8).tolist() == [0, 0, 0]
    data = torch.tensor([1, 2, 3], dtype=torch.uint8)
    assert data.view(dtype).clone().view(torch.uint8).tolist() == [1, 2, 3]
    with pytest.raises((NotImplementedError, TypeError), match="not implemented|unsupported"):
        data.view(dtype) + 1
