"""Hooks of ``nn.Module``: their tables, handles and the slow call path that runs them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from shim_torch._impl.surface import naming
from shim_torch._impl.utils.handles import RemovableHandle

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


def tables() -> Any:
    """The module that holds the hooks of all modules, by PyTorch's names: ``torch.nn.modules.module._global_forward_hooks`` ..."""
    from shim_torch.nn.modules import module

    return module


def register(
    module: Any, table: str, hook: Callable[..., Any], prepend: bool, flags: dict[str, bool]
) -> RemovableHandle:
    """Adds a hook to a module's table, and its flags to the tables of flags."""
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


def register_global(name: str, hook: Callable[..., Any], **flags: bool) -> RemovableHandle:
    """Adds a hook to a process-wide table, and its flags to the tables of those names."""
    hooks = getattr(tables(), name)
    extras = [getattr(tables(), flag) for flag in flags]
    handle = RemovableHandle(hooks, extra_dict=extras)
    hooks[handle.id] = hook
    for table, on in zip(extras, flags.values(), strict=True):
        if on:
            table[handle.id] = True
    return handle


def register_module_forward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """``hook(module, args)`` runs before the forward of every module."""
    return register_global("_global_forward_pre_hooks", hook)


def register_module_forward_hook(
    hook: Callable[..., Any], *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """``hook(module, args, output)`` (or ``args, kwargs, output``) runs after the forward of every module."""
    return register_global(
        "_global_forward_hooks",
        hook,
        _global_forward_hooks_with_kwargs=with_kwargs,
        _global_forward_hooks_always_called=always_call,
    )


def _global_kind(full: bool) -> None:
    if tables()._global_is_full_backward_hook is (not full):
        raise RuntimeError(
            "Cannot use both regular backward hooks and full backward hooks as a global Module hook. Please use only one of them."
        )
    tables()._global_is_full_backward_hook = full


def register_module_full_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """``hook(module, grad_input, grad_output)`` runs in the backward of every module."""
    _global_kind(True)
    return register_global("_global_backward_hooks", hook)


def register_module_full_backward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """``hook(module, grad_output)`` runs before the backward of every module."""
    return register_global("_global_backward_pre_hooks", hook)


def register_module_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Deprecated: ``hook(module, grad_input, grad_output)`` runs with the last node of every module."""
    _global_kind(False)
    return register_global("_global_backward_hooks", hook)


def _run_forward_hook(hook: Callable[..., Any], with_kwargs: bool, *call: Any) -> Any:
    module, args, kwargs, result = call
    return hook(module, args, kwargs, result) if with_kwargs else hook(module, args, result)


def _with_changed_inputs(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
    """The arguments after the forward pre-hooks."""
    for key, hook in [
        *((None, h) for h in tables()._global_forward_pre_hooks.values()),
        *module._forward_pre_hooks.items(),
    ]:
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
    return args, kwargs


def _hooks_after(module: Any) -> list[tuple[Callable[..., Any], bool, bool, str]]:
    """The forward hooks, global ones first: (function, takes keyword arguments, always runs, whose it is)."""
    everywhere = tables()
    return [
        *(
            (
                h,
                k in everywhere._global_forward_hooks_with_kwargs,
                k in everywhere._global_forward_hooks_always_called,
                "global module",
            )
            for k, h in everywhere._global_forward_hooks.items()
        ),
        *(
            (h, k in module._forward_hooks_with_kwargs, k in module._forward_hooks_always_called, "module")
            for k, h in module._forward_hooks.items()
        ),
    ]


def call(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``module(*args, **kwargs)`` when there are hooks."""
    from shim_torch._impl.nn.modules import backward_hooks

    done, result = 0, None
    try:
        args, kwargs = _with_changed_inputs(module, args, kwargs)
        backward = backward_hooks.BackwardHooks.of(module)
        if backward is not None:
            args = backward.watch_inputs(args)
        result = module.forward(*args, **kwargs)
        for hook, with_kwargs, _, _ in _hooks_after(module):
            done += 1
            changed = _run_forward_hook(hook, with_kwargs, module, args, kwargs, result)
            result = result if changed is None else changed
    except Exception:
        for hook, with_kwargs, always, whose in _hooks_after(module)[done:]:
            if not always:
                continue
            try:
                changed = _run_forward_hook(hook, with_kwargs, module, args, kwargs, result)
                result = result if changed is None else changed
            except Exception as error:
                warnings.warn(
                    f"{whose} forward hook with ``always_call=True`` raised an exception that was silenced as another error "
                    f"was raised in forward: {error}",
                    stacklevel=3,
                )
        raise
    if backward is not None:
        result = backward.watch_outputs(result)
    backward_hooks.watch_last_node(module, args, result)
    return result


@naming.methods_of("Module", "torch.nn.modules.module")
class HooksMixin:
    """How a module's own hooks are registered."""

    _is_full_backward_hook: bool | None

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """``hook(module, args)`` runs before forward; what it returns, if anything, replaces the arguments."""
        return register(self, "_forward_pre_hooks", hook, prepend, {"_forward_pre_hooks_with_kwargs": with_kwargs})

    def register_forward_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> RemovableHandle:
        """``hook(module, args, output)`` runs after forward; what it returns, if anything, replaces the output."""
        flags = {"_forward_hooks_with_kwargs": with_kwargs, "_forward_hooks_always_called": always_call}
        return register(self, "_forward_hooks", hook, prepend, flags)

    def register_full_backward_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """``hook(module, grad_output)`` runs before the gradients of the module's inputs are computed."""
        return register(self, "_backward_pre_hooks", hook, prepend, {})

    def register_full_backward_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """``hook(module, grad_input, grad_output)`` runs when the gradients of the module's inputs are known."""
        if self._is_full_backward_hook is False:
            raise RuntimeError(
                "Cannot use both regular backward hooks and full backward hooks on a single Module. "
                "Please use only one of them."
            )
        self._is_full_backward_hook = True
        return register(self, "_backward_hooks", hook, prepend, {})

    def register_backward_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Deprecated: ``hook(module, grad_input, grad_output)`` runs with the node that made the module's output."""
        if self._is_full_backward_hook is True:
            raise RuntimeError(
                "Cannot use both regular backward hooks and full backward hooks on a single Module. "
                "Please use only one of them."
            )
        self._is_full_backward_hook = False
        return register(self, "_backward_hooks", hook, False, {})


naming.present(globals(), "torch.nn.modules.module")
