"""A step of an optimizer over lists of tensors, its counts of steps counted up first: one kernel, one operator of a compiled function.

Lists of states have a tensor for each parameter, or none where the option that needs them is off.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shim_torch._impl.autograd.grad_mode import no_grad
from shim_torch._impl.records.shared import optimizer_formulas as formulas
from shim_torch._impl.table.record import composite

_SHIM: dict[str, Any] = {"function": False, "renews_numbers": True}


def _each(
    formula: Callable[..., None],
    maximize: bool,
    params: Any,
    grads: Any,
    *states: Any,
    counts: Any = None,
    optional: int = 0,
    **numbers: Any,
) -> tuple[()]:
    """``optional``: how many of the last ``states`` may have no tensors. Errors: RuntimeError for lists of other lengths."""
    n = len(params)
    needed = [grads, *states[: len(states) - optional], *([] if counts is None else [counts])]
    lengths = [len(s) for s in needed]
    if any(k != n for k in lengths) or any(len(s) not in (0, n) for s in states):
        raise RuntimeError(f"a step of {n} parameters was given lists of {lengths} gradients, states and counts")
    with no_grad():
        for count in counts or ():
            count += 1
        for i, p in enumerate(params):
            own = [s[i] if s else None for s in states]
            if counts:
                own.append(float(counts[i]))
            try:
                formula(p, -grads[i] if maximize else grads[i], *own, **numbers)
            except ZeroDivisionError as e:
                raise RuntimeError(f"a step with {numbers} has no result: {e}") from e
    return ()


@composite(
    "shim::adam_step(Tensor(a!)[] self, Tensor[] grads, Tensor(b!)[] exp_avgs, Tensor(c!)[] exp_avg_sqs, Tensor(d!)[] max_exp_avg_sqs, "
    "Tensor(e!)[] state_steps, float lr, float beta1, float beta2, float weight_decay, float eps, bool maximize, bool decoupled) -> ()",
    foreseen="any",
    native="adam_step",
    **_SHIM,
)
def adam_step(self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps,
              lr, beta1, beta2, weight_decay, eps, maximize, decoupled):  # fmt: skip
    """Adam, or AdamW where ``decoupled``; with ``max_exp_avg_sqs`` that of amsgrad."""
    return _each(formulas.adam, maximize, self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, counts=state_steps, optional=1,
                 lr=lr, beta1=beta1, beta2=beta2, weight_decay=weight_decay, eps=eps, decoupled=decoupled)  # fmt: skip


@composite(
    "shim::sgd_step(Tensor(a!)[] self, Tensor[] grads, Tensor(b!)[] momentum_buffers, float lr, float momentum, float dampening, "
    "float weight_decay, bool nesterov, bool maximize) -> ()",
    foreseen="any",
    native="sgd_step",
    **_SHIM,
)
def sgd_step(self, grads, momentum_buffers, lr, momentum, dampening, weight_decay, nesterov, maximize):
    """Gradient descent, with momentum where there are buffers."""
    return _each(formulas.sgd, maximize, self, grads, momentum_buffers, optional=1,
                 lr=lr, momentum=momentum, dampening=dampening, weight_decay=weight_decay, nesterov=nesterov)  # fmt: skip


@composite(
    "shim::adagrad_step(Tensor(a!)[] self, Tensor[] grads, Tensor(b!)[] state_sums, Tensor(c!)[] state_steps, float lr, float lr_decay, "
    "float weight_decay, float eps, bool maximize) -> ()",
    foreseen="any",
    native="adagrad_step",
    **_SHIM,
)
def adagrad_step(self, grads, state_sums, state_steps, lr, lr_decay, weight_decay, eps, maximize):
    """Adagrad."""
    return _each(formulas.adagrad, maximize, self, grads, state_sums, counts=state_steps,
                 lr=lr, lr_decay=lr_decay, weight_decay=weight_decay, eps=eps)  # fmt: skip


@composite(
    "shim::rmsprop_step(Tensor(a!)[] self, Tensor[] grads, Tensor(b!)[] square_avgs, Tensor(c!)[] momentum_buffers, "
    "Tensor(d!)[] grad_avgs, Tensor(e!)[] state_steps, float lr, float alpha, float weight_decay, float eps, float momentum, "
    "bool maximize) -> ()",
    foreseen="any",
    native="rmsprop_step",
    **_SHIM,
)
def rmsprop_step(self, grads, square_avgs, momentum_buffers, grad_avgs, state_steps,
                 lr, alpha, weight_decay, eps, momentum, maximize):  # fmt: skip
    """RMSprop, with momentum where there are buffers, centred where there are means of gradients."""
    return _each(formulas.rmsprop, maximize, self, grads, square_avgs, momentum_buffers, grad_avgs, counts=state_steps, optional=2,
                 lr=lr, alpha=alpha, weight_decay=weight_decay, eps=eps, momentum=momentum)  # fmt: skip


@composite(
    "shim::adadelta_step(Tensor(a!)[] self, Tensor[] grads, Tensor(b!)[] square_avgs, Tensor(c!)[] acc_deltas, "
    "Tensor(d!)[] state_steps, float lr, float rho, float weight_decay, float eps, bool maximize) -> ()",
    foreseen="any",
    native="adadelta_step",
    **_SHIM,
)
def adadelta_step(self, grads, square_avgs, acc_deltas, state_steps, lr, rho, weight_decay, eps, maximize):
    """Adadelta."""
    return _each(formulas.adadelta, maximize, self, grads, square_avgs, acc_deltas, counts=state_steps,
                 lr=lr, rho=rho, weight_decay=weight_decay, eps=eps)  # fmt: skip


@composite(
    "shim::adamax_step(Tensor(a!)[] self, Tensor[] grads, Tensor(b!)[] exp_avgs, Tensor(c!)[] exp_infs, Tensor(d!)[] state_steps, "
    "float lr, float beta1, float beta2, float weight_decay, float eps, bool maximize) -> ()",
    foreseen="any",
    native="adamax_step",
    **_SHIM,
)
def adamax_step(self, grads, exp_avgs, exp_infs, state_steps, lr, beta1, beta2, weight_decay, eps, maximize):
    """Adamax."""
    return _each(formulas.adamax, maximize, self, grads, exp_avgs, exp_infs, counts=state_steps,
                 lr=lr, beta1=beta1, beta2=beta2, weight_decay=weight_decay, eps=eps)  # fmt: skip


@composite(
    "shim::nadam_step(Tensor(a!)[] self, Tensor[] grads, Tensor(b!)[] exp_avgs, Tensor(c!)[] exp_avg_sqs, Tensor(d!)[] mu_products, "
    "Tensor(e!)[] state_steps, float lr, float beta1, float beta2, float weight_decay, float eps, float momentum_decay, bool maximize, "
    "bool decoupled) -> ()",
    foreseen="any",
    native="nadam_step",
    **_SHIM,
)
def nadam_step(self, grads, exp_avgs, exp_avg_sqs, mu_products, state_steps,
               lr, beta1, beta2, weight_decay, eps, momentum_decay, maximize, decoupled):  # fmt: skip
    """NAdam, its weight decay that of AdamW where ``decoupled``."""
    return _each(formulas.nadam, maximize, self, grads, exp_avgs, exp_avg_sqs, mu_products, counts=state_steps,
                 lr=lr, beta1=beta1, beta2=beta2, weight_decay=weight_decay, eps=eps, momentum_decay=momentum_decay,
                 decoupled=decoupled)  # fmt: skip


@composite(
    "shim::radam_step(Tensor(a!)[] self, Tensor[] grads, Tensor(b!)[] exp_avgs, Tensor(c!)[] exp_avg_sqs, Tensor(d!)[] state_steps, "
    "float lr, float beta1, float beta2, float weight_decay, float eps, bool maximize, bool decoupled) -> ()",
    foreseen="any",
    native="radam_step",
    **_SHIM,
)
def radam_step(self, grads, exp_avgs, exp_avg_sqs, state_steps,
               lr, beta1, beta2, weight_decay, eps, maximize, decoupled):  # fmt: skip
    """RAdam, its weight decay that of AdamW where ``decoupled``."""
    return _each(formulas.radam, maximize, self, grads, exp_avgs, exp_avg_sqs, counts=state_steps,
                 lr=lr, beta1=beta1, beta2=beta2, weight_decay=weight_decay, eps=eps, decoupled=decoupled)  # fmt: skip
