"""The storage of a wrapper subclass has a size and no memory: reading or writing it raises."""

from __future__ import annotations

import pytest

import shim_torch as torch


class Wrapper(torch.Tensor):
    @staticmethod
    def __new__(cls, sizes):
        return torch.Tensor._make_wrapper_subclass(cls, sizes)

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return NotImplemented


@pytest.mark.parametrize(
    "use",
    [
        lambda s: s.clone(),
        lambda s: s.tolist(),
        lambda s: s[0],
        lambda s: s.__setitem__(0, 1),
        lambda s: bytes(s),
        lambda s: s.copy_(torch.UntypedStorage(24)),
        lambda s: torch.UntypedStorage(24).copy_(s),
    ],
)
def test_memory_that_is_not_there(use):
    storage = Wrapper((2, 3)).untyped_storage()
    assert storage.nbytes() == 24
    with pytest.raises(RuntimeError, match="invalid python storage|not allocated yet|doesn't have storage"):
        use(storage)
