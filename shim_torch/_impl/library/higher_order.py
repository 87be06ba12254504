"""``torch._ops.HigherOrderOperator``: an operator whose arguments may be functions, with an implementation by key."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from shim_torch._impl.library import registrations
from shim_torch._impl.native import _core
from shim_torch._impl.transforms.interpreters import CInterpreter, TransformType
from shim_torch._impl.transforms.levels import running_vmap


class Interpreter(CInterpreter):
    """A running transform, as passed to an implementation."""

    @contextlib.contextmanager
    def lower(self) -> Iterator[None]:
        """Context in which the transform is not applied."""
        self._running.__exit__(None, None, None)
        try:
            yield
        finally:
            self._running.__enter__()


class HigherOrderOperator:
    """An operator without a schema: ``py_impl(key)`` registers an implementation for a dispatch key, a transform or a class.

    Called, it runs the implementation of the innermost that applies: a transform, a dispatch mode, a tensor class, autograd,
    the device.
    """

    def __init__(self, name: str, *, cacheable: bool = False) -> None:
        if type(self) is HigherOrderOperator:
            raise RuntimeError("Direct instantiation of HigherOrderOperator is not allowed. Please subclass it.")
        self._name = self.__name__ = name
        self._ns, self._cacheable = "higher_order", cacheable
        self.py_kernels: dict[Any, Callable[..., Any]] = {}
        registrations.higher_order[name] = self

    @property
    def namespace(self) -> str:
        """The namespace of its name."""
        return self._ns

    def name(self) -> str:
        """Its name."""
        return self._name

    def cacheable(self) -> bool:
        """Whether compiled graphs with it may be cached."""
        return self._cacheable

    def __str__(self) -> str:
        return self._name

    def __hash__(self) -> int:
        return id(self)

    def py_impl(self, k: Any) -> Callable[[Any], Any]:
        """A decorator: the implementation for a DispatchKey, a TransformType, a mode's or a tensor's class."""

        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            if k in self.py_kernels:
                raise AssertionError(f"Trying to override a python impl for {k} on operator {self._name}")
            self.py_kernels[k] = function
            return function

        return register

    def fallthrough(self, dispatch_key: Any) -> None:
        """Does nothing: keys without an implementation are skipped anyway."""

    def py_autograd_impl(self, fn: Any) -> Any:
        """A decorator: the implementation under autograd."""
        return self.py_impl("Autograd")(fn)

    def py_functionalize_impl(self, fn: Any) -> Any:
        """A decorator: the implementation under functionalization, which never runs here."""
        self.py_kernels["Functionalize"] = fn
        return fn

    def _mode_impl(self) -> Any:
        for at in range(_core._len_torch_dispatch_stack() - 1, -1, -1):
            mode = _core._get_dispatch_stack_at(at)
            found = self.py_kernels.get(type(mode))
            if found is not None:
                return mode, found
        return None

    def _keys(self, tensors: list[Any]) -> Iterator[Any]:
        from shim_torch._impl.core_names.dispatch import DispatchKey

        device = (tensors[0].device.type if tensors else "cpu").upper()
        yield "Autograd"
        for name in (f"Autograd{device}", "Autograd", device, "CompositeExplicitAutograd", "CompositeImplicitAutograd"):
            key = getattr(DispatchKey, name, None)
            if key is not None:
                yield key

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        from shim_torch._impl.tensor.torch_function import handle_torch_function, has_torch_function
        from shim_torch.utils._pytree import tree_leaves

        tensors = [x for x in tree_leaves((args, kwargs)) if isinstance(x, _core.TensorBase)]
        if has_torch_function(tensors):
            return handle_torch_function(self, tensors, *args, **kwargs)
        vmap = running_vmap()
        if vmap is not None and TransformType.Vmap in self.py_kernels:
            return self.py_kernels[TransformType.Vmap](Interpreter(vmap), *args, **kwargs)
        if (by_mode := self._mode_impl()) is not None:
            return by_mode[1](by_mode[0], *args, **kwargs)
        for t in tensors:
            if type(t) in self.py_kernels:
                return self.py_kernels[type(t)](*args, **kwargs)
        for key in self._keys(tensors):
            if key in self.py_kernels:
                return self.py_kernels[key](*args, **kwargs)
        raise NotImplementedError(f"could not find kernel for HigherOrderOperator {self._name}")


HigherOrderOperator.__module__ = "torch._ops"
