"""Adam and AdamW."""

from __future__ import annotations

from typing import Any

from shim_torch.optim.each import Each, check, decayed


class Adam(Each):
    """Adam (torch.optim.Adam); ``decoupled_weight_decay`` makes it AdamW."""

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[Any, Any] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        check("learning rate", 0.0 <= lr, lr)
        check("epsilon value", 0.0 <= eps, eps)
        check("beta parameter at index 0", 0.0 <= betas[0] < 1.0, betas[0])
        check("beta parameter at index 1", 0.0 <= betas[1] < 1.0, betas[1])
        check("weight_decay value", 0.0 <= weight_decay, weight_decay)
        defaults = dict(
            lr=lr,
            betas=betas,
            eps=eps,
            weight_decay=weight_decay,
            amsgrad=amsgrad,
            maximize=maximize,
            foreach=foreach,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=decoupled_weight_decay,
        )
        super().__init__(params, defaults)

    def _begin(self, p: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        state["exp_avg"] = p.new_zeros(p.shape)
        state["exp_avg_sq"] = p.new_zeros(p.shape)
        if group["amsgrad"]:
            state["max_exp_avg_sq"] = p.new_zeros(p.shape)

    def _update(self, p: Any, g: Any, state: dict[str, Any], group: dict[str, Any], lr: float, step: float) -> None:
        beta1, beta2 = group["betas"]
        if group["decoupled_weight_decay"]:
            if group["weight_decay"]:
                p.mul_(1 - lr * group["weight_decay"])
        else:
            g = decayed(p, g, group)
        mean, square = state["exp_avg"], state["exp_avg_sq"]
        mean.lerp_(g, 1 - beta1)
        square.mul_(beta2).addcmul_(g, g, value=1 - beta2)
        if group["amsgrad"]:
            most = state["max_exp_avg_sq"]
            square = (most.clone() if group["differentiable"] else most).maximum(square)
            most.copy_(square)
        scale = square.sqrt().div((1 - beta2**step) ** 0.5).add_(group["eps"])
        p.addcdiv_(mean, scale, value=-lr / (1 - beta1**step))


class AdamW(Adam):
    """Adam with decoupled weight decay (torch.optim.AdamW)."""

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[Any, Any] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            foreach=foreach,
            maximize=maximize,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
        )
