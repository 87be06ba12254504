"""The loop that the optimizers here share: every parameter that has a gradient, one at a time."""

from __future__ import annotations

from typing import Any

from native import _core
from shim_torch.autograd.grad_mode import set_grad_enabled
from shim_torch.optim.optimizer import Optimizer, check, closure_loss


class Each(Optimizer):
    """An optimizer that updates one parameter at a time; its state counts the parameter's steps."""

    def _check_common(self, lr: Any, weight_decay: float, eps: float | None = None, betas: Any = None) -> None:
        check("learning rate", 0.0 <= lr, lr)
        if eps is not None:
            check("epsilon value", 0.0 <= eps, eps)
        if betas is not None:
            check("beta parameter at index 0", 0.0 <= betas[0] < 1.0, betas[0])
            check("beta parameter at index 1", 0.0 <= betas[1] < 1.0, betas[1])
        check("weight_decay value", 0.0 <= weight_decay, weight_decay)

    def step(self, closure: Any = None) -> Any:
        loss = closure_loss(closure)
        with set_grad_enabled(bool(self.defaults.get("differentiable"))):
            for group in self.param_groups:
                for p in group["params"]:
                    if p.grad is not None:
                        self._move(p, -p.grad if group["maximize"] else p.grad, group)
        return loss

    def _move(self, p: Any, g: Any, group: dict[str, Any]) -> None:
        state = self.state[p]
        complex_ = p.is_complex()
        if not state:
            state["step"] = _core.empty_tensor((), dtype=_core.float32).zero_()
            self._begin_complex(p, state, group) if complex_ else self._begin(p, state, group)
        state["step"] += 1
        lr, step = float(group["lr"]), float(state["step"])
        if complex_:
            self._update_complex(p, g, state, group, lr, step)
        else:
            self._update(p, g, state, group, lr, step)

    def _begin_complex(self, p: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        """State of a complex parameter is complex where it has the parameter's shape."""
        import shim_torch

        real = shim_torch.view_as_real(p.detach())
        self._begin(real, state, group)
        for name, value in state.items():
            if isinstance(value, _core.TensorBase) and value.shape == real.shape:
                state[name] = shim_torch.view_as_complex(value)

    def _update_complex(
        self, p: Any, g: Any, state: dict[str, Any], group: dict[str, Any], lr: float, step: float
    ) -> None:
        """Real and imaginary parts are updated as if they were two parameters."""
        import shim_torch

        def real(x: Any) -> Any:
            return shim_torch.view_as_real(x) if isinstance(x, _core.TensorBase) and x.is_complex() else x

        seen = {name: real(value) for name, value in state.items()}
        before = dict(seen)
        self._update(real(p), real(g), seen, group, lr, step)
        for name, value in seen.items():
            if value is not before.get(name):
                whole = isinstance(value, _core.TensorBase) and value.dim() == p.dim() + 1
                state[name] = shim_torch.view_as_complex(value) if whole else value

    def _begin(self, p: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        raise NotImplementedError

    def _update(self, p: Any, g: Any, state: dict[str, Any], group: dict[str, Any], lr: float, step: float) -> None:
        raise NotImplementedError


def decayed(p: Any, g: Any, group: dict[str, Any]) -> Any:
    """The gradient with the group's weight decay in it."""
    return g.add(p, alpha=group["weight_decay"]) if group["weight_decay"] else g
