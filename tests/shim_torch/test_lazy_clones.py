"""torch._lazy_clone: tensors over one memory until one of them is written to."""

import pytest

import shim_torch as torch
from shim_torch import _C


def pair():
    t = torch.arange(6.0).view(2, 3)
    return t, t._lazy_clone()


def test_a_lazy_clone_shares_memory_until_one_is_written_to():
    t, clone = pair()
    view, address = clone[1], _C._data_address(t)
    assert _C._is_cow_tensor(t) and _C._is_cow_tensor(clone) and _C._is_cow_tensor(view)
    assert _C._data_address(clone) == address and _C._storage_address(clone) != _C._storage_address(t)
    assert (t + clone).tolist() == [[0, 2, 4], [6, 8, 10]] and _C._is_cow_tensor(t)
    view += 10
    assert clone.tolist() == [[0, 1, 2], [13, 14, 15]] and t.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert not _C._is_cow_tensor(view) and _C._is_cow_tensor(t)
    t[0] = 7  # the last over the memory keeps it
    assert _C._data_address(t) == address and not _C._is_cow_tensor(t)
    assert t.tolist() == [[7, 7, 7], [3, 4, 5]]


WRITES = {
    "in place": lambda t: t.mul_(0),
    "out": lambda t: torch.mul(t, 0, out=t),
    "fill": lambda t: t.zero_(),
    "copy": lambda t: t.copy_(torch.zeros(2, 3)),
    "a part": lambda t: t[:].copy_(torch.zeros(3)),
    "an item": lambda t: t.__setitem__(slice(None), 0),
    "indices": lambda t: t.index_put_((torch.tensor([0, 1]),), torch.zeros(())),
    "several": lambda t: torch._foreach_mul_([t], 0),
    "an array": lambda t: t.numpy().fill(0),
    "bytes": lambda t: t.untyped_storage().fill_(0),
    "byte by byte": lambda t: [t.untyped_storage().__setitem__(i, 0) for i in range(24)],
    "its storage": lambda t: t.untyped_storage().copy_(torch.zeros(6).untyped_storage()),
    "DLPack": lambda t: torch.from_dlpack(t).zero_(),
    "init": lambda t: torch.nn.init.zeros_(t),
}


@pytest.mark.parametrize("how", WRITES)
@pytest.mark.parametrize("which", [0, 1])
def test_writes_do_not_reach_the_others(how, which):
    tensors = pair()
    WRITES[how](tensors[which])
    assert tensors[which].tolist() == [[0, 0, 0], [0, 0, 0]]
    assert tensors[1 - which].tolist() == [[0, 1, 2], [3, 4, 5]]


def test_the_clone_of_a_clone_and_clones_that_outlive_their_tensor():
    t, clone = pair()
    third = torch._lazy_clone(clone)
    del t
    third.add_(1)
    assert clone.tolist() == [[0, 1, 2], [3, 4, 5]] and third.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert _C._is_cow_tensor(clone)  # until something asks for its memory
    assert clone.data_ptr() and not _C._is_cow_tensor(clone)


def test_gradients_flow_through_lazy_clones():
    a = torch.ones(3, requires_grad=True)
    b = a._lazy_clone()
    assert b.grad_fn.name() == "LazyCloneBackward0"
    (b * 2).sum().backward()
    assert a.grad.tolist() == [2, 2, 2]


def test_no_memory_is_got_within_a_parallel_loop():
    t, _ = pair()
    with pytest.raises(
        RuntimeError, match="Materializing a storage in the loop function of at::parallel_for is forbidden"
    ):
        torch._test_parallel_materialize(t, 10, True)
    assert torch._test_parallel_materialize(t, 1, True) is t
    own = torch.ones(3)
    assert torch._test_parallel_materialize(own, 10) is own
