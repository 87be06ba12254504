"""Stochastic gradient descent."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.optim.implementations import module_getattr as _module_getattr
from shim_torch._impl.optim.per_parameter import Each, check, check_rate
from shim_torch._impl.records.shared import optimizer_formulas as _formulas
from shim_torch._impl.table.calls import shim as _shim


class SGD(Each):
    """SGD with momentum, dampening, weight decay and Nesterov momentum (torch.optim.SGD)."""

    _sparse_refusal = ""

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_rate(lr)
        check("momentum value", momentum >= 0.0, momentum)
        check("weight_decay value", weight_decay >= 0.0, weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        defaults = dict(
            lr=lr,
            momentum=momentum,
            dampening=dampening,
            weight_decay=weight_decay,
            nesterov=nesterov,
            maximize=maximize,
            foreach=foreach,
            differentiable=differentiable,
            fused=fused,
        )
        super().__init__(params, defaults)

    def _operator_states(self, params: list[Any], group: dict[str, Any]) -> tuple[str, ...] | None:
        return ("momentum_buffer",) if group["momentum"] else ()

    def _begin_state(self, p: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        """Nothing: the first gradient is the buffer."""

    def _operator_step(self, lists: tuple[list[Any], ...], group: dict[str, Any]) -> None:
        params, grads, *buffers = lists
        _shim.sgd_step(
            params, grads, buffers[0] if buffers else [], float(group["lr"]), float(group["momentum"]),
            float(group["dampening"]), float(group["weight_decay"]), bool(group["nesterov"]), bool(group["maximize"]))  # fmt: skip

    def _move(self, p: Any, g: Any, group: dict[str, Any]) -> None:  # counts no steps, as PyTorch's
        lr = group["lr"] if group["differentiable"] else float(group["lr"])
        buffer = self.state[p].get("momentum_buffer") if group["momentum"] else None
        if group["momentum"] and buffer is None:  # it is the first gradient
            g = _formulas.decayed(p, g, group["weight_decay"])
            buffer = self.state[p]["momentum_buffer"] = g.detach().clone()
            _formulas.add_scaled(p, g.add(buffer, alpha=group["momentum"]) if group["nesterov"] else buffer, -lr)
            return
        _formulas.sgd(
            p, g, buffer, lr=lr, momentum=group["momentum"], dampening=group["dampening"],
            weight_decay=group["weight_decay"], nesterov=group["nesterov"])  # fmt: skip


__getattr__ = _module_getattr("torch.optim.sgd", "sgd")
