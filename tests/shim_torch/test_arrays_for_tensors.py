"""Arrays of others in the place of tensors: the error says what makes a tensor of them."""

import numpy as np
import pytest

import shim_torch as torch


class Exchanged:
    """An array of another library, as far as a refusal looks at it."""

    def __dlpack__(self, **options):
        raise AssertionError("a refusal exchanges nothing")


@pytest.mark.parametrize(
    ("array", "call"), [(np.ones(2), "torch.as_tensor"), (Exchanged(), "torch.from_dlpack")], ids=["NumPy", "DLPack"]
)
def test_an_array_in_the_place_of_a_tensor_says_what_to_call(array, call):
    after = rf", (not|but got) \S+; {call}\(array\) is a tensor over its memory$"
    with pytest.raises(TypeError, match=r"^linear\(\): argument 'input' \(position 1\) must be Tensor" + after):
        torch.nn.functional.linear(array, torch.ones(2, 2))
    with pytest.raises(TypeError, match=r"^expected Tensor as element 1 in argument 0" + after):
        torch.cat([torch.ones(2), array])
    with pytest.raises(TypeError, match=r"must be tuple of ints, not [\w.]+$"):
        torch.zeros(2).reshape(array)
