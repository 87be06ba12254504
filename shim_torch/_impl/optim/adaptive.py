"""Adadelta, Adamax, NAdam, RAdam, ASGD and Rprop."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.optim.implementations import module_getattr as _module_getattr
from shim_torch._impl.optim.per_parameter import (
    Each,
    add_ratio,
    add_scaled,
    check,
    check_rate,
    decayed,
    root,
    zeros_like,
)
from shim_torch._impl.table.calls import shim as _shim


def _is_plain(params: list[Any], group: dict[str, Any]) -> bool:
    """Whether the operators of whole steps, which are for the CPU, may take the parameters."""
    return bool(params) and not params[0].is_cuda and not group["capturable"]


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
        g, rho, eps = decayed(p, g, group), group["rho"], group["eps"]
        square, moved = state["square_avg"], state["acc_delta"]
        square.mul_(rho).addcmul_(g, g, value=1 - rho)
        delta = moved.add(eps).sqrt().div(square.add(eps).sqrt()).mul(g)
        moved.mul_(rho).addcmul_(delta, delta, value=1 - rho)
        add_scaled(p, delta, -lr)


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
        g, (beta1, beta2) = decayed(p, g, group), group["betas"]
        mean, largest = state["exp_avg"].lerp_(g, 1 - beta1), state["exp_inf"]
        largest.copy_((largest * beta2).maximum(g.abs().add_(group["eps"])))
        add_ratio(p, mean, largest, -lr / (1 - beta1**step))


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
        if group["weight_decay"] and group["decoupled_weight_decay"]:
            p.mul_(1 - lr * group["weight_decay"])
        else:
            g = decayed(p, g, group)
        now = beta1 * (1.0 - 0.5 * 0.96 ** (step * group["momentum_decay"]))
        then = beta1 * (1.0 - 0.5 * 0.96 ** ((step + 1) * group["momentum_decay"]))
        state["mu_product"] *= now
        product = state["mu_product"] if isinstance(step, _core.TensorBase) else float(state["mu_product"])
        mean, square = state["exp_avg"].lerp_(g, 1 - beta1), state["exp_avg_sq"]
        square.mul_(beta2).addcmul_(g, g, value=1 - beta2)
        scale = square.div(1 - beta2**step).sqrt().add(group["eps"])
        add_ratio(p, g, scale, -lr * (1.0 - now) / (1.0 - product))
        add_ratio(p, mean, scale, -lr * then / (1.0 - product * then))


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
        if group["weight_decay"] and group["decoupled_weight_decay"]:
            p.mul_(1 - lr * group["weight_decay"])
        else:
            g = decayed(p, g, group)
        mean, square = state["exp_avg"].lerp_(g, 1 - beta1), state["exp_avg_sq"]
        square.mul_(beta2).addcmul_(g, g, value=1 - beta2)
        late = 1 - beta2**step
        direction = mean / (1 - beta1**step)
        most = 2 / (1 - beta2) - 1
        length = most - 2 * step * beta2**step / late
        known = length > 5.0
        if group["capturable"]:  # both updates are computed, and the device selects one
            ratio = ((length - 4) * (length - 2) * most / ((most - 4) * (most - 2) * length)).where(known, 1.0)
            scaled = direction * (late.sqrt() / square.sqrt().add(group["eps"])) * ratio.sqrt()
            direction = scaled.where(known, direction)
        elif known:
            rectified = root((length - 4) * (length - 2) * most / ((most - 4) * (most - 2) * length))
            direction = direction * (root(late) / square.sqrt().add(group["eps"])) * rectified
        add_scaled(p, direction, -lr)


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
        g, rate, mu, average = decayed(p, g, group), state["eta"], state["mu"], state["ax"]
        if not group["capturable"]:
            rate, mu = float(rate), float(mu)
        p.mul_(1 - group["lambd"] * rate)
        add_scaled(p, g, -rate)
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
