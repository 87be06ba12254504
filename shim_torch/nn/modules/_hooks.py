"""Hooks of ``nn.Module``: their tables, handles and the slow call path that runs them."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from native import _core

TABLES = (
    "_backward_pre_hooks",
    "_backward_hooks",
    "_forward_hooks",
    "_forward_hooks_with_kwargs",
    "_forward_hooks_always_called",
    "_forward_pre_hooks",
    "_forward_pre_hooks_with_kwargs",
    "_state_dict_hooks",
    "_state_dict_pre_hooks",
    "_load_state_dict_pre_hooks",
    "_load_state_dict_post_hooks",
)

global_forward_pre: OrderedDict[int, Callable[..., Any]] = OrderedDict()
global_forward: OrderedDict[int, Callable[..., Any]] = OrderedDict()
global_backward: OrderedDict[int, Callable[..., Any]] = OrderedDict()
any_global = False


class RemovableHandle:
    """Takes a hook out of its table(s) again (torch.utils.hooks.RemovableHandle); also a context manager."""

    id: int
    next_id = 0

    def __init__(self, hooks_dict: Any, *, extra_dict: Any = None) -> None:
        self.hooks_dict_ref = weakref.ref(hooks_dict)
        self.id = RemovableHandle.next_id
        RemovableHandle.next_id += 1
        extra = [] if extra_dict is None else extra_dict if isinstance(extra_dict, (list, tuple)) else [extra_dict]
        self.extra_dict_ref = tuple(weakref.ref(d) for d in extra)

    def remove(self) -> None:
        """Removes the hook; a second call does nothing."""
        for ref in (self.hooks_dict_ref, *self.extra_dict_ref):
            table = ref()
            if table is not None:
                table.pop(self.id, None)
        _refresh()

    def __getstate__(self) -> Any:
        return self.hooks_dict_ref(), self.id, tuple(r() for r in self.extra_dict_ref)

    def __setstate__(self, state: Any) -> None:
        hooks, self.id, *extra = state
        self.hooks_dict_ref = weakref.ref(OrderedDict() if hooks is None else hooks)
        RemovableHandle.next_id = max(RemovableHandle.next_id, self.id + 1)
        tables = extra[0] if extra else ()
        self.extra_dict_ref = tuple(weakref.ref(OrderedDict() if d is None else d) for d in tables)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *_: Any) -> None:
        self.remove()


RemovableHandle.__module__ = "torch.utils.hooks"


def _refresh() -> None:
    global any_global
    any_global = bool(global_forward_pre or global_forward or global_backward)


def register(
    module: Any, table: str, hook: Callable[..., Any], prepend: bool, flags: dict[str, bool]
) -> RemovableHandle:
    """Puts a hook into a module's table, its flags into the tables beside it."""
    hooks = getattr(module, table)
    extras = [getattr(module, name) for name in flags]
    handle = RemovableHandle(hooks, extra_dict=extras)
    hooks[handle.id] = hook
    for name, value in flags.items():
        if value:
            getattr(module, name)[handle.id] = True
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def register_global(table: OrderedDict[int, Callable[..., Any]], hook: Callable[..., Any]) -> RemovableHandle:
    """Puts a hook into a process-wide table."""
    handle = RemovableHandle(table)
    table[handle.id] = hook
    _refresh()
    return handle


def register_module_forward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """``hook(module, args)`` runs before the forward of every module."""
    return register_global(global_forward_pre, hook)


