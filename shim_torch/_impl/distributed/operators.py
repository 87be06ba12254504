"""``torch.ops._c10d_functional`` and ``c10d_functional``: collectives that give new tensors, for groups of one process."""

from __future__ import annotations

from typing import Any

from shim_torch.distributed.distributed_c10d import Work
from shim_torch.library import Library

__all__: list[str] = []


def _copy(input: Any, *_: Any) -> Any:
    return input.clone()


def _same(tensor: Any, *_: Any) -> Any:
    return tensor


def _copies(inputs: Any, *_: Any) -> Any:
    return [x.clone() for x in inputs]


def _gathered(input: Any, group_size: int, *_: Any) -> Any:
    if group_size != 1:
        raise NotImplementedError(
            "torch.ops._c10d_functional.all_gather_into_tensor over several processes is not supported by shim-torch"
        )
    return input.clone()


def _broadcast(tensors: Any, *_: Any) -> Any:
    return list(tensors), Work()


def _scatter(output_tensors: Any, input_tensors: Any, *_: Any) -> Any:
    for out, parts in zip(output_tensors, input_tensors, strict=True):
        out.copy_(parts[0])
    return list(output_tensors), Work()


_NEW = Library("_c10d_functional", "FRAGMENT")
_OLD = Library("c10d_functional", "FRAGMENT")
_C10D = Library("c10d", "FRAGMENT")
_CLASS = "__torch__.torch.classes.c10d."
_TAIL = f"{_CLASS}ProcessGroup process_group, int root_rank"
_RESULT = f"bool async_op=True, int timeout=-1) -> (Tensor[], {_CLASS}Work)"
_GROUP = "str tag, int[] ranks, int group_size"
for _library, _schema, _function in (
    (_NEW, "all_reduce(Tensor input, str reduce_op, Any group_name) -> Tensor", _copy),
    (_NEW, "all_reduce_(Tensor(a!) input, str reduce_op, Any group_name) -> Tensor(a!)", _same),
    (_NEW, "all_reduce_coalesced(Tensor[] inputs, str reduce_op, Any group_name) -> Tensor[]", _copies),
    (_NEW, "all_gather_into_tensor(Tensor input, int group_size, Any group_name) -> Tensor", _gathered),
    (_NEW, "reduce_scatter_tensor(Tensor input, str reduce_op, int group_size, Any group_name) -> Tensor",
     lambda input, op, size, name: _gathered(input, size)),
    (_NEW, "all_to_all_single(Tensor input, SymInt[] output_split_sizes, SymInt[] input_split_sizes, Any group_name) -> Tensor",
     _copy),
    (_NEW, "broadcast(Tensor input, int src, Any group_name) -> Tensor", _copy),
    (_NEW, "wait_tensor(Tensor tensor) -> Tensor", _same),
    (_NEW, "_wrap_tensor_autograd(Tensor input) -> Tensor", _same),
    (_OLD, f"all_reduce(Tensor self, str reduceOp, {_GROUP}) -> Tensor", _copy),
    (_OLD, f"all_gather_into_tensor(Tensor shard, {_GROUP}) -> Tensor",
     lambda shard, tag, ranks, size: _gathered(shard, size)),
    (_OLD, f"reduce_scatter_tensor(Tensor input, str reduceOp, {_GROUP}) -> Tensor",
     lambda input, op, tag, ranks, size: _gathered(input, size)),
    (_OLD, "wait_tensor(Tensor self) -> Tensor", _same),
    (_C10D, f"broadcast_(Tensor[] tensors, {_TAIL}, int root_tensor, {_RESULT}", _broadcast),
    (_C10D, f"scatter_(Tensor[] output_tensors, Tensor[][] input_tensors, {_TAIL}, {_RESULT}", _scatter),
):  # fmt: skip
    _library.define(_schema)
    _library.impl(_schema.partition("(")[0], _function, "CompositeExplicitAutograd")
