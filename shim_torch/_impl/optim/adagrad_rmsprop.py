"""Adagrad and RMSprop."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.optim.implementations import module_getattr as _module_getattr
from shim_torch._impl.optim.per_parameter import (
    Each,
    check,
    check_rate,
    zeros_like,
)
from shim_torch._impl.records.shared import optimizer_formulas as _formulas
from shim_torch._impl.table.calls import shim as _shim


class Adagrad(Each):
    """Adagrad (torch.optim.Adagrad; Duchi, Hazan and Singer, 2011): steps over the root of summed squares."""

    _together = True

    _sparse_refusal = ""

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_rate(lr)
        check("lr_decay value", 0.0 <= lr_decay, lr_decay)
        check("weight_decay value", 0.0 <= weight_decay, weight_decay)
        check("initial_accumulator_value value", 0.0 <= initial_accumulator_value, initial_accumulator_value)
        check("epsilon value", 0.0 <= eps, eps)
        defaults = dict(
            lr=lr,
            lr_decay=lr_decay,
            eps=eps,
            weight_decay=weight_decay,
            initial_accumulator_value=initial_accumulator_value,
            foreach=foreach,
            maximize=maximize,
            differentiable=differentiable,
            fused=fused,
        )
        super().__init__(params, defaults)
        for group in self.param_groups:  # its state is made before the first step, unlike other optimizers'
            for p in group["params"]:
                self._begin_state(p, self.state[p], group)

    def share_memory(self) -> None:
        """Moves the sums of squares to shared memory."""
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p]["sum"].share_memory_()

    def _begin(self, p: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        state["sum"] = zeros_like(p).add_(group["initial_accumulator_value"])

    def _update(self, p: Any, g: Any, state: dict[str, Any], group: dict[str, Any], lr: Any, step: Any) -> None:
        if g.is_sparse and group["weight_decay"]:
            raise RuntimeError("weight_decay option is not compatible with sparse gradients")
        if g.is_sparse:
            rate = lr / (1 + (step - 1) * group["lr_decay"])
            self._update_rows(p, g.coalesce(), state["sum"], rate, group["eps"])
            return
        _formulas.adagrad(p, g, state["sum"], step, lr=lr, lr_decay=group["lr_decay"], weight_decay=group["weight_decay"],
                          eps=group["eps"])  # fmt: skip

    def _operator_states(self, params: list[Any], group: dict[str, Any]) -> tuple[str, ...] | None:
        counts_on_device = params and params[0].is_cuda and group["fused"]
        return None if not params or counts_on_device else ("step", "sum")

    def _operator_step(self, lists: tuple[list[Any], ...], group: dict[str, Any]) -> None:
        params, grads, counts, sums = lists
        _shim.adagrad_step(
            params, grads, sums, counts, float(group["lr"]), float(group["lr_decay"]), float(group["weight_decay"]),
            float(group["eps"]), bool(group["maximize"]))  # fmt: skip

    @staticmethod
    def _update_rows(p: Any, g: Any, total: Any, rate: Any, eps: float) -> None:
        """Updates only the entries that the sparse gradient has."""
        values = g._values()

        def at_entries(x: Any) -> Any:
            from shim_torch._impl.sparse.construct import sparse_coo_tensor

            return sparse_coo_tensor(g._indices(), x, g.shape, is_coalesced=True)

        total.add_(at_entries(values.pow(2)))
        deviation = total.sparse_mask(g)._values().sqrt().add_(eps)
        p.add_(at_entries(values / deviation), alpha=-rate)


class RMSprop(Each):
    """RMSprop, plain or centred, with momentum (torch.optim.RMSprop; Hinton, 2012; centred: Graves, 2013)."""

    _together = True

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_rate(lr)
        check("epsilon value", 0.0 <= eps, eps)
        check("momentum value", 0.0 <= momentum, momentum)
        check("weight_decay value", 0.0 <= weight_decay, weight_decay)
        check("alpha value", 0.0 <= alpha, alpha)
        defaults = dict(
            lr=lr,
            momentum=momentum,
            alpha=alpha,
            eps=eps,
            centered=centered,
            weight_decay=weight_decay,
            capturable=capturable,
            foreach=foreach,
            maximize=maximize,
            differentiable=differentiable,
        )
        super().__init__(params, defaults)

    def _begin(self, p: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        state["square_avg"] = zeros_like(p)
        if group["momentum"] > 0:
            state["momentum_buffer"] = zeros_like(p)
        if group["centered"]:
            state["grad_avg"] = zeros_like(p)

    def _update(self, p: Any, g: Any, state: dict[str, Any], group: dict[str, Any], lr: Any, step: Any) -> None:
        buffer, mean = (state.get(name) for name in ("momentum_buffer", "grad_avg"))
        _formulas.rmsprop(
            p, g, state["square_avg"], buffer if group["momentum"] > 0 else None, mean if group["centered"] else None, step,
            lr=lr, alpha=group["alpha"], weight_decay=group["weight_decay"], eps=group["eps"], momentum=group["momentum"])  # fmt: skip

    def _operator_states(self, params: list[Any], group: dict[str, Any]) -> tuple[str, ...] | None:
        if group["capturable"] or not params:
            return None
        moves, centred = (
            ("momentum_buffer",) if group["momentum"] > 0 else (),
            ("grad_avg",) if group["centered"] else (),
        )
        return ("step", "square_avg", *moves, *centred)

    def _operator_step(self, lists: tuple[list[Any], ...], group: dict[str, Any]) -> None:
        params, grads, counts, squares, *others = lists
        buffers = others.pop(0) if group["momentum"] > 0 else []
        _shim.rmsprop_step(
            params, grads, squares, buffers, others[0] if others else [], counts, float(group["lr"]),
            float(group["alpha"]), float(group["weight_decay"]), float(group["eps"]), float(group["momentum"]),
            bool(group["maximize"]))  # fmt: skip


__getattr__ = _module_getattr("torch.optim.adagrad", "adagrad", "rmsprop")
