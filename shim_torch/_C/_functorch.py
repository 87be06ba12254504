"""``torch._C._functorch``: the levels of function transforms. A ``vmap`` is a level; gradients share one tape and are none."""

from __future__ import annotations

import enum
from typing import Any

from shim_torch.func._batched import BatchedTensor, Level, stack


class TransformType(enum.Enum):
    """The kinds of transforms."""

    Torch = 0
    Vmap = 1
    Grad = 2
    Jvp = 3
    Functionalize = 4


class RandomnessType(enum.Enum):
    """What random operators do under a ``vmap``."""

    Error = 0
    Same = 1
    Different = 2


class CInterpreter:
    """A running transform."""

    def __init__(self, running: Level) -> None:
        self._running = running

    def key(self) -> TransformType:
        return TransformType.Vmap

    def level(self) -> int:
        return self._running.id

    def batchSize(self) -> int:
        return self._running.size

    def randomness(self) -> RandomnessType:
        return RandomnessType[self._running.randomness.capitalize()]


def is_batchedtensor(tensor: Any) -> bool:
    """Whether a tensor hides a batch dim."""
    return isinstance(tensor, BatchedTensor)


is_functorch_wrapped_tensor = is_batchedtensor


def is_gradtrackingtensor(tensor: Any) -> bool:
    """Whether a tensor wraps another for its gradient: none does."""
    return False


is_functionaltensor = is_legacy_batchedtensor = is_dead_tensor_wrapper = is_gradtrackingtensor


def unwrap_if_dead(tensor: Any) -> Any:
    """The tensor itself."""
    return tensor


def maybe_get_level(tensor: Any) -> int:
    """The level of a batched tensor, -1 of another."""
    return tensor.level if isinstance(tensor, BatchedTensor) else -1


def maybe_get_bdim(tensor: Any) -> int:
    """Where the batch dim of a batched tensor's value is, -1 of another."""
    return 0 if isinstance(tensor, BatchedTensor) else -1


def maybe_current_level() -> int | None:
    """The innermost running level."""
    return stack[-1].id if stack else None


def current_level() -> int:
    """The innermost running level; RuntimeError where there is none."""
    if not stack:
        raise RuntimeError("No dynamic layer is on the stack")
    return stack[-1].id


def get_dynamic_layer_stack_depth() -> int:
    """How many transforms run."""
    return len(stack)


def peek_interpreter_stack() -> CInterpreter | None:
    """The innermost running transform."""
    return CInterpreter(stack[-1]) if stack else None


def get_interpreter_stack() -> list[CInterpreter] | None:
    """The running transforms, the innermost last."""
    return [CInterpreter(s) for s in stack] or None


def get_unwrapped(tensor: Any) -> Any:
    """The value of a batched tensor, its batch dim first."""
    if not isinstance(tensor, BatchedTensor):
        raise RuntimeError("No wrappers present!")
    return _level(tensor.level).unwrap(tensor, 0)


def dlevel(tensor: Any) -> int:
    """The level of a batched tensor, -1 once its ``vmap`` has ended; 0 of another."""
    if not isinstance(tensor, BatchedTensor):
        return 0
    return tensor.level if any(s.id == tensor.level for s in stack) else -1


def _level(level: int) -> Level:
    found = next((s for s in stack if s.id == level), None)
    if found is None:
        raise RuntimeError("the vmap that the tensor belongs to has ended")
    return found


def _add_batch_dim(tensor: Any, dim: int, level: int) -> Any:
    """A tensor whose dim is the batch of a running level, as one without it."""
    return _level(level).wrap(tensor, dim)


def _remove_batch_dim(tensor: Any, level: int, batch_size: int, dim: int) -> Any:
    """The whole batch of a tensor, at ``dim``."""
    return _level(level).unwrap(tensor, dim)


def _unwrap_batched(tensor: Any, level: int) -> tuple[Any, int | None]:
    """(value, batch dim) of a tensor at a level."""
    if isinstance(tensor, BatchedTensor) and tensor.level == level:
        return _level(level).unwrap(tensor, 0), 0
    return tensor, None


def _vmap_increment_nesting(batch_size: int, randomness: str) -> int:
    """Begins a ``vmap``; its level."""
    return Level(batch_size, randomness).__enter__().id


def _vmap_decrement_nesting() -> int:
    """Ends the innermost ``vmap``; its level."""
    level = stack[-1]
    level.__exit__(None, None, None)
    return level.id


def reshape_dim_into(src: int, dst: int, x: Any) -> Any:
    """Dim ``src`` made part of the dim that is ``dst`` without it, the outer part."""
    src = src % x.dim()
    dst = dst % (x.dim() - 1)
    sizes = list(x.shape)
    sizes.pop(src)
    sizes[dst] *= x.shape[src]
    return x.movedim(src, dst).reshape(sizes)


def reshape_dim_outof(src: int, size: int, x: Any) -> Any:
    """Dim ``src`` in two, the outer of size ``size``."""
    src = src % x.dim()
    sizes = list(x.shape)
    if sizes[src] % size:
        raise RuntimeError("shape[src] % size1 == 0 INTERNAL ASSERT FAILED")
    sizes[src : src + 1] = [size, sizes[src] // size]
    return x.reshape(sizes)


def _is_vmap_fallback_enabled() -> bool:
    """Whether an operator without a batching rule may run item by item."""
    from shim_torch.func import _batch_rules

    return _batch_rules.loops


def _set_vmap_fallback_enabled(enabled: bool) -> None:
    """Whether an operator without a batching rule may run item by item; it raises if not."""
    from shim_torch.func import _batch_rules

    _batch_rules.loops = enabled


def _set_vmap_fallback_warning_enabled(enabled: bool) -> None:
    """Whether operators without a batching rule warn: they never do here."""


def __getattr__(name: str) -> Any:
    from shim_torch._missing import missing

    return missing("torch._C._functorch", name)
