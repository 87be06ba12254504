"""Writes to memory that overlaps itself or what is read are refused, with PyTorch's texts."""

import pytest

import shim_torch as torch

SHARED = "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory location"
EXPANDED = "unsupported operation: more than one element of the written-to tensor refers to a single memory location"


@pytest.mark.parametrize(
    "write",
    [
        lambda x: x[1:].copy_(x[:-1]),
        lambda x: x[1:].add_(x[:-1]),
        lambda x: x[1:].addcmul_(x[:-1], x[1:]),
        lambda x: torch.sin(x[:-1], out=x[1:]),
        lambda x: torch.cumsum(x[:-1], 0, out=x[1:]),
        lambda x: x[:4].view(2, 2).t().copy_(x[:4].view(2, 2)),
        lambda x: x.index_add_(0, torch.tensor([0, 1]), x[:2]),
        lambda x: x.index_copy_(0, torch.tensor([0, 1]), x[:2]),
        lambda x: x.index_put_((torch.tensor([0, 1]),), x[:2]),
        lambda x: x.scatter_(0, torch.tensor([0, 1]), x),
        lambda x: x.put_(torch.tensor([0, 1]), x[:2]),
    ],
)
def test_what_is_read_may_not_be_written(write):
    x = torch.arange(8.0)
    with pytest.raises(RuntimeError, match=SHARED):
        write(x)
    assert x.tolist() == list(range(8))


def test_the_same_elements_may():
    x = torch.arange(4.0)
    x.add_(x)
    torch.mul(x, 2, out=x)
    x[:2].add_(x[2:])
    assert x.tolist() == [8, 16, 8, 12]


@pytest.mark.parametrize("name", ["normal_", "uniform_", "bernoulli_", "exponential_"])
def test_expanded_tensors_are_not_drawn(name):
    with pytest.raises(RuntimeError, match=EXPANDED):
        getattr(torch.zeros(1).expand(3), name)()


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("index_fill_", lambda x: x.index_fill_(0, torch.tensor([1]), 2.0)),
        ("index_put_", lambda x: x.index_put_((torch.tensor([1]),), torch.tensor([2.0]))),
        ("masked_fill_", lambda x: x.masked_fill_(torch.tensor([True, True, True]), 2.0)),
    ],
)
def test_some_only_warn_of_expanded_tensors(name, write):
    x = torch.zeros(1).expand(3)
    with pytest.warns(UserWarning, match=f"Use of {name} on expanded tensors is deprecated"):
        write(x)


def test_filling_expanded_tensors():
    x = torch.ones(1).expand(3)
    assert x.fill_(5).tolist() == [5, 5, 5]
    assert x.zero_().tolist() == [0, 0, 0]


def test_debug_has_internal_overlap():
    assert torch._debug_has_internal_overlap(torch.zeros(10).as_strided((2, 1, 5), (1, 0, 2))) == 0
    assert torch._debug_has_internal_overlap(torch.zeros(1, 3).expand(4, 3)) == 1
    assert torch._debug_has_internal_overlap(torch.zeros(40).as_strided((2, 1, 5), (10, 0, 2))) == 2


@pytest.mark.parametrize(
    "write",
    [
        lambda x: torch.masked_select(x, x > 0, out=x),
        lambda x: torch.kthvalue(x, 2, out=(x, torch.empty((), dtype=torch.int64))),
    ],
)
def test_results_do_not_take_the_place_of_what_is_still_read(write):
    with pytest.raises(RuntimeError, match="unsupported operation: some elements of the input tensor"):
        write(torch.tensor([1.0, -2.0, 3.0]))
