"""``torch.utils.module_tracker``: which modules run now, in forward and in backward."""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable
from typing import Any

from shim_torch._impl.native import _core
from shim_torch.utils._pytree import tree_leaves as _tree_leaves

__all__ = ["ModuleTracker"]


class ModuleTracker:
    """A context: ``parents`` holds the names of the modules that run, "Global" always; ``is_bw`` is True in backward.

    The first module met is named by its class, one in it by its path: "Net.layers.0".
    """

    def __init__(self) -> None:
        self.parents: set[str] = {"Global"}
        self._counts: dict[str, int] = {}
        self._names: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()
        self._hooks: list[Any] = []
        self._ends_with_backward = False

    @property
    def is_bw(self) -> bool:
        """Whether a backward runs."""
        from shim_torch._C import _current_graph_task_id

        return bool(_current_graph_task_id() != -1)

    def _name(self, module: Any) -> str:
        if module not in self._names:
            self._names[module] = name = type(module).__name__
            self._name_children(module, name)
        return self._names[module]

    def _name_children(self, module: Any, name: str) -> None:
        for key, child in module.named_children():
            if child not in self._names:
                self._names[child] = f"{name}.{key}"
                self._name_children(child, f"{name}.{key}")

    def _enter(self, name: str, backward: bool) -> Callable[..., None]:
        def hook(*_: Any) -> None:
            if backward:
                self._reset_after_backward()
            elif name in self.parents and self.is_bw:  # a recomputation in backward
                return
            self._counts[name] = self._counts.get(name, 0) + 1
            self.parents.add(name)

        return hook

    def _leave(self, name: str, backward: bool) -> Callable[..., None]:
        def hook(*_: Any) -> None:
            if name not in self.parents:
                warnings.warn(
                    "The module hierarchy tracking is maybe be broken as this Module was exited but never entered",
                    stacklevel=2,
                )
                return
            self._counts[name] = self._counts.get(name, 1) - 1
            if self._counts[name] <= 0:
                self._counts.pop(name)
                self.parents.remove(name)

        return hook

    def _reset_after_backward(self) -> None:
        if not self._ends_with_backward:
            from shim_torch.autograd import Variable

            def reset() -> None:
                self.parents, self._counts, self._ends_with_backward = {"Global"}, {}, False

            Variable._execution_engine.queue_callback(reset)
            self._ends_with_backward = True

    def _hooked(self, values: Any, hook: Callable[..., None]) -> None:
        """``hook`` runs once the gradients of all tensors among the values are there."""
        tensors = [x for x in _tree_leaves(values) if isinstance(x, _core.TensorBase) and x.requires_grad]
        if tensors and not self.is_bw:
            from shim_torch.autograd.graph import register_multi_grad_hook

            self._hooks.append(register_multi_grad_hook(tensors, hook))

    def _before(self, module: Any, args: Any) -> None:
        name = self._name(module)
        self._hooked(args, self._leave(name, True))
        self._enter(name, False)()

    def _after(self, module: Any, args: Any, output: Any) -> None:
        name = self._name(module)
        self._leave(name, False)()
        self._hooked(output, self._enter(name, True))

    def __enter__(self) -> ModuleTracker:
        from shim_torch.nn.modules import module

        self._handles = [
            module.register_module_forward_pre_hook(self._before),
            module.register_module_forward_hook(self._after, always_call=True),
        ]
        return self

    def __exit__(self, *_: Any) -> None:
        for handle in self._handles + self._hooks:
            handle.remove()
        self._hooks.clear()
