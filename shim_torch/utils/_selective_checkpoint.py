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
    """What a selective checkpoint policy is given."""

    def __init__(self, *, is_recompute: bool) -> None:
        self.is_recompute = is_recompute


class _Kept:
    """A result that was kept, and its version then."""

    def __init__(self, value: Any, view: bool) -> None:
        if isinstance(value, _core.TensorBase) and (value.is_floating_point() or value.is_complex() or view):
            value = value.detach()
        self.val = value
        self.version = value._version if isinstance(value, _core.TensorBase) else None

    def get(self, changes_allowed: bool) -> Any:
        if self.version is not None and not changes_allowed and self.val._version != self.version:
            raise RuntimeError("Tensor cached during selective activation checkpoint has been mutated")
        return self.val


def _saved(policy: Any) -> bool:
    if isinstance(policy, bool):
        return policy
    return policy in (CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE)


def _ignored(func: Any) -> bool:
    return func._qualified_op_name == "aten::detach"  # saving does it as well


class _CachingTorchDispatchMode(TorchDispatchMode):
    """The first pass: keeps the results that the policy wants."""

    def __init__(self, policy_fn: Any, storage: Any) -> None:
        super().__init__()
        self.policy_fn, self.storage = policy_fn, storage

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if _ignored(func):
            return func(*args, **kwargs)
        policy = self.policy_fn(SelectiveCheckpointContext(is_recompute=False), func, *args, **kwargs)
        result = func(*args, **kwargs)
        if _saved(policy):
            view = any(r.alias_info is not None for r in func._schema.returns)
            self.storage[func].append(tree_map(lambda x: _Kept(x, view), result))
        return result


class _CachedTorchDispatchMode(TorchDispatchMode):
    """The second pass: gives back what was kept."""

    def __init__(self, policy_fn: Any, storage: Any, allow_cache_entry_mutation: bool) -> None:
        super().__init__()
        self.policy_fn, self.storage = policy_fn, storage
        self.allow_cache_entry_mutation = allow_cache_entry_mutation

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if _ignored(func):
            return func(*args, **kwargs)
        if not _saved(self.policy_fn(SelectiveCheckpointContext(is_recompute=True), func, *args, **kwargs)):
            return func(*args, **kwargs)
        kept = self.storage.get(func)
        if kept is None:
            raise RuntimeError(f"{func} encountered during backward, but not found in storage")
        if not kept:
            raise RuntimeError(
                "Trying to backward an extra time. You are only allowed to backward once on any region computed under selective "
                "activation checkpoint."
            )
        return tree_map(lambda x: x.get(self.allow_cache_entry_mutation), kept.pop(0))


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
    storage: dict[Any, list[Any]] = defaultdict(list)
    return (
        _CachingTorchDispatchMode(policy_fn, storage),
        _CachedTorchDispatchMode(policy_fn, storage, allow_cache_entry_mutation),
    )


for _object in (CheckpointPolicy, SelectiveCheckpointContext, create_selective_checkpoint_contexts):
    _object.__module__ = "torch.utils.checkpoint"
