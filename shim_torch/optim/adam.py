"""Adam and AdamW."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.optim.helpers import _to_scalar
from shim_torch._impl.optim.implementations import module_getattr as _module_getattr
from shim_torch._impl.optim.per_parameter import Each, check, check_rate, zeros_like
from shim_torch._impl.records.shared import optimizer_formulas as _formulas
from shim_torch._impl.table.calls import shim as _shim

_STATES = ("step", "exp_avg", "exp_avg_sq")
_AMSGRAD_STATES = (*_STATES, "max_exp_avg_sq")


def _on_cuda(params: list[Any], group: dict[str, Any]) -> bool:
    """Whether counts of steps lie beside parameters on CUDA and nothing that a graph reads anew is a number here."""
    tensors = (group["lr"], *group["betas"])
    return bool(params) and params[0].is_cuda and not any(isinstance(v, _core.TensorBase) for v in tensors)


class Adam(Each):
    """Adam (torch.optim.Adam); ``decoupled_weight_decay`` makes it AdamW."""

    _sparse_refusal = "Adam does not support sparse gradients, please consider SparseAdam instead"

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
        if isinstance(lr, _core.TensorBase) and foreach and not capturable:
            raise ValueError("lr as a Tensor is not supported for capturable=False and foreach=True")
        check_rate(lr)
        check("epsilon value", 0.0 <= eps, eps)
        check("beta parameter at index 0", 0.0 <= betas[0] < 1.0, betas[0])
        check("beta parameter at index 1", 0.0 <= betas[1] < 1.0, betas[1])
        check("weight_decay value", 0.0 <= weight_decay, weight_decay)
        betas = _checked_betas(betas, capturable, foreach)
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
        state["exp_avg"] = zeros_like(p)
        state["exp_avg_sq"] = zeros_like(p)
        if group["amsgrad"]:
            state["max_exp_avg_sq"] = zeros_like(p)

    def _operator_states(self, params: list[Any], group: dict[str, Any]) -> tuple[str, ...] | None:
        if group["capturable"] and not _on_cuda(params, group):
            return None
        return _AMSGRAD_STATES if group["amsgrad"] else _STATES

    def _operator_step(self, lists: tuple[list[Any], ...], group: dict[str, Any]) -> None:
        params, grads, counts, means, squares, *greatest = lists
        beta1, beta2 = group["betas"]
        _shim.adam_step(
            params, grads, means, squares, greatest[0] if greatest else [], counts,
            float(group["lr"]), float(beta1), float(beta2), float(group["weight_decay"]), float(group["eps"]),
            bool(group["maximize"]), bool(group["decoupled_weight_decay"]))  # fmt: skip

    def _update(self, p: Any, g: Any, state: dict[str, Any], group: dict[str, Any], lr: Any, step: Any) -> None:
        differentiable = bool(group["differentiable"])
        beta1, beta2 = (b if differentiable else float(b) for b in group["betas"])
        _formulas.adam(
            p, g, state["exp_avg"], state["exp_avg_sq"], state["max_exp_avg_sq"] if group["amsgrad"] else None, step, lr=lr,
            beta1=beta1, beta2=beta2, weight_decay=group["weight_decay"], eps=group["eps"],
            decoupled=group["decoupled_weight_decay"], differentiable=differentiable)  # fmt: skip


def _checked_betas(betas: Any, capturable: bool, foreach: bool | None) -> Any:
    tensors = [isinstance(b, _core.TensorBase) for b in betas]
    if not (all(tensors) or all(isinstance(b, float) for b in betas)):
        raise ValueError("betas must be either both floats or both Tensors")
    for i, beta in enumerate(betas):
        if tensors[i]:
            if foreach and not capturable:
                raise ValueError(f"betas[{i}] as a Tensor is not supported for capturable=False and foreach=True")
            if beta.numel() != 1:
                raise ValueError(f"Tensor betas[{i}] must be 1-element")
    return tuple(_to_scalar(b) for b in betas)


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


__getattr__ = _module_getattr("torch.optim.adam", "adam", "adamw")
