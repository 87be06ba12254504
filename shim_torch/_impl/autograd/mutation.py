"""Saved tensors that may be written to: they are copied before the write (torch.autograd.graph)."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Iterator
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.tensor.torch_function import TorchFunctionMode
from shim_torch.autograd.graph import saved_tensors_hooks

Tensor = _core.Tensor
_active: list[Any] = []


class _Handle:
    """The graph's handle of one saved tensor."""

    __slots__ = ("__weakref__",)


class _Context:
    """The saved tensors of one ``allow_mutation_on_saved_tensors`` context, or clones made before a write."""

    def __init__(self) -> None:
        self.cloned: Any = weakref.WeakKeyDictionary()
        self.original: Any = weakref.WeakKeyDictionary()
        self.tid_to_weakhandle: Any = weakref.WeakValueDictionary()  # one handle for a tensor of one version
        self.sid_to_tid: dict[Any, set[Any]] = {}
        self.open = True

    @staticmethod
    def _memory(tensor: Any) -> tuple[int, int]:
        return tensor.untyped_storage().data_ptr(), tensor._version

    def pack(self, tensor: Any) -> _Handle:
        memory = self._memory(tensor)
        tid = (id(tensor), *memory)
        handle = self.tid_to_weakhandle.get(tid)
        if handle is None:
            handle = _Handle()
            self.sid_to_tid.setdefault(memory, set()).add(tid)
            self.tid_to_weakhandle[tid] = handle
            self.original[handle] = tensor
        return handle

    def unpack(self, handle: _Handle) -> Any:
        if not self.open:
            raise AssertionError(
                "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context"
                "in which the graph was originally recorded."
            )
        return self.cloned[handle] if handle in self.cloned else self.original[handle]

    def before_write(self, tensor: Any) -> None:
        for tid in self.sid_to_tid.get(self._memory(tensor), ()):
            handle = self.tid_to_weakhandle.get(tid)
            if handle is not None and handle not in self.cloned:
                self.cloned[handle] = self.original[handle].clone()
                del self.original[handle]

    def clear(self) -> None:
        """Forgets everything that was saved."""
        for kept in (self.cloned, self.original, self.tid_to_weakhandle, self.sid_to_tid):
            kept.clear()


def _written(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """The tensors that a torch function of this name writes to."""
    found = [kwargs["out"]] if kwargs.get("out") is not None else []
    in_place = name.endswith("_") and not name.endswith("__") or name == "__setitem__" or name[:3] == "__i"
    if in_place and args:
        found.append(args[0])
    flat = [t for x in found for t in (x if isinstance(x, (tuple, list)) else (x,))]
    return [t for t in flat if isinstance(t, Tensor)]


class _CopyBeforeWrite(TorchFunctionMode):
    def __init__(self, context: _Context) -> None:
        super().__init__()
        self.context = context

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        for tensor in _written(getattr(func, "__name__", ""), args, kwargs):
            self.context.before_write(tensor)
        return func(*args, **kwargs)


@contextlib.contextmanager
def allow() -> Iterator[_Context]:
    """Context in which tensors saved for backward may be written to: backward sees the values at the time of saving."""
    if _active:
        raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
    context = _Context()
    _active.append(context)
    try:
        with saved_tensors_hooks(context.pack, context.unpack), _CopyBeforeWrite(context):
            yield context
    finally:
        _active.pop()
        context.clear()
        context.open = False
