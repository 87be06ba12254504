"""Selective checkpointing: what of a region is kept, what is computed again, operator by operator."""

from __future__ import annotations

from collections import defaultdict
from enum import IntEnum
from typing import Any

from native import _core
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


class _CachingTorchDispatchMode(TorchDispatchMode):
    """The first pass: keeps the results that the policy wants; ``storage[operator][call]`` says what became of each."""

    def __init__(self, policy_fn: Any, storage: Any, ac_graph_id: Any = None) -> None:
        super().__init__()
        self.policy_fn, self.storage = policy_fn, storage
        self.calls: dict[Any, int] = defaultdict(int)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if _ignored(func):
            return func(*args, **kwargs)
        result = func(*args, **kwargs)
        call = self.calls[func]
        self.calls[func] += 1
        policy = self.policy_fn(SelectiveCheckpointContext(is_recompute=False, op_output=result), func, *args, **kwargs)
        self.storage[func][call] = tree_map(_Kept, result) if _saved(policy) else _COMPUTED_AGAIN
        return result


class _CachedTorchDispatchMode(TorchDispatchMode):
    """The second pass: gives back what was kept."""

    def __init__(self, policy_fn: Any, storage: Any, allow_cache_entry_mutation: bool = False) -> None:
        super().__init__()
        self.storage, self.allow_cache_entry_mutation = storage, allow_cache_entry_mutation
        self.calls: dict[Any, int] = defaultdict(int)

    def __enter__(self) -> Any:
        self.calls.clear()
        return super().__enter__()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if _ignored(func):
            return func(*args, **(kwargs or {}))
        call = self.calls[func]
        self.calls[func] += 1
        kept = self.storage.get(func)
        if kept is None:
            raise RuntimeError(f"{func} encountered during backward but not found in storage. {_MISMATCH}")
        entry = kept.get(call)
        if entry is None:
            raise RuntimeError(
                f"{func} invocation index {call} encountered during backward but not found in storage. {_MISMATCH}"
            )
        if entry is _HANDED_OUT:
            raise RuntimeError(
                "Trying to backward an extra time. You are only allowed to backward once on any region computed under selective "
                "activation checkpoint."
            )
        if entry is _COMPUTED_AGAIN:
            return func(*args, **(kwargs or {}))
        kept[call] = _HANDED_OUT
        return tree_map(lambda x: x.get(self.allow_cache_entry_mutation), entry)


def create_selective_checkpoint_contexts(policy_fn_or_list: Any, allow_cache_entry_mutation: bool = False) -> Any:
    """The two contexts of a checkpoint whose policy chooses by operator: for ``checkpoint(..., context_fn=...)``.

    policy: a function (context, operator, *args, **kwargs) -> CheckpointPolicy, or a list of the overloads to keep.
    """
    from shim_torch._ops import OpOverload, OpOverloadPacket

    if isinstance(policy_fn_or_list, list):
        for op in policy_fn_or_list:
            if not isinstance(op, OpOverload):
                more = (
                    "Please update the OpOverloadPacket to a specific OpOverload. For example, if you have "
                    "`torch.ops.aten.mm`, change it to `torch.ops.aten.mm.default`."
                )
                raise ValueError(
                    f"Expected op in `op_list` to be an OpOverload but got: {op} of type {type(op)}. "
                    + (more if isinstance(op, OpOverloadPacket) else "")
                )

        def policy_fn(context: Any, op: Any, *args: Any, **kwargs: Any) -> CheckpointPolicy:
            return CheckpointPolicy.MUST_SAVE if op in policy_fn_or_list else CheckpointPolicy.PREFER_RECOMPUTE

    elif callable(policy_fn_or_list):
        policy_fn = policy_fn_or_list
    else:
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    storage: dict[Any, dict[int, Any]] = defaultdict(dict)
    return (
        _CachingTorchDispatchMode(policy_fn, storage),
        _CachedTorchDispatchMode(policy_fn, storage, allow_cache_entry_mutation),
    )


for _object in (CheckpointPolicy, SelectiveCheckpointContext, create_selective_checkpoint_contexts):
    _object.__module__ = "torch.utils.checkpoint"
