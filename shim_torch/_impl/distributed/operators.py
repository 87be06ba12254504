"""``torch.ops._c10d_functional`` and ``c10d_functional``: collectives that give new tensors."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.distributed import collectives, functional, rooted
from shim_torch._impl.distributed.work import Work
from shim_torch.library import Library

__all__: list[str] = []


def _same(tensor: Any, *_: Any) -> Any:
    return tensor


def _all_reduce(input: Any, op: str, group: Any) -> Any:
    return functional.all_reduce(input, op, functional.group_of(group))


def _all_reduce_(input: Any, op: str, group: Any) -> Any:
    collectives.all_reduce(input, functional.reduction(op), functional.group_of(group))
    return input


def _all_reduce_coalesced(inputs: Any, op: str, group: Any) -> Any:
    return [_all_reduce(x, op, group) for x in inputs]


def _sized(group: Any, size: int) -> Any:
    group = functional.group_of(group)
    if group.size() != size:
        raise ValueError(f"torch.ops._c10d_functional: the group has {group.size()} processes, not {size}")
    return group


def _gather(input: Any, size: int, group: Any) -> Any:
    return functional.all_gather(input, _sized(group, size))


def _reduce_scatter(input: Any, op: str, size: int, group: Any) -> Any:
    return functional.reduce_scatter(input, op, _sized(group, size))


def _all_to_all(input: Any, output_sizes: Any, input_sizes: Any, group: Any) -> Any:
    return functional.all_to_all(input, list(output_sizes), list(input_sizes), functional.group_of(group))


def _broadcast_new(input: Any, src: int, group: Any) -> Any:
    return functional.broadcast(input, src, functional.group_of(group))


def _broadcast(tensors: Any, group: Any, root: int, *_: Any) -> Any:
    for tensor in tensors:
        collectives.broadcast(tensor, group=functional.group_of(group), group_src=root)
    return list(tensors), Work()


def _scatter(output_tensors: Any, input_tensors: Any, group: Any, root: int, *_: Any) -> Any:
    for out, parts in zip(output_tensors, input_tensors, strict=True):
        rooted.scatter(out, parts, group=functional.group_of(group), group_src=root)
    return list(output_tensors), Work()


_NEW = Library("_c10d_functional", "FRAGMENT")
_OLD = Library("c10d_functional", "FRAGMENT")
_C10D = Library("c10d", "FRAGMENT")
_CLASS = "__torch__.torch.classes.c10d."
_TAIL = f"{_CLASS}ProcessGroup process_group, int root_rank"
_RESULT = f"bool async_op=True, int timeout=-1) -> (Tensor[], {_CLASS}Work)"
_GROUP = "str tag, int[] ranks, int group_size"
for _library, _schema, _function in (
    (_NEW, "all_reduce(Tensor input, str reduce_op, Any group_name) -> Tensor", _all_reduce),
    (_NEW, "all_reduce_(Tensor(a!) input, str reduce_op, Any group_name) -> Tensor(a!)", _all_reduce_),
    (_NEW, "all_reduce_coalesced(Tensor[] inputs, str reduce_op, Any group_name) -> Tensor[]", _all_reduce_coalesced),
    (_NEW, "all_gather_into_tensor(Tensor input, int group_size, Any group_name) -> Tensor", _gather),
    (_NEW, "reduce_scatter_tensor(Tensor input, str reduce_op, int group_size, Any group_name) -> Tensor",
     _reduce_scatter),
    (_NEW, "all_to_all_single(Tensor input, SymInt[] output_split_sizes, SymInt[] input_split_sizes, Any group_name) -> Tensor",
     _all_to_all),
    (_NEW, "broadcast(Tensor input, int src, Any group_name) -> Tensor", _broadcast_new),
    (_NEW, "wait_tensor(Tensor tensor) -> Tensor", _same),
    (_NEW, "_wrap_tensor_autograd(Tensor input) -> Tensor", _same),
    (_OLD, f"all_reduce(Tensor self, str reduceOp, {_GROUP}) -> Tensor",
     lambda self, op, tag, ranks, size: _all_reduce(self, op, ranks)),
    (_OLD, f"all_gather_into_tensor(Tensor shard, {_GROUP}) -> Tensor",
     lambda shard, tag, ranks, size: _gather(shard, size, ranks)),
    (_OLD, f"reduce_scatter_tensor(Tensor input, str reduceOp, {_GROUP}) -> Tensor",
     lambda input, op, tag, ranks, size: _reduce_scatter(input, op, size, ranks)),
    (_OLD, "wait_tensor(Tensor self) -> Tensor", _same),
    (_C10D, f"broadcast_(Tensor[] tensors, {_TAIL}, int root_tensor, {_RESULT}", _broadcast),
    (_C10D, f"scatter_(Tensor[] output_tensors, Tensor[][] input_tensors, {_TAIL}, {_RESULT}", _scatter),
):  # fmt: skip
    _library.define(_schema)
    # What is new has gradients by the functions that it is made of; what is written to has none.
    _kind = "CompositeExplicitAutograd" if _library is _C10D or "a!" in _schema else "CompositeImplicitAutograd"
    _library.impl(_schema.partition("(")[0], _function, _kind)
