"""``_fused_adam_`` and its like: one call for a step of an optimizer over lists of tensors, which are written.

A gradient scaler's ``grad_scale`` divides the gradients (in place), its ``found_inf`` skips the step.
"""

from __future__ import annotations

from typing import Any

from shim_torch._impl.autograd.grad_mode import no_grad
from shim_torch._impl.native import _core
from shim_torch._impl.records.shared import optimizer_formulas as formulas
from shim_torch._impl.table.aten_declare import aten

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
                formulas.adam(p, g, exp_avgs[i], exp_avg_sqs[i], max_exp_avg_sqs[i] if amsgrad else None, step, lr=lr, beta1=beta1,
                              beta2=beta2, weight_decay=weight_decay, eps=eps, decoupled=decoupled)  # fmt: skip

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
            buffer = momentum_buffers[i] if momentum else None
            formulas.sgd(p, g, buffer, lr=_number(lr), momentum=momentum, dampening=dampening, weight_decay=weight_decay,
                         nesterov=nesterov, first=is_first_step)  # fmt: skip


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
            formulas.adagrad(p, g, state_sums[i], _number(state_steps[i]), lr=_number(lr), lr_decay=lr_decay,
                             weight_decay=weight_decay, eps=eps)  # fmt: skip
