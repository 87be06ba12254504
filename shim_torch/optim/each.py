"""The loop that the optimizers here share: every parameter that has a gradient, one at a time."""

from __future__ import annotations

from typing import Any

from native import _core
from shim_torch.autograd.grad_mode import no_grad
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
        with no_grad():
            for group in self.param_groups:
                for p in group["params"]:
                    if p.grad is not None:
                        self._move(p, -p.grad if group["maximize"] else p.grad, group)
        return loss

    def _move(self, p: Any, g: Any, group: dict[str, Any]) -> None:
        state = self.state[p]
        if not state:
            state["step"] = _core.empty_tensor((), dtype=_core.float32).zero_()
            self._begin(p, state, group)
        state["step"] += 1
        self._update(p, g, state, group, float(group["lr"]), float(state["step"]))

    def _begin(self, p: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        raise NotImplementedError

    def _update(self, p: Any, g: Any, state: dict[str, Any], group: dict[str, Any], lr: float, step: float) -> None:
        raise NotImplementedError


def decayed(p: Any, g: Any, group: dict[str, Any]) -> Any:
    """The gradient with the group's weight decay in it."""
    return g.add(p, alpha=group["weight_decay"]) if group["weight_decay"] else g
