"""``_fused_adam_`` and its like: one call for a step of an optimizer over lists of tensors, which are written.

A gradient scaler's ``grad_scale`` divides the gradients (in place), its ``found_inf`` skips the step.
"""

from __future__ import annotations

from typing import Any

from shim_torch._impl.autograd.grad_mode import no_grad
from shim_torch._impl.native import _core
from shim_torch._impl.table.aten_declare import aten
from shim_torch._impl.table.calls import torch

VALUES = "checked"  # a call may fail for what its tensors hold (compile/deferral.py)


def _skipped(found_inf: Any) -> bool:
    return found_inf is not None and bool(found_inf.item() == 1)


def _unscaled(grad: Any, grad_scale: Any, maximize: bool) -> Any:
    if grad_scale is not None:
        grad.div_(grad_scale.to(grad.dtype))
    return -grad if maximize else grad


def _number(value: Any) -> float:
    return float(value.item() if isinstance(value, _core.Tensor) else value)


def _adam(decoupled: bool) -> Any:
    def body(
        params: Any, grads: Any, exp_avgs: Any, exp_avg_sqs: Any, max_exp_avg_sqs: Any, state_steps: Any, lr: Any, beta1: float,
        beta2: float, weight_decay: float, eps: float, amsgrad: bool, maximize: bool, grad_scale: Any, found_inf: Any,
    ) -> None:  # fmt: skip
        if not amsgrad and len(max_exp_avg_sqs):
            raise RuntimeError(
                "Expected max_exp_avg_sqs.empty() to be true, but got false.  (Could this error message be improved?  If so, please "
                "report an enhancement request to PyTorch.)"
            )
        if _skipped(found_inf):
            return
        lr = _number(lr)
        with no_grad():
            for i, p in enumerate(params):
                step = _number(state_steps[i])
                g = _unscaled(grads[i], grad_scale, maximize)
                if weight_decay and decoupled:
                    p.mul_(1 - lr * weight_decay)
                elif weight_decay:
                    g = g.add(p, alpha=weight_decay)
                exp_avgs[i].lerp_(g, 1 - beta1)
                exp_avg_sqs[i].mul_(beta2).addcmul_(g, g, value=1 - beta2)
                second = exp_avg_sqs[i]
                if amsgrad:
                    second = max_exp_avg_sqs[i].copy_(torch.maximum(max_exp_avg_sqs[i], second))
                denominator = (second.sqrt() / (1 - beta2**step) ** 0.5).add_(eps)
                p.addcdiv_(exp_avgs[i], denominator, value=-lr / (1 - beta1**step))

    return body


aten("_fused_adam_", "_fused_adam_.tensor_lr")(_adam(False))
aten("_fused_adamw_", "_fused_adamw_.tensor_lr")(_adam(True))


@aten("_fused_sgd_", "_fused_sgd_.tensor_lr")
def _fused_sgd_(
    params: Any, grads: Any, momentum_buffers: Any, weight_decay: float, momentum: float, lr: Any, dampening: float, nesterov: bool,
    maximize: bool, is_first_step: bool, grad_scale: Any, found_inf: Any,
) -> None:  # fmt: skip
    if _skipped(found_inf):
        return
    with no_grad():
        for i, p in enumerate(params):
            g = _unscaled(grads[i], grad_scale, maximize)
            if weight_decay:
                g = g.add(p, alpha=weight_decay)
            if momentum:
                buffer = momentum_buffers[i]
                if is_first_step:
                    buffer.copy_(g)
                else:
                    buffer.mul_(momentum).add_(g, alpha=1 - dampening)
                g = g.add(buffer, alpha=momentum) if nesterov else buffer
            p.add_(g, alpha=-_number(lr))


@aten("_fused_adagrad_", "_fused_adagrad_.tensor_lr")
def _fused_adagrad_(
    params: Any, grads: Any, state_sums: Any, state_steps: Any, lr: Any, lr_decay: float, weight_decay: float, eps: float,
    maximize: bool, grad_scale: Any, found_inf: Any,
) -> None:  # fmt: skip
    if _skipped(found_inf):
        return
    with no_grad():
        for i, p in enumerate(params):
            g = _unscaled(grads[i], grad_scale, maximize)
            if weight_decay:
                g = g.add(p, alpha=weight_decay)
            state_sums[i].addcmul_(g, g)
            rate = _number(lr) / (1 + (_number(state_steps[i]) - 1) * lr_decay)
            p.addcdiv_(g, state_sums[i].sqrt().add_(eps), value=-rate)
