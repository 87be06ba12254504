"""Optimizers that step as soon as a parameter's gradient is there, within the backward pass."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from weakref import WeakKeyDictionary

__all__: list[str] = []

_HANDLES: Any = WeakKeyDictionary()  # parameter -> the handles of its hooks


def _apply_optimizer_in_backward(
    optimizer_class: Any, params: Iterable[Any], optimizer_kwargs: dict[str, Any], register_hook: bool = True
) -> None:
    """Gives every parameter an optimizer of its own, which steps once the gradient is accumulated and lets it go then.

    The optimizers are in ``parameter._in_backward_optimizers``, their arguments in ``parameter._optimizer_kwargs``.
    """

    def attach(param: Any) -> None:
        if not hasattr(param, "_in_backward_optimizers"):
            param._in_backward_optimizers, param._optimizer_classes, param._optimizer_kwargs = [], [], []
        param._optimizer_classes.append(optimizer_class)
        param._in_backward_optimizers.append(optimizer_class([param], **optimizer_kwargs))
        param._optimizer_kwargs.append(optimizer_kwargs)
        if not register_hook or not param.requires_grad:
            return

        def step(p: Any) -> None:
            for optimizer in p._in_backward_optimizers:
                optimizer.step()
            p.grad = None

        for old in _HANDLES.pop(param, ()):  # one hook steps all optimizers of the parameter
            old.remove()
        _HANDLES[param] = [param.register_post_accumulate_grad_hook(step)]

    for param in params:
        attach(param)


def _get_in_backward_optimizers(module: Any) -> list[Any]:
    """The optimizers that a module's parameters were given, in the parameters' order."""
    found: list[Any] = []
    for param in module.parameters():
        found.extend(getattr(param, "_in_backward_optimizers", []))
    return found
