"""``torch.autograd.graph``: nodes, saved tensors and hooks of the backward graph."""

from __future__ import annotations

import abc
import contextlib
import functools
import threading
from collections.abc import Callable, Iterator, Sequence
from operator import methodcaller
from typing import Any, Literal, NamedTuple

from shim_torch._impl.autograd.edges import GradientEdge
from shim_torch._impl.native import _core
from shim_torch._impl.table.calls import torch as _torch
from shim_torch.autograd.function import BackwardCFunction
from shim_torch.autograd.function import DelayedError as _DelayedError
from shim_torch.autograd.grad_mode import enable_grad as _enable_grad

__all__ = [
    "GradientEdge",
    "Node",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
    "set_warn_on_accumulate_grad_stream_mismatch",
]
Tensor = _core.Tensor


class Node(abc.ABC):
    """What ``grad_fn`` is: every node of the graph is an instance."""

    @abc.abstractmethod
    def name(self) -> str:
        """The node's name, e.g. ``AddBackward0``."""

    @property
    @abc.abstractmethod
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """The nodes that the gradients go to, each with its input's number."""

    @abc.abstractmethod
    def metadata(self) -> dict[str, Any]:
        """A dict of the user's."""

    @property
    @abc.abstractmethod
    def _input_metadata(self) -> list[Any]:
        raise NotImplementedError

    @abc.abstractmethod
    def register_hook(self, fn: Callable[..., Any]) -> Any:
        """Calls ``fn(grad_inputs, grad_outputs)`` after this node ran."""

    @abc.abstractmethod
    def register_prehook(self, fn: Callable[..., Any]) -> Any:
        """Calls ``fn(grad_outputs)`` before this node runs."""

    @classmethod
    def __subclasshook__(cls, subclass: type) -> bool:
        if cls is Node and issubclass(subclass, (_core.Node, BackwardCFunction, _DelayedError)):
            return True
        return NotImplemented


class _InputMetadata(NamedTuple):
    """Shape, dtype and device of the forward value whose gradient a node gets."""

    shape: Any
    dtype: Any
    device: Any

    @property
    def is_nested_tensor(self) -> bool:
        return False

    @property
    def is_cpp_nested_tensor(self) -> bool:
        return False


def get_gradient_edge(tensor: Any) -> GradientEdge:
    """The edge that ``tensor``'s gradient flows through; RuntimeError if it needs none."""
    if not tensor.requires_grad:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    node, number = _core.gradient_edge(tensor)
    token = None
    if isinstance(node, _core._FunctionBase):  # ctx does not keep its node alive: a node after it does
        with _enable_grad():
            token = tensor.view_as(tensor).grad_fn
    return GradientEdge(node, number, token)


def increment_version(tensor: Any) -> None:
    """Marks tensors as written to in place, for code that autograd does not see."""
    for t in (tensor,) if isinstance(tensor, Tensor) else tensor:
        _core.bump_version(t)


class saved_tensors_hooks:
    """Within it, tensors saved for backward are what ``pack_hook`` makes of them, and ``unpack_hook`` gives them back."""

    def __init__(self, pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], Any]) -> None:
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def __enter__(self) -> None:
        _core._push_saved_tensors_default_hooks(self.pack_hook, self.unpack_hook)

    def __exit__(self, *args: object) -> None:
        _core._pop_saved_tensors_default_hooks()


class save_on_cpu(saved_tensors_hooks):
    """Keeps saved tensors in CPU memory (``pin_memory``: page-locked) and brings them back for backward."""

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        keep = _pinned_copy if pin_memory else methodcaller("cpu")
        super().__init__(
            lambda saved: (saved.device, keep(saved)),
            lambda kept: kept[1].to(kept[0], non_blocking=pin_memory),
        )


def _pinned_copy(saved: Any) -> Any:
    """A copy in CPU memory, page-locked where there is a GPU to copy from it."""
    lock = not saved.is_sparse and _core.cuda_device_count() > 0
    memory = _torch.empty(saved.shape, dtype=saved.dtype, layout=saved.layout, pin_memory=lock)
    return memory.copy_(saved)


@contextlib.contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """Within it, ``saved_tensors_hooks`` raises RuntimeError with this text."""
    old = _core._saved_tensors_hooks_get_disabled_error_message()
    try:
        _core._saved_tensors_hooks_disable(error_message)
        yield
    finally:
        if old is None:
            _core._saved_tensors_hooks_enable()
        else:
            _core._saved_tensors_hooks_disable(old)


class _MultiHandle:
    """Removes several hooks at once."""

    def __init__(self, handles: Sequence[Any]) -> None:
        self.handles = tuple(handles)

    def remove(self) -> None:
        """Removes the hooks."""
        for handle in self.handles:
            handle.remove()

    def __enter__(self) -> _MultiHandle:
        return self

    def __exit__(self, *args: object) -> None:
        self.remove()

    def __getstate__(self) -> Any:
        return self.handles

    def __setstate__(self, state: Any) -> None:
        self.handles = state


def register_multi_grad_hook(
    tensors: Sequence[Any], fn: Callable[..., None], *, mode: Literal["all", "any"] = "all"
) -> Any:
    """Calls ``fn`` when the gradients of all the tensors came (with their list), or the first of any (with it)."""
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    lock = threading.Lock()
    if mode == "any":
        ran: dict[int, bool] = {}

        @functools.wraps(fn)
        def first(grad: Any) -> None:
            task = _core._current_graph_task_id()
            assert task != -1, "expected this hook to be called inside a backward call"
            with lock:
                done, ran[task] = ran.get(task, False), True
            if not done:
                fn(grad)

        return _MultiHandle([t.register_hook(first) for t in tensors])

    count: dict[int, int] = {}
    total: dict[int, int] = {}
    buffer: dict[int, list[Any]] = {}
    edges = [get_gradient_edge(t) for t in tensors]

    def hook_for(index: int) -> Callable[[Any], None]:
        def inner(grad: Any) -> None:
            task = _core._current_graph_task_id()
            assert task != -1, "expected this hook to be called inside a backward call"
            with lock:
                count[task] = count.get(task, 0) + 1
                buffer.setdefault(task, [None] * len(tensors))
                if count[task] == 1:
                    total[task] = sum(_core._will_engine_execute_node(e.node) for e in edges)
                buffer[task][index] = grad
                complete = count[task] == total[task]
                grads = buffer[task]
                if complete:
                    del buffer[task], count[task], total[task]
            if complete:
                fn(grads)

        return inner

    return _MultiHandle([t.register_hook(hook_for(i)) for i, t in enumerate(tensors)])


def allow_mutation_on_saved_tensors() -> Any:
    """Saved tensors may be written to in place: a copy is taken before the write."""
    from shim_torch._impl.autograd.mutation import allow

    return allow()


def set_warn_on_accumulate_grad_stream_mismatch(enabled: bool) -> None:
    """Backward runs on the calling thread's stream: there is no mismatch to warn of."""


def _engine_run_backward(t_outputs: Sequence[Any], *args: Any, **kwargs: Any) -> tuple[Any, ...]:
    return _core.run_backward(t_outputs, *args, **kwargs)


for _class in (Node, GradientEdge, saved_tensors_hooks, save_on_cpu):
    _class.__module__ = "torch.autograd.graph"
