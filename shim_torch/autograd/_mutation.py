"""Saved tensors that may be written to: they are copied before the write (torch.autograd.graph)."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Iterator
from typing import Any

from native import _core
from shim_torch.autograd.graph import saved_tensors_hooks
from shim_torch.overrides import TorchFunctionMode

Tensor = _core.Tensor
_active: list[Any] = []


class _Saved:
    """One saved tensor, and the copy of it that a later write made necessary."""

    def __init__(self, tensor: Any) -> None:
        self.original, self.copy = tensor, None

    def keep(self) -> None:
        if self.copy is None:
            self.copy, self.original = self.original.detach().clone(), None


class _Context:
    """The saved tensors of one ``allow_mutation_on_saved_tensors`` by storage."""

    def __init__(self) -> None:
        self.saved: dict[int, list[weakref.ref[_Saved]]] = {}
        self.open = True

    def pack(self, tensor: Any) -> _Saved:
        entry = _Saved(tensor)
        self.saved.setdefault(tensor.untyped_storage().data_ptr(), []).append(weakref.ref(entry))
        return entry

    def unpack(self, entry: _Saved) -> Any:
        if not self.open:
            raise AssertionError(
                "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context"
                "in which the graph was originally recorded."
            )
        return entry.original if entry.copy is None else entry.copy

    def before_write(self, tensor: Any) -> None:
        for ref in self.saved.pop(tensor.untyped_storage().data_ptr(), ()):
            entry = ref()
            if entry is not None:
                entry.keep()

    def clear(self) -> None:
        """Forgets everything that was saved."""
        self.saved.clear()


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
    """Within it, backward sees saved tensors as they were, whatever was written to them since."""
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