def register_module_forward_hook(
    hook: Callable[..., Any], *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """``hook(module, args, output)`` runs after the forward of every module."""
    if with_kwargs or always_call:
        raise NotImplementedError(
            "torch.nn.modules.module.register_module_forward_hook(with_kwargs or always_call) is not supported by shim-torch"
        )
    return register_global(global_forward, hook)


def register_module_full_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """``hook(module, grad_input, grad_output)`` runs in the backward of every module."""
    return register_global(global_backward, hook)


def call(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``module(*args, **kwargs)`` when there are hooks."""
    for key, hook in [*((None, h) for h in global_forward_pre.values()), *module._forward_pre_hooks.items()]:
        if key in module._forward_pre_hooks_with_kwargs:
            changed = hook(module, args, kwargs)
            if changed is not None:
                if not (isinstance(changed, tuple) and len(changed) == 2):
                    raise RuntimeError(
                        f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {changed}."
                    )
                args, kwargs = changed
        else:
            changed = hook(module, args)
            if changed is not None:
                args = changed if isinstance(changed, tuple) else (changed,)
    backward = _BackwardHooks.of(module)
    if backward is not None:
        args = backward.watch_inputs(args)
    called: set[int | None] = set()
    result = None
    try:
        result = module.forward(*args, **kwargs)
        for key, hook in [*((None, h) for h in global_forward.values()), *module._forward_hooks.items()]:
            called.add(key)
            changed = (
                hook(module, args, kwargs, result)
                if key in module._forward_hooks_with_kwargs
                else hook(module, args, result)
            )
            if changed is not None:
                result = changed
    except Exception:
        for key, hook in module._forward_hooks.items():
            if key in module._forward_hooks_always_called and key not in called:
                with_kwargs = key in module._forward_hooks_with_kwargs
                changed = hook(module, args, kwargs, result) if with_kwargs else hook(module, args, result)
                result = result if changed is None else changed
        raise
    return result if backward is None else backward.watch_outputs(result)


class _BackwardHooks:
    """Two identity nodes around forward whose gradients are the module's grad_output and grad_input."""

    def __init__(self, module: Any, hooks: list[Callable[..., Any]], pre: list[Callable[..., Any]]) -> None:
        self.module, self.hooks, self.pre = module, hooks, pre
        self.grad_output: tuple[Any, ...] | None = None
        self.inputs_watched = False

    @classmethod
    def of(cls, module: Any) -> _BackwardHooks | None:
        hooks = [*global_backward.values(), *module._backward_hooks.values()]
        pre = list(module._backward_pre_hooks.values())
        return cls(module, hooks, pre) if hooks or pre else None

    def watch_inputs(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        places = [i for i, a in enumerate(args) if isinstance(a, _core.Tensor)]
        if not any(args[i].requires_grad for i in places) or not _core.is_grad_enabled():
            return args
        self.inputs_watched = True
        passed = _identity(self._on_grad_input(len(args), places), *(args[i] for i in places))
        new = list(args)
        for i, t in zip(places, passed, strict=True):
            new[i] = t
        return tuple(new)

    def _on_grad_input(self, count: int, places: list[int]) -> Callable[..., Any]:
        def run(grads: tuple[Any, ...]) -> tuple[Any, ...]:
            full: list[Any] = [None] * count
            for i, g in zip(places, grads, strict=True):
                full[i] = g
            now: tuple[Any, ...] = tuple(full)
            for hook in self.hooks:
                changed = hook(self.module, now, self.grad_output)
                if changed is not None:
                    now = changed if isinstance(changed, tuple) else (changed,)
                    if len(now) != count:
                        raise RuntimeError(
                            f"Backward hook returned an invalid number of grad_input, got {len(now)}, but expected {count}"
                        )
            self.grad_output = None
            return tuple(now[i] for i in places)

        return run

    def watch_outputs(self, result: Any) -> Any:
        single = not isinstance(result, tuple)
        outputs = (result,) if single else result
        places = [i for i, o in enumerate(outputs) if isinstance(o, _core.Tensor) and o.requires_grad]
        if not places:
            return result

        def run(grads: tuple[Any, ...]) -> tuple[Any, ...]:
            full: list[Any] = [None] * len(outputs)
            for i, g in zip(places, grads, strict=True):
                full[i] = g
            now: tuple[Any, ...] = tuple(full)
            for hook in self.pre:
                changed = hook(self.module, now)
                if changed is not None:
                    now = changed if isinstance(changed, tuple) else (changed,)
            self.grad_output = now
            if not self.inputs_watched:
                for hook in self.hooks:
                    hook(self.module, (), now)
            return tuple(now[i] for i in places)

        passed = _identity(run, *(outputs[i] for i in places))
        new = list(outputs)
        for i, t in zip(places, passed, strict=True):
            new[i] = t
        return new[0] if single else tuple(new)


def _identity(on_grads: Callable[[tuple[Any, ...]], tuple[Any, ...]], *tensors: Any) -> tuple[Any, ...]:
    """Passes tensors through one node whose backward hands all their gradients to ``on_grads``."""
    from shim_torch.autograd.function import Function

    class BackwardHookFunction(Function):
        @staticmethod
        def forward(ctx: Any, *inputs: Any) -> tuple[Any, ...]:
            ctx.mark_non_differentiable(*(t for t in inputs if not t.requires_grad))
            return tuple(t.view_as(t) for t in inputs)

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> tuple[Any, ...]:
            return on_grads(grads)

    result = BackwardHookFunction.apply(*tensors)
    return result if isinstance(result, tuple) else (result,)
