"""``torch.distributed._functional_collectives``: collectives that give new tensors. They are done when they return."""

from __future__ import annotations

from typing import Any

from shim_torch import cat
from shim_torch._impl.distributed import functional
from shim_torch._impl.native import _core


class AsyncCollectiveTensor(_core.Tensor):  # type: ignore[misc]
    """The result of a collective that is still running; there are none."""

    def __new__(cls, *_: Any, **__: Any) -> Any:
        raise NotImplementedError(
            "torch.distributed._functional_collectives.AsyncCollectiveTensor is not supported by shim-torch"
        )


def all_reduce(self: Any, reduceOp: str, group: Any, tag: str = "") -> Any:
    """The sum (or avg, max ...) over the group, a new tensor."""
    return functional.all_reduce(self, reduceOp, functional.group_of(group))


def all_gather_tensor(self: Any, gather_dim: int, group: Any, tag: str = "") -> Any:
    """The tensors of the group joined along a dim."""
    group = functional.group_of(group)
    whole = functional.all_gather(self, group)
    return whole if gather_dim == 0 or group.size() == 1 else cat(whole.chunk(group.size(), 0), gather_dim)


def reduce_scatter_tensor(self: Any, reduceOp: str, scatter_dim: int, group: Any, tag: str = "") -> Any:
    """This process's part of the sum along a dim."""
    group = functional.group_of(group)
    if self.shape[scatter_dim] % group.size():
        raise AssertionError(
            f"input dimension {scatter_dim} ({self.shape[scatter_dim]}) must be a multiple of {group.size()}"
        )
    whole = self if scatter_dim == 0 or group.size() == 1 else cat(self.chunk(group.size(), scatter_dim), 0)
    return functional.reduce_scatter(whole, reduceOp, group)


def all_to_all_single(self: Any, output_split_sizes: Any, input_split_sizes: Any, group: Any, tag: str = "") -> Any:
    """The rows that are for this process."""
    return functional.all_to_all(self, output_split_sizes, input_split_sizes, functional.group_of(group))


def broadcast(self: Any, src: int, group: Any, tag: str = "") -> Any:
    """The tensor of one process, a new tensor."""
    return functional.broadcast(self, src, functional.group_of(group))


def permute_tensor(self: Any, src_dst: list[int], group: Any, tag: str = "") -> Any:
    """The tensor of the process that sends to this one: process m's goes to process ``src_dst[m]``."""
    group = functional.group_of(group)
    rows, mine = self.shape[0], group.rank()
    to = [rows * (rank == src_dst[mine]) for rank in range(group.size())]
    return functional.all_to_all(self, [rows * (target == mine) for target in src_dst], to, group)


def all_reduce_coalesced(self: Any, reduceOp: str, group: Any, tag: str = "") -> list[Any]:
    """``all_reduce`` of each."""
    return [all_reduce(tensor, reduceOp, group) for tensor in self]


def all_gather_into_tensor_coalesced(self: Any, group: Any, tag: str = "") -> list[Any]:
    """``all_gather_tensor`` of each, along the first dim."""
    return [all_gather_tensor(tensor, 0, group) for tensor in self]


def reduce_scatter_tensor_coalesced(inputs: Any, reduceOp: str, scatter_dim: Any, group: Any, tag: str = "") -> Any:
    """``reduce_scatter_tensor`` of each, along its dim."""
    return [reduce_scatter_tensor(x, reduceOp, dim, group) for x, dim in zip(inputs, scatter_dim, strict=True)]


# Gradients come with the others too; PyTorch's names for them are older than that.
all_gather_tensor_autograd = all_gather_single_autograd = all_gather_single = all_gather_tensor
reduce_scatter_tensor_autograd = reduce_scatter_single_autograd = reduce_scatter_single = reduce_scatter_tensor
all_gather_single_coalesced = all_gather_into_tensor_coalesced
reduce_scatter_single_coalesced = reduce_scatter_tensor_coalesced
all_to_all_single_autograd = all_to_all_single


def wait_tensor(tensor: Any) -> Any:
    """The tensor, once it is there: it is."""
    return tensor
