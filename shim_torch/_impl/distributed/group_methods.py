"""The methods of a process group that backends have themselves: they take lists of tensors and options."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core


def _listed(tensors: Any) -> list[Any]:
    return [tensors] if isinstance(tensors, _core.Tensor) else list(tensors)


def _call(function: str, *args: Any, **kwargs: Any) -> Any:
    from shim_torch._impl.distributed import collectives, point_to_point

    found = getattr(collectives, function, None) or getattr(point_to_point, function)
    return found(*args, **kwargs)


def _op(options: Any) -> dict[str, Any]:
    op = getattr(options, "reduceOp", options)
    return {} if op is None else {"op": op}


class GroupMethods:
    """``group.allreduce([tensor])`` and its like; all are asynchronous."""

    def barrier(self, *_: Any, **__: Any) -> Any:
        """Waits for all processes."""
        return _call("barrier", self, async_op=True)

    def monitored_barrier(self, timeout: Any = None, wait_all_ranks: bool = False) -> None:
        """Waits for all processes; the first one says which did not come."""
        from shim_torch._impl.distributed.rooted import monitored_barrier

        monitored_barrier(self, timeout, wait_all_ranks)

    def allreduce(self, tensors: Any, opts: Any = None, *_: Any, **__: Any) -> Any:
        """The reduction of each tensor over all processes."""
        (tensor,) = _listed(tensors)
        return _call("all_reduce", tensor, group=self, async_op=True, **_op(opts))

    def allreduce_coalesced(self, tensors: Any, opts: Any = None) -> Any:
        """The same of several tensors."""
        return _call("all_reduce_coalesced", _listed(tensors), group=self, async_op=True, **_op(opts))

    def broadcast(self, tensors: Any, opts: Any = None, root: int | None = None, **_: Any) -> Any:
        """One process's tensor to all."""
        (tensor,) = _listed(tensors)
        return _call("broadcast", tensor, group=self, async_op=True, group_src=_root(opts, root))

    def reduce(self, tensors: Any, opts: Any = None, *_: Any, **__: Any) -> Any:
        """The reduction of each tensor at one process."""
        (tensor,) = _listed(tensors)
        root = getattr(opts, "rootRank", 0)
        return _call("reduce", tensor, group=self, async_op=True, group_dst=root, **_op(opts))

    def allgather(self, output_tensors: Any, input_tensors: Any, *_: Any, **__: Any) -> Any:
        """Every process's tensor to all."""
        (tensor,) = _listed(input_tensors)
        (outputs,) = output_tensors if not isinstance(output_tensors[0], _core.Tensor) else (output_tensors,)
        return _call("all_gather", outputs, tensor, group=self, async_op=True)

    def _allgather_base(self, output: Any, input: Any, *_: Any, **__: Any) -> Any:
        return _call("all_gather_into_tensor", output, input, group=self, async_op=True)

    def gather(self, output_tensors: Any, input_tensors: Any, opts: Any = None, *_: Any) -> Any:
        """Every process's tensor to one."""
        (tensor,) = _listed(input_tensors)
        outputs = output_tensors[0] if output_tensors else None
        return _call("gather", tensor, outputs, group=self, async_op=True, group_dst=_root(opts, None))

    def scatter(self, output_tensors: Any, input_tensors: Any, opts: Any = None, *_: Any) -> Any:
        """A tensor of one process to each."""
        (output,) = _listed(output_tensors)
        inputs = input_tensors[0] if input_tensors else None
        return _call("scatter", output, inputs, group=self, async_op=True, group_src=_root(opts, None))

    def reduce_scatter(self, output_tensors: Any, input_tensors: Any, opts: Any = None, *_: Any) -> Any:
        """A part of the reduction to each process."""
        (output,) = _listed(output_tensors)
        return _call("reduce_scatter", output, _listed(input_tensors[0]), group=self, async_op=True, **_op(opts))

    def _reduce_scatter_base(self, output: Any, input: Any, opts: Any = None, *_: Any) -> Any:
        return _call("reduce_scatter_tensor", output, input, group=self, async_op=True, **_op(opts))

    def alltoall(self, output_tensors: Any, input_tensors: Any, *_: Any, **__: Any) -> Any:
        """A tensor from and for each process."""
        return _call("all_to_all", list(output_tensors), list(input_tensors), group=self, async_op=True)

    def alltoall_base(
        self, output: Any, input: Any, output_split_sizes: Any = None, input_split_sizes: Any = None, *_: Any
    ) -> Any:
        """Rows from and for each process."""
        sizes = [list(given) if given else None for given in (output_split_sizes, input_split_sizes)]
        return _call("all_to_all_single", output, input, *sizes, group=self, async_op=True)

    def send(self, tensors: Any, dstRank: int, tag: int = 0) -> Any:
        """A message to a process."""
        (tensor,) = _listed(tensors)
        return _call("isend", tensor, group=self, tag=tag, group_dst=dstRank)

    def recv(self, tensors: Any, srcRank: int, tag: int = 0) -> Any:
        """A message of a process."""
        (tensor,) = _listed(tensors)
        return _call("irecv", tensor, group=self, tag=tag, group_src=srcRank)

    all_gather_single, reduce_scatter_single, all_to_all_single = _allgather_base, _reduce_scatter_base, alltoall_base


def _root(options: Any, root: int | None) -> int:
    return root if root is not None else getattr(options, "rootRank", 0)
