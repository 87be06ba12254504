"""Backward hooks of modules: full ones, between two identity nodes, and the old ones on a module's last node."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.nn.modules import hooks as _hooks

_NO_INPUTS = (
    "Full backward hook is firing when gradients are computed with respect to module outputs since no inputs require gradients. "
    "See https://docs.pytorch.org/docs/main/generated/torch.nn.Module.html#torch.nn.Module.register_full_backward_hook for more "
    "details."
)


class BackwardHooks:
    """Two identity nodes around forward whose gradients are the module's grad_output and grad_input."""

    def __init__(self, module: Any, hooks: list[Callable[..., Any]], pre: list[Callable[..., Any]]) -> None:
        self.module, self.hooks, self.pre = module, hooks, pre
        self.grad_output: tuple[Any, ...] | None = None
        self.inputs_watched = False
        self.count = 0  # of the inputs

    @classmethod
    def of(cls, module: Any) -> BackwardHooks | None:
        """The hooks of a module's call: its own and the global ones; None where it has none."""
        hooks = (
            list(_hooks.tables()._global_backward_hooks.values())
            if _hooks.tables()._global_is_full_backward_hook
            else []
        )
        if module._is_full_backward_hook:
            hooks += module._backward_hooks.values()
        pre = [*_hooks.tables()._global_backward_pre_hooks.values(), *module._backward_pre_hooks.values()]
        return cls(module, hooks, pre) if hooks or pre else None

    def watch_inputs(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments, passed through a node that sees their gradients."""
        self.count = len(args)
        positions = [i for i, a in enumerate(args) if isinstance(a, _core.Tensor)]
        if not any(args[i].requires_grad for i in positions) or not _core.is_grad_enabled():
            return args
        self.inputs_watched = True
        passed = _identity(self._on_grad_input(len(args), positions), *(args[i] for i in positions))
        new = list(args)
        for i, t in zip(positions, passed, strict=True):
            new[i] = t
        return tuple(new)

    def _on_grad_input(self, count: int, positions: list[int]) -> Callable[..., Any]:
        def run(grads: tuple[Any, ...]) -> tuple[Any, ...]:
            if self.grad_output is None:  # a gradient that did not pass the outputs: of a double backward
                return grads
            full: list[Any] = [None] * count
            for i, g in zip(positions, grads, strict=True):
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
            return _kept_kind(grads, tuple(now[i] for i in positions))

        return run

    def _without_inputs(self, grad_output: tuple[Any, ...]) -> None:
        """No input wants a gradient: the hooks run with the outputs' gradients."""
        if self.hooks:
            warnings.warn(_NO_INPUTS, stacklevel=2)
        nothing = (None,) * self.count
        for hook in self.hooks:
            changed = hook(self.module, nothing, grad_output)
            if changed is not None and not (isinstance(changed, tuple) and all(g is None for g in changed)):
                raise RuntimeError(
                    "Backward hook for Modules where no input requires gradient should always return None or None for all gradients."
                )
        self.grad_output = None

    def watch_outputs(self, result: Any) -> Any:
        """The result, passed through a node that sees its gradients."""
        if not isinstance(result, (_core.TensorBase, tuple)):
            warnings.warn(
                "For backward hooks to be called, module output should be a Tensor or a tuple of Tensors but received "
                f"{type(result)}",
                stacklevel=4,
            )
        single = not isinstance(result, tuple)
        outputs = (result,) if single else result
        positions = [i for i, o in enumerate(outputs) if isinstance(o, _core.Tensor) and o.requires_grad]
        if not positions:
            return result

        def run(grads: tuple[Any, ...]) -> tuple[Any, ...]:
            full: list[Any] = [None] * len(outputs)
            for i, g in zip(positions, grads, strict=True):
                full[i] = g
            now: tuple[Any, ...] = tuple(full)
            for hook in self.pre:
                changed = hook(self.module, now)
                if changed is not None:
                    now = changed if isinstance(changed, tuple) else (changed,)
                    if len(now) != len(outputs):
                        raise RuntimeError(
                            f"Backward pre hook returned an invalid number of grad_output, got {len(now)}, but expected {len(outputs)}"
                        )
            self.grad_output = now
            if not self.inputs_watched:
                self._without_inputs(now)
            return _kept_kind(grads, tuple(now[i] for i in positions))

        passed = _identity(run, *(outputs[i] for i in positions))
        new = list(outputs)
        for i, t in zip(positions, passed, strict=True):
            new[i] = t
        if single:
            return new[0]
        return type(result)(*new) if hasattr(result, "_fields") else tuple(new)


def _kept_kind(was: tuple[Any, ...], now: tuple[Any, ...]) -> tuple[Any, ...]:
    """``now``, where its gradients are of the dtypes and sizes of those that they replace: RuntimeError."""
    for before, after in zip(was, now, strict=True):
        if before is after or not isinstance(after, _core.TensorBase):
            continue
        if before is None:
            raise RuntimeError("can't replace a None gradient with a non-None value")
        if before.dtype != after.dtype or before.device.type != after.device.type:
            raise RuntimeError(f"hook 'hook' has changed the type of value (was {before.type()} got {after.type()})")
        if before.shape != after.shape:
            raise RuntimeError("hook 'hook' has changed the size of value")
    return now


def _identity(on_grads: Callable[[tuple[Any, ...]], tuple[Any, ...]], *tensors: Any) -> tuple[Any, ...]:
    """Passes tensors through one node whose backward hands all their gradients to ``on_grads``."""
    from shim_torch.autograd.function import Function

    class BackwardHookFunction(Function):
        @staticmethod
        def forward(ctx: Any, *inputs: Any) -> tuple[Any, ...]:
            passed = tuple(t.view_as(t) for t in inputs)
            ctx.mark_non_differentiable(*(p for p, t in zip(passed, inputs, strict=True) if not t.requires_grad))
            return passed

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> tuple[Any, ...]:
            return on_grads(grads)

    result = BackwardHookFunction.apply(*tensors)
    return result if isinstance(result, tuple) else (result,)


def watch_last_node(module: Any, args: tuple[Any, ...], result: Any) -> None:
    """The old backward hooks: they run with the node that made the module's first output."""
    everywhere = _hooks.tables()
    hooks = (
        list(everywhere._global_backward_hooks.values()) if everywhere._global_is_full_backward_hook is False else []
    )
    if module._is_full_backward_hook is False:
        hooks += module._backward_hooks.values()
    if not hooks:
        return
    first = result
    while not isinstance(first, _core.TensorBase):
        first = (
            next(v for v in first.values() if isinstance(v, _core.TensorBase)) if isinstance(first, dict) else first[0]
        )
    node = first.grad_fn
    if node is None:
        return

    def with_module(hook: Callable[..., Any]) -> Callable[..., Any]:
        def run(grad_input: Any, grad_output: Any) -> Any:
            return hook(module, grad_input, grad_output)

        run.__name__ = getattr(hook, "__name__", type(hook).__name__)
        return run

    for hook in hooks:
        node.register_hook(with_module(hook))
    _warn_of_last_node(args, result, node)


def _tensors(value: Any) -> tuple[Any, ...] | None:
    """A tensor, or a tuple of nothing else, as a tuple."""
    values = value if isinstance(value, tuple) else (value,)
    return values if all(isinstance(v, _core.TensorBase) for v in values) else None


def _warn_of_last_node(args: Any, result: Any, node: Any) -> None:
    end = "Please use register_full_backward_hook to get the documented behavior."
    outputs, inputs = _tensors(result), _tensors(args)
    text = ""
    if outputs is None:
        text = (
            "Using non-full backward hooks on a Module that does not return a single Tensor or a tuple of Tensors is deprecated and "
            f"will be removed in future versions. This hook will be missing some of the grad_output. {end}"
        )
    elif inputs is None:
        text = (
            "Using non-full backward hooks on a Module that does not take as input a single Tensor or a tuple of Tensors is "
            f"deprecated and will be removed in future versions. This hook will be missing some of the grad_input. {end}"
        )
    else:
        made = {o.grad_fn for o in outputs if o.grad_fn is not None}
        if not made or (len(made) == 1 and node not in made):
            text = (
                "Using a non-full backward hook when outputs are nested in python data structure is deprecated and will be removed "
                "in future versions. This hook will be missing some grad_output."
            )
        elif len(made) > 1:
            text = (
                "Using a non-full backward hook when outputs are generated by different autograd Nodes is deprecated and will be "
                f"removed in future versions. This hook will be missing some grad_output. {end}"
            )
        elif {i.grad_fn for i in inputs if i.grad_fn is not None} != {n for n, _ in node.next_functions}:
            text = (
                "Using a non-full backward hook when the forward contains multiple autograd Nodes is deprecated and will be removed "
                f"in future versions. This hook will be missing some grad_input. {end}"
            )
    if text:
        warnings.warn(text, FutureWarning, stacklevel=4)
