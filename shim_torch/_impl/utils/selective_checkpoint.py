"""Selective checkpointing: what of a region is kept, what is computed again, operator by operator."""

from __future__ import annotations

import functools
import itertools
from collections import defaultdict
from collections.abc import Callable, Iterator
from enum import IntEnum
from typing import Any

from shim_torch._impl.native import _core
from shim_torch.utils._python_dispatch import TorchDispatchMode
from shim_torch.utils._pytree import tree_map


class CheckpointPolicy(IntEnum):
    """What selective checkpointing does with an operator's result."""

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4


class SelectiveCheckpointContext:
    """What a selective checkpoint policy is given: the operator's result, and whether this is the second pass."""

    def __init__(self, *, is_recompute: bool, op_output: Any = None) -> None:
        self.is_recompute, self.op_output = is_recompute, op_output


class _Kept:
    """A result that was kept, and its version then."""

    def __init__(self, value: Any) -> None:
        self.val = value.detach() if isinstance(value, _core.TensorBase) else value  # its graph would lead back here
        self.version = value._version if isinstance(value, _core.TensorBase) else None

    def get(self, changes_allowed: bool) -> Any:
        if self.version is not None and not changes_allowed and self.val._version != self.version:
            raise RuntimeError("Tensor cached during selective activation checkpoint has been mutated")
        return self.val


_COMPUTED_AGAIN, _HANDED_OUT = object(), object()
SAC_IGNORED_OPS: set[Any] = set()  # operators that are never asked about, besides these
_IGNORED = {"aten::" + name for name in (
    "detach", "dim", "is_contiguous", "is_non_overlapping_and_dense", "is_strides_like_format", "numel", "size",
    "storage_offset", "stride", "sym_numel", "sym_size", "sym_storage_offset", "sym_stride",
)} | {"prim::device"}  # fmt: skip
_MISMATCH = (
    "This can happen if the operations in the checkpointed region are nondeterministic or depend on global state that "
    "changed between forward and backward."
)


def _saved(policy: Any) -> bool:
    return policy if isinstance(policy, bool) else policy in (CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE)


def _ignored(func: Any) -> bool:
    return func._qualified_op_name in _IGNORED or func in SAC_IGNORED_OPS  # saving detaches; the rest is metadata


class _ByCall(TorchDispatchMode):
    """What both passes share: calls of an operator have numbers; ``storage[operator][call]`` says what became of each."""

    def __init__(self, storage: Any) -> None:
        super().__init__()
        self.storage = storage
        self.calls: dict[Any, Iterator[int]] = defaultdict(itertools.count)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        run = functools.partial(func, *args, **(kwargs or {}))
        return run() if _ignored(func) else self._result(run, next(self.calls[func]))

    def _result(self, run: functools.partial[Any], number: int) -> Any:
        raise NotImplementedError


class _CachingTorchDispatchMode(_ByCall):
    """The first pass: keeps the results that the policy wants."""

    def __init__(self, policy_fn: Any, storage: Any, ac_graph_id: Any = None) -> None:
        super().__init__(storage)
        self.policy_fn = policy_fn

    def _result(self, run: functools.partial[Any], number: int) -> Any:
        result = run()
        context = SelectiveCheckpointContext(is_recompute=False, op_output=result)
        wanted = _saved(self.policy_fn(context, run.func, *run.args, **run.keywords))
        self.storage[run.func][number] = tree_map(_Kept, result) if wanted else _COMPUTED_AGAIN
        return result


class _CachedTorchDispatchMode(_ByCall):
    """The second pass: gives back what was kept."""

    def __init__(self, policy_fn: Any, storage: Any, allow_cache_entry_mutation: bool = False) -> None:
        super().__init__(storage)
        self.allow_cache_entry_mutation = allow_cache_entry_mutation

    def __enter__(self) -> Any:
        self.calls.clear()
        return super().__enter__()

    def _result(self, run: functools.partial[Any], number: int) -> Any:
        entries = self.storage.get(run.func, {})
        if number not in entries:
            which = f" invocation index {number}" if entries else ""
            raise RuntimeError(f"{run.func}{which} encountered during backward but not found in storage. {_MISMATCH}")
        if entries[number] is _COMPUTED_AGAIN:
            return run()
        kept, entries[number] = entries[number], _HANDED_OUT
        if kept is _HANDED_OUT:
            raise RuntimeError(
                "Trying to backward an extra time. You are only allowed to backward once on any region computed under selective "
                "activation checkpoint."
            )
        return tree_map(lambda x: x.get(self.allow_cache_entry_mutation), kept)


def _policy(given: Any) -> Callable[..., Any]:
    """A policy: itself, or that of a list of the overloads to keep."""
    from shim_torch._ops import OpOverload, OpOverloadPacket

    if not isinstance(given, list):
        if callable(given):
            return given  # type: ignore[no-any-return]
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    for op in (op for op in given if not isinstance(op, OpOverload)):
        advice = (
            "Please update the OpOverloadPacket to a specific OpOverload. For example, if you have "
            "`torch.ops.aten.mm`, change it to `torch.ops.aten.mm.default`."
        )
        raise ValueError(
            f"Expected op in `op_list` to be an OpOverload but got: {op} of type {type(op)}. "
            + advice * isinstance(op, OpOverloadPacket)
        )
    return lambda context, op, *_, **__: (
        CheckpointPolicy.MUST_SAVE if op in given else CheckpointPolicy.PREFER_RECOMPUTE
    )


def create_selective_checkpoint_contexts(policy_fn_or_list: Any, allow_cache_entry_mutation: bool = False) -> Any:
    """The two contexts of a checkpoint whose policy chooses by operator: for ``checkpoint(..., context_fn=...)``.

    policy: a function (context, operator, *args, **kwargs) -> CheckpointPolicy, or a list of the overloads to keep.
    """
    policy, storage = _policy(policy_fn_or_list), defaultdict(dict)  # type: ignore[var-annotated]
    second = _CachedTorchDispatchMode(policy, storage, allow_cache_entry_mutation)
    return _CachingTorchDispatchMode(policy, storage), second


for _object in (CheckpointPolicy, SelectiveCheckpointContext, create_selective_checkpoint_contexts):
    _object.__module__ = "torch.utils.checkpoint"
