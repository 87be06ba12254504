"""Adadelta, Adamax, NAdam, RAdam, ASGD and Rprop."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.optim.implementations import module_getattr as _module_getattr
from shim_torch._impl.optim.per_parameter import (
    Each,
    check,
    check_rate,
    zeros_like,
)
from shim_torch._impl.records.shared import optimizer_formulas as _formulas
from shim_torch._impl.table.calls import shim as _shim


def _is_plain(params: list[Any], group: dict[str, Any]) -> bool:
    """Whether the operators of whole steps, whose counts of steps are on the CPU, may take the parameters."""
    return bool(params) and not group["capturable"]


def _numbers(group: dict[str, Any], *names: str) -> Iterator[float]:
    return (float(group[name]) for name in names)


def _of_moments(group: dict[str, Any]) -> tuple[float, ...]:
    beta1, beta2 = group["betas"]
    lr, weight_decay, eps = _numbers(group, "lr", "weight_decay", "eps")
    return lr, float(beta1), float(beta2), weight_decay, eps


class Adadelta(Each):
    """Adadelta (torch.optim.Adadelta; Zeiler, 2012): steps scaled by running means of squared steps and gradients."""

    _together = True

    def __init__(
        self, params: Any, lr: Any = 1.0, rho: float = 0.9, eps: float = 1e-6, weight_decay: float = 0,
        foreach: bool | None = None, *, capturable: bool = False, maximize: bool = False, differentiable: bool = False,
    ) -> None:  # fmt: skip
        check_rate(lr)
        check("rho value", 0.0 <= rho <= 1.0, rho)
        check("epsilon value", 0.0 <= eps, eps)
        check("weight_decay value", 0.0 <= weight_decay, weight_decay)
        super().__init__(params, dict(lr=lr, rho=rho, eps=eps, weight_decay=weight_decay, maximize=maximize,
                                      capturable=capturable, foreach=foreach, differentiable=differentiable))  # fmt: skip

    def _begin(self, p: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        state["square_avg"], state["acc_delta"] = zeros_like(p), zeros_like(p)

    def _operator_states(self, params: list[Any], group: dict[str, Any]) -> tuple[str, ...] | None:
        return ("step", "square_avg", "acc_delta") if _is_plain(params, group) else None

    def _operator_step(self, lists: tuple[list[Any], ...], group: dict[str, Any]) -> None:
        params, grads, counts, *states = lists
        _shim.adadelta_step(
            params, grads, *states, counts, *_numbers(group, "lr", "rho", "weight_decay", "eps"), bool(group["maximize"]))  # fmt: skip

    def _update(self, p: Any, g: Any, state: dict[str, Any], group: dict[str, Any], lr: Any, step: Any) -> None:
        _formulas.adadelta(p, g, state["square_avg"], state["acc_delta"], step, lr=lr, rho=group["rho"],
                           weight_decay=group["weight_decay"], eps=group["eps"])  # fmt: skip


class Adamax(Each):
    """Adamax (torch.optim.Adamax; Kingma and Ba, 2014): Adam with a decayed maximum in place of the mean square."""

    _together = True

    def __init__(
        self, params: Any, lr: Any = 2e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 0, foreach: bool | None = None, *, maximize: bool = False, differentiable: bool = False,
        capturable: bool = False,
    ) -> None:  # fmt: skip
        self._check_common(lr, weight_decay, eps, betas)
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, foreach=foreach,
                                      maximize=maximize, differentiable=differentiable, capturable=capturable))  # fmt: skip

    def _begin(self, p: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        state["exp_avg"], state["exp_inf"] = zeros_like(p), zeros_like(p)

    def _operator_states(self, params: list[Any], group: dict[str, Any]) -> tuple[str, ...] | None:
        return ("step", "exp_avg", "exp_inf") if _is_plain(params, group) else None

    def _operator_step(self, lists: tuple[list[Any], ...], group: dict[str, Any]) -> None:
        params, grads, counts, *states = lists
        _shim.adamax_step(params, grads, *states, counts, *_of_moments(group), bool(group["maximize"]))

    def _update(self, p: Any, g: Any, state: dict[str, Any], group: dict[str, Any], lr: Any, step: Any) -> None:
        beta1, beta2 = group["betas"]
        _formulas.adamax(p, g, state["exp_avg"], state["exp_inf"], step, lr=lr, beta1=beta1, beta2=beta2,
                         weight_decay=group["weight_decay"], eps=group["eps"])  # fmt: skip


class NAdam(Each):
    """NAdam (torch.optim.NAdam; Dozat, 2016): Adam with Nesterov's momentum."""

    _together = True

    def __init__(
        self, params: Any, lr: Any = 2e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 0, momentum_decay: float = 4e-3, decoupled_weight_decay: bool = False, *,
        foreach: bool | None = None, maximize: bool = False, capturable: bool = False, differentiable: bool = False,
    ) -> None:  # fmt: skip
        self._check_common(lr, weight_decay, eps, betas)
        check("momentum_decay value", 0.0 <= momentum_decay, momentum_decay)
        super().__init__(params, dict(
            lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, momentum_decay=momentum_decay,
            decoupled_weight_decay=decoupled_weight_decay, maximize=maximize, foreach=foreach, capturable=capturable,
            differentiable=differentiable))  # fmt: skip

    def _begin(self, p: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        state["mu_product"] = _scalar(p, group, 1.0)
        state["exp_avg"], state["exp_avg_sq"] = zeros_like(p), zeros_like(p)

    def _operator_states(self, params: list[Any], group: dict[str, Any]) -> tuple[str, ...] | None:
        return ("step", "exp_avg", "exp_avg_sq", "mu_product") if _is_plain(params, group) else None

    def _operator_step(self, lists: tuple[list[Any], ...], group: dict[str, Any]) -> None:
        params, grads, counts, *states = lists
        _shim.nadam_step(
            params, grads, *states, counts, *_of_moments(group), float(group["momentum_decay"]), bool(group["maximize"]),
            bool(group["decoupled_weight_decay"]))  # fmt: skip

    def _update(self, p: Any, g: Any, state: dict[str, Any], group: dict[str, Any], lr: Any, step: Any) -> None:
        beta1, beta2 = group["betas"]
        _formulas.nadam(
            p, g, state["exp_avg"], state["exp_avg_sq"], state["mu_product"], step, lr=lr, beta1=beta1, beta2=beta2,
            weight_decay=group["weight_decay"], eps=group["eps"], momentum_decay=group["momentum_decay"],
            decoupled=group["decoupled_weight_decay"])  # fmt: skip


class RAdam(Each):
    """RAdam (torch.optim.RAdam; Liu and others, 2019): Adam with rectified variance."""

    _together = True

    def __init__(
        self, params: Any, lr: Any = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 0, decoupled_weight_decay: bool = False, *, foreach: bool | None = None,
        maximize: bool = False, capturable: bool = False, differentiable: bool = False,
    ) -> None:  # fmt: skip
        self._check_common(lr, weight_decay, eps, betas)
        super().__init__(params, dict(
            lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, maximize=maximize, foreach=foreach,
            capturable=capturable, decoupled_weight_decay=decoupled_weight_decay, differentiable=differentiable))  # fmt: skip

    def _begin(self, p: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        state["exp_avg"], state["exp_avg_sq"] = zeros_like(p), zeros_like(p)

    def _operator_states(self, params: list[Any], group: dict[str, Any]) -> tuple[str, ...] | None:
        return ("step", "exp_avg", "exp_avg_sq") if _is_plain(params, group) else None

    def _operator_step(self, lists: tuple[list[Any], ...], group: dict[str, Any]) -> None:
        params, grads, counts, *states = lists
        _shim.radam_step(
            params, grads, *states, counts, *_of_moments(group), bool(group["maximize"]),
            bool(group["decoupled_weight_decay"]))  # fmt: skip

    def _update(self, p: Any, g: Any, state: dict[str, Any], group: dict[str, Any], lr: Any, step: Any) -> None:
        beta1, beta2 = group["betas"]
        _formulas.radam(
            p, g, state["exp_avg"], state["exp_avg_sq"], step, lr=lr, beta1=beta1, beta2=beta2,
            weight_decay=group["weight_decay"], eps=group["eps"], decoupled=group["decoupled_weight_decay"],
            captured=group["capturable"])  # fmt: skip


class ASGD(Each):
    """ASGD (torch.optim.ASGD; Polyak and Juditsky, 1992): gradient descent that also averages the parameters."""

    def __init__(
        self, params: Any, lr: Any = 1e-2, lambd: float = 1e-4, alpha: float = 0.75, t0: float = 1e6,
        weight_decay: float = 0, foreach: bool | None = None, maximize: bool = False, differentiable: bool = False,
        capturable: bool = False,
    ) -> None:  # fmt: skip
        self._check_common(lr, weight_decay)
        super().__init__(params, dict(
            lr=lr, lambd=lambd, alpha=alpha, t0=t0, weight_decay=weight_decay, foreach=foreach, maximize=maximize,
            differentiable=differentiable, capturable=capturable))  # fmt: skip

    def _begin(self, p: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        state["eta"] = _scalar(p, group, group["lr"])
        state["mu"] = _scalar(p, group, 1.0)
        state["ax"] = zeros_like(p)

    def _update(self, p: Any, g: Any, state: dict[str, Any], group: dict[str, Any], lr: Any, step: Any) -> None:
        g, rate, mu = _formulas.decayed(p, g, group["weight_decay"]), state["eta"], state["mu"]
        if not group["capturable"]:
            rate, mu = float(rate), float(mu)
        p.mul_(1 - group["lambd"] * rate)
        _formulas.add_scaled(p, g, -rate)
        average = state["ax"]
        if isinstance(mu, _core.TensorBase) or mu != 1:
            average.add_((p - average) * mu)
        else:
            average.copy_(p)
        late = step - group["t0"]
        state["eta"].copy_(_tensor(lr / (1 + group["lambd"] * lr * step) ** group["alpha"]))
        state["mu"].copy_(_tensor(1 / (late.clamp(min=1) if isinstance(late, _core.TensorBase) else max(1, late))))


def _tensor(value: Any) -> Any:
    return value if isinstance(value, _core.TensorBase) else _core.empty_tensor((), _core.float64).fill_(value)


def _scalar(p: Any, group: dict[str, Any], value: Any) -> Any:
    """A scalar of a parameter's state: on its device where a captured graph updates it, else on the CPU."""
    made = _core.empty_tensor((), _core.float32, p.device if group["capturable"] else None)
    return made.fill_(value if isinstance(value, _core.TensorBase) else float(value))


class Rprop(Each):
    """Rprop (torch.optim.Rprop; Riedmiller and Braun, 1993): steps grow while a gradient keeps its sign."""

    def __init__(
        self, params: Any, lr: Any = 1e-2, etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50), *, capturable: bool = False, foreach: bool | None = None,
        maximize: bool = False, differentiable: bool = False,
    ) -> None:  # fmt: skip
        check_rate(lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        super().__init__(params, dict(lr=lr, etas=etas, step_sizes=step_sizes, foreach=foreach, maximize=maximize,
                                      differentiable=differentiable, capturable=capturable))  # fmt: skip

    def _begin(self, p: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        state["prev"], state["step_size"] = zeros_like(p), p.new_full(p.shape, float(group["lr"]))

    def _update(self, p: Any, g: Any, state: dict[str, Any], group: dict[str, Any], lr: Any, step: Any) -> None:
        (shrink, grow), (least, most) = group["etas"], group["step_sizes"]
        kept = g * state["prev"]
        turned = kept < 0
        factor = kept.new_ones(kept.shape).masked_fill(kept > 0, grow).masked_fill(turned, shrink)
        size = state["step_size"].mul_(factor).clamp_(least, most)
        g = g.masked_fill(turned, 0)
        p.addcmul_(g.sign(), size, value=-1)
        state["prev"].copy_(g)


__getattr__ = _module_getattr("torch.optim.adadelta", "adadelta", "adamax", "asgd", "nadam", "radam", "rprop")
