"""``torch._C._functorch``: the levels of function transforms. Gradients of all levels share one tape."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.transforms.batching.level import Level
from shim_torch._impl.transforms.batching.tensors import BatchedTensor, stack
from shim_torch._impl.transforms.interpreters import CInterpreter as CInterpreter
from shim_torch._impl.transforms.interpreters import CVmapInterpreterPtr as CVmapInterpreterPtr
from shim_torch._impl.transforms.interpreters import RandomnessType as RandomnessType
from shim_torch._impl.transforms.interpreters import TransformType as TransformType
from shim_torch._impl.transforms.levels import Transform, running


def is_batchedtensor(tensor: Any) -> bool:
    """Whether a tensor hides a batch dim of the innermost transform that knows it."""
    return isinstance(tensor, BatchedTensor) and not is_gradtrackingtensor(tensor)


def _tracked_at(tensor: Any) -> int:
    """The innermost gradient transform whose function a tensor that needs gradients may belong to; -1."""
    if not tensor.requires_grad:
        return -1
    return next((t.depth for t in reversed(running) if t.kind in ("Grad", "Jvp")), -1)


def is_gradtrackingtensor(tensor: Any) -> bool:
    """Whether a tensor takes part in the gradients of a running transform, within all its ``vmap``."""
    return _tracked_at(tensor) > (tensor.depth if isinstance(tensor, BatchedTensor) else 0)


def is_functorch_wrapped_tensor(tensor: Any) -> bool:
    """Whether a running transform knows the tensor."""
    return isinstance(tensor, BatchedTensor) or is_gradtrackingtensor(tensor)


def is_functionaltensor(tensor: Any) -> bool:
    """Whether a tensor stands for one whose writes are replaced: none does."""
    return False


is_legacy_batchedtensor = is_functionaltensor


def is_dead_tensor_wrapper(tensor: Any) -> bool:
    """Whether a tensor hides a batch dim of a ``vmap`` that has ended."""
    return isinstance(tensor, BatchedTensor) and tensor.depth == -1


def unwrap_if_dead(tensor: Any) -> Any:
    """The tensor itself, or the value of one whose ``vmap`` has ended."""
    return tensor.value if is_dead_tensor_wrapper(tensor) else tensor


def maybe_get_level(tensor: Any) -> int:
    """The level of the innermost transform that knows a tensor, -1 where none does."""
    depth = tensor.depth if isinstance(tensor, BatchedTensor) else -1
    return max(depth, _tracked_at(tensor))


def maybe_get_bdim(tensor: Any) -> int:
    """Where the batch dim of a batched tensor's value is, -1 of another."""
    return 0 if is_batchedtensor(tensor) else -1


def maybe_current_level() -> int | None:
    """The innermost running level."""
    return running[-1].depth if running else None


def current_level() -> int:
    """The innermost running level; RuntimeError where there is none."""
    if not running:
        raise RuntimeError("No dynamic layer is on the stack")
    return running[-1].depth


def get_dynamic_layer_stack_depth() -> int:
    """How many transforms run."""
    return len(running)


def peek_interpreter_stack() -> CInterpreter | None:
    """The innermost running transform."""
    return CInterpreter(running[-1]) if running else None


def get_interpreter_stack() -> list[CInterpreter] | None:
    """The running transforms, the innermost last."""
    return [CInterpreter(s) for s in running] or None


def get_unwrapped(tensor: Any) -> Any:
    """The value of a batched tensor, its batch dim first; the value without gradients of one that takes part in them."""
    if is_gradtrackingtensor(tensor):
        return tensor.detach()
    if not isinstance(tensor, BatchedTensor):
        raise RuntimeError("No wrappers present!")
    return _level(tensor.depth).unwrap(tensor, 0)


def dlevel(tensor: Any) -> int:
    """The level of a tensor that takes part in the gradients of a running transform; 0 of another."""
    return _tracked_at(tensor) if is_gradtrackingtensor(tensor) else 0


def get_inplace_requires_grad_allowed() -> bool:
    """Whether ``requires_grad_`` may be called within a transform."""
    return _core._inplace_requires_grad_allowed()


def set_inplace_requires_grad_allowed(allowed: bool) -> None:
    """Whether ``requires_grad_`` may be called within a transform, on this thread."""
    _core._set_inplace_requires_grad_allowed(allowed)


def get_single_level_autograd_function_allowed() -> bool:
    """Whether a Function may be applied at one level: it always may here."""
    return True


def set_single_level_autograd_function_allowed(allowed: bool) -> None:
    """Changes nothing: a Function may always be applied at one level here."""


def _level(level: int) -> Level:
    found = next((s for s in stack if s.depth == level), None)
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
    if isinstance(tensor, BatchedTensor) and tensor.depth == level:
        return _level(level).unwrap(tensor, 0), 0
    return tensor, None


def _vmap_increment_nesting(batch_size: int, randomness: str) -> int:
    """Begins a ``vmap``; its level."""
    return Level(batch_size, randomness).__enter__().depth


def _vmap_decrement_nesting() -> int:
    """Ends the innermost ``vmap``; its level."""
    level = stack[-1]
    level.__exit__(None, None, None)
    return level.depth


def _begin(kind: str) -> int:
    return Transform(kind).__enter__().depth


def _grad_increment_nesting() -> int:
    """Begins a gradient transform; its level."""
    return _begin("Grad")


def _jvp_increment_nesting() -> int:
    """Begins a transform along tangents; its level."""
    return _begin("Jvp")


def _end(kind: str) -> int:
    if not running or running[-1].kind != kind:
        raise RuntimeError(f"the innermost transform is no {kind}")
    level = running[-1]
    level.__exit__(None, None, None)
    return level.depth


def _grad_decrement_nesting() -> int:
    """Ends the innermost transform, one of gradients; its level."""
    return _end("Grad")


def _jvp_decrement_nesting() -> int:
    """Ends the innermost transform, one along tangents; its level."""
    return _end("Jvp")


def _wrap_for_grad(tensor: Any, level: int) -> Any:
    """A tensor of its own in the graph, for the gradients of a level."""
    return tensor.view_as(tensor) if tensor.requires_grad else tensor.detach()


def _unwrap_for_grad(tensor: Any, level: int) -> Any:
    """The tensor itself: all levels record on one tape."""
    return tensor


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
    from shim_torch._impl.transforms.batching import fallback

    return fallback.loops


def _set_vmap_fallback_enabled(enabled: bool) -> None:
    """Whether an operator without a batching rule may run item by item; it raises if not."""
    from shim_torch._impl.transforms.batching import fallback

    fallback.loops = enabled


def _set_vmap_fallback_warning_enabled(enabled: bool) -> None:
    """Whether operators without a batching rule warn: they never do here."""
