"""``torch.distributed._functional_collectives``: collectives that give new tensors. They are done when they return."""

from __future__ import annotations

from typing import Any

from shim_torch import cat
from shim_torch._impl.distributed import functional
from shim_torch._impl.distributed.checks import one_process_only
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


def _with_gradient(function: Any, name: str) -> Any:
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if self.requires_grad:
            one_process_only(f"torch.distributed._functional_collectives.{name}: gradients")
        return function(self, *args, **kwargs)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = function.__doc__
    return call


all_gather_single, reduce_scatter_single = all_gather_tensor, reduce_scatter_tensor
all_gather_tensor_autograd = _with_gradient(all_gather_tensor, "all_gather_tensor_autograd")
reduce_scatter_tensor_autograd = _with_gradient(reduce_scatter_tensor, "reduce_scatter_tensor_autograd")
all_to_all_single_autograd = _with_gradient(all_to_all_single, "all_to_all_single_autograd")


def wait_tensor(tensor: Any) -> Any:
    """The tensor, once it is there: it is."""
    return tensor
