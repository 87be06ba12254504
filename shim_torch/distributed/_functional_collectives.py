"""``torch.distributed._functional_collectives``: collectives that give new tensors. In a group of one each is a copy."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch.distributed.distributed_c10d import get_world_size


class AsyncCollectiveTensor(_core.Tensor):  # type: ignore[misc]
    """The result of a collective that is still running; there are none."""

    def __new__(cls, *_: Any, **__: Any) -> Any:
        raise NotImplementedError(
            "torch.distributed._functional_collectives.AsyncCollectiveTensor is not supported by shim-torch"
        )


def _copy(tensor: Any, group: Any) -> Any:
    get_world_size(group if not isinstance(group, (str, list, tuple)) else None)  # an error without a group
    return tensor.clone()


def all_reduce(self: Any, reduceOp: str, group: Any, tag: str = "") -> Any:
    """The sum (or mean, largest ...) over the group: a copy."""
    return _copy(self, group)


def all_gather_tensor(self: Any, gather_dim: int, group: Any, tag: str = "") -> Any:
    """The tensors of the group joined along a dim: a copy."""
    return _copy(self, group)


def reduce_scatter_tensor(self: Any, reduceOp: str, scatter_dim: int, group: Any, tag: str = "") -> Any:
    """This process's part of the sum: a copy."""
    return _copy(self, group)


def all_to_all_single(self: Any, output_split_sizes: Any, input_split_sizes: Any, group: Any, tag: str = "") -> Any:
    """The parts that are for this process: a copy."""
    return _copy(self, group)


def broadcast(self: Any, src: int, group: Any, tag: str = "") -> Any:
    """The tensor of one process: a copy."""
    return _copy(self, group)


all_gather_single, reduce_scatter_single = all_gather_tensor, reduce_scatter_tensor
all_gather_tensor_autograd, reduce_scatter_tensor_autograd = all_gather_tensor, reduce_scatter_tensor
all_to_all_single_autograd = all_to_all_single


def wait_tensor(tensor: Any) -> Any:
    """The tensor, once it is there: it is."""
    return tensor
