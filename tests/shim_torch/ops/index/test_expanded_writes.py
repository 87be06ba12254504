"""Writes at indices of an expanded tensor: elements that share memory do not write each other back."""

import pytest

import shim_torch as torch

pytestmark = pytest.mark.filterwarnings("ignore:Use of")
ROWS, MASK = torch.tensor([0, 0]), torch.tensor([True, False])


def expanded():
    return torch.arange(4.0).expand(2, 3, 4)


@pytest.mark.parametrize(
    ("key", "row"),
    [
        (MASK, [7, 7, 7, 7]),
        (ROWS, [7, 7, 7, 7]),
        ((slice(None), torch.tensor([0, 2]), torch.tensor([1, 3])), [0, 7, 2, 7]),
        ((torch.tensor([0]), slice(None), torch.tensor([1, 2])), [0, 7, 7, 3]),
        ((MASK, 0), [7, 7, 7, 7]),
    ],
)
def test_what_is_written_stays(key, row):
    x = expanded()
    x[key] = 7
    assert x.tolist() == [[row] * 3] * 2


def test_sums_of_all_that_share_a_place():
    x = expanded()
    x.index_put_((torch.tensor([1, 0]),), torch.tensor(9.0), accumulate=True)
    assert x[0, 0].tolist() == [54, 55, 56, 57]


def test_it_warns():
    with pytest.warns(UserWarning, match="Use of index_put_ on expanded tensors is deprecated"):
        expanded().index_put_((ROWS,), torch.tensor(1.0))


def test_indices_of_no_dims():
    for key in (-1, 5):
        with pytest.raises(IndexError, match=f"index {key} is out of bounds for dimension 0 with size 0"):
            torch.tensor(3.0)[key]
    with pytest.raises(IndexError, match="invalid index of a 0-dim tensor"):
        torch.tensor(3.0)[0]
