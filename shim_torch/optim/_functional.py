"""The optimizers as functions of lists: parameters, gradients and states are given, and updated in place.

``torch.optim.adam.adam`` and its like; ``foreach`` and ``fused`` choose among PyTorch's implementations and change no result.
"""

from __future__ import annotations

import math
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.optim.adagrad_rmsprop import Adagrad, RMSprop
from shim_torch._impl.optim.adaptive import ASGD, Adadelta, Adamax, NAdam, RAdam, Rprop
from shim_torch._impl.optim.matrix_optimizers import Adafactor, Muon, SparseAdam
from shim_torch._impl.optim.per_parameter import Each
from shim_torch.optim.adam import Adam
from shim_torch.optim.sgd import SGD

__all__ = [
    "adadelta",
    "adagrad",
    "adam",
    "adamax",
    "adamw",
    "asgd",
    "nadam",
    "radam",
    "rmsprop",
    "rprop",
    "sgd",
    "sparse_adam",
]


def _check_steps(state_steps: Any) -> None:
    if not all(isinstance(t, _core.TensorBase) for t in state_steps):
        raise RuntimeError("API has changed, `state_steps` argument must contain a list of singleton tensors")


def _scaled(grads: Any, grad_scale: Any, found_inf: Any) -> Any:
    """The gradients without the loss scale; None where the step is to be left out."""
    if found_inf is not None and bool(found_inf):
        return None
    return grads if grad_scale is None else [g / grad_scale for g in grads]


# Options that a function may lack, and those that it takes apart: a group holds them in pairs.
_OPTIONS = {"maximize": False, "capturable": False, "differentiable": False, "foreach": None, "fused": None}
_PAIRS = {
    "betas": ("beta1", "beta2"),
    "etas": ("etaminus", "etaplus"),
    "step_sizes": ("step_size_min", "step_size_max"),
    "eps": ("eps1", "eps2"),
}


def _run(kind: type[Each], given: dict[str, Any], **lists: str) -> None:
    """One step by a class's own formula of what a function was given: its arguments by name.

    ``lists`` says which of them holds each entry of the parameters' states; what the formula makes anew is copied there.
    """
    group = {**_OPTIONS, **given}
    states = {entry: group.pop(name) for entry, name in lists.items()}
    params, steps = group.pop("params"), group.pop("state_steps")
    _check_steps(steps)
    grads = _scaled(group.pop("grads"), group.pop("grad_scale", None), group.pop("found_inf", None))
    if grads is None:
        return
    if group["foreach"] and group["differentiable"]:
        raise RuntimeError("torch.jit.script not supported with foreach optimizers")
    for pair, names in _PAIRS.items():
        if names[0] in group:
            group[pair] = tuple(group.pop(name) for name in names)
    rule: Each = kind.__new__(kind)
    rule.state = {}  # type: ignore[assignment]
    for i, (p, g) in enumerate(zip(params, grads, strict=True)):
        held = {entry: values[i] for entry, values in states.items() if i < len(values)}
        rule.state[p] = state = {**held, "step": steps[i]}
        rule._move(p, -g if group["maximize"] else g, group)
        for entry, value in state.items():
            old = held.get(entry)
            if old is not None and value is not old:
                old.copy_(value)


def adam(
    params: Any, grads: Any, exp_avgs: Any, exp_avg_sqs: Any, max_exp_avg_sqs: Any, state_steps: Any,
    foreach: bool | None = None, capturable: bool = False, differentiable: bool = False, fused: bool | None = None,
    grad_scale: Any = None, found_inf: Any = None, has_complex: bool = False, decoupled_weight_decay: bool = False,
    *, amsgrad: bool, beta1: Any, beta2: Any, lr: Any, weight_decay: float, eps: float, maximize: bool,
) -> None:  # fmt: skip
    """One step of Adam for lists of parameters, gradients and states."""
    largest = {"max_exp_avg_sq": "max_exp_avg_sqs"} if amsgrad else {}
    _run(Adam, locals(), exp_avg="exp_avgs", exp_avg_sq="exp_avg_sqs", **largest)


def adamw(
    params: Any, grads: Any, exp_avgs: Any, exp_avg_sqs: Any, max_exp_avg_sqs: Any, state_steps: Any,
    foreach: bool | None = None, capturable: bool = False, differentiable: bool = False, fused: bool | None = None,
    grad_scale: Any = None, found_inf: Any = None, has_complex: bool = False,
    *, amsgrad: bool, beta1: Any, beta2: Any, lr: Any, weight_decay: float, eps: float, maximize: bool,
) -> None:  # fmt: skip
    """One step of AdamW for lists of parameters, gradients and states."""
    adam(**locals(), decoupled_weight_decay=True)


def sgd(
    params: Any, d_p_list: Any, momentum_buffer_list: Any, has_sparse_grad: bool = False, foreach: bool | None = None,
    fused: bool | None = None, grad_scale: Any = None, found_inf: Any = None,
    *, weight_decay: float, momentum: float, lr: Any, dampening: float, nesterov: bool, maximize: bool,
) -> None:  # fmt: skip
    """One step of SGD; a buffer that is None is made, in the list."""
    grads = _scaled(d_p_list, grad_scale, found_inf)
    if grads is None:
        return
    group = dict(weight_decay=weight_decay, momentum=momentum, lr=lr, dampening=dampening, nesterov=nesterov,
                 differentiable=isinstance(lr, _core.TensorBase) and lr.requires_grad)  # fmt: skip
    rule = SGD.__new__(SGD)
    for i, (p, g) in enumerate(zip(params, grads, strict=True)):
        buffer = momentum_buffer_list[i] if momentum else None
        rule.state = {p: {} if buffer is None else {"momentum_buffer": buffer}}  # type: ignore[assignment]
        rule._move(p, -g if maximize else g, group)
        if momentum and buffer is None:
            momentum_buffer_list[i] = rule.state[p]["momentum_buffer"]


def adadelta(
    params: Any, grads: Any, square_avgs: Any, acc_deltas: Any, state_steps: Any, capturable: bool = False,
    foreach: bool | None = None, differentiable: bool = False, has_complex: bool = False,
    *, lr: Any, rho: float, eps: float, weight_decay: float, maximize: bool,
) -> None:  # fmt: skip
    """One step of Adadelta for lists of parameters, gradients and states."""
    _run(Adadelta, locals(), square_avg="square_avgs", acc_delta="acc_deltas")


def adagrad(
    params: Any, grads: Any, state_sums: Any, state_steps: Any, fused: bool | None = None, grad_scale: Any = None,
    found_inf: Any = None, has_sparse_grad: bool = False, foreach: bool | None = None, differentiable: bool = False,
    has_complex: bool = False, *, lr: Any, weight_decay: float, lr_decay: float, eps: float, maximize: bool,
) -> None:  # fmt: skip
    """One step of Adagrad for lists of parameters, gradients and states."""
    _run(Adagrad, locals(), sum="state_sums")


def adamax(
    params: Any, grads: Any, exp_avgs: Any, exp_infs: Any, state_steps: Any, foreach: bool | None = None,
    maximize: bool = False, differentiable: bool = False, capturable: bool = False, has_complex: bool = False,
    *, eps: float, beta1: float, beta2: float, lr: Any, weight_decay: float,
) -> None:  # fmt: skip
    """One step of Adamax for lists of parameters, gradients and states."""
    _run(Adamax, locals(), exp_avg="exp_avgs", exp_inf="exp_infs")


def asgd(
    params: Any, grads: Any, axs: Any, mus: Any, etas: Any, state_steps: Any, foreach: bool | None = None,
    maximize: bool = False, differentiable: bool = False, capturable: bool = False, has_complex: bool = False,
    *, lambd: float, lr: Any, t0: float, alpha: float, weight_decay: float,
) -> None:  # fmt: skip
    """One step of averaged SGD for lists of parameters, gradients and states."""
    _run(ASGD, locals(), ax="axs", mu="mus", eta="etas")


def nadam(
    params: Any, grads: Any, exp_avgs: Any, exp_avg_sqs: Any, mu_products: Any, state_steps: Any,
    decoupled_weight_decay: bool = False, foreach: bool | None = None, capturable: bool = False,
    differentiable: bool = False, has_complex: bool = False, maximize: bool = False,
    *, beta1: float, beta2: float, lr: Any, weight_decay: float, momentum_decay: float, eps: float,
) -> None:  # fmt: skip
    """One step of NAdam for lists of parameters, gradients and states."""
    if not all(isinstance(t, _core.TensorBase) for t in mu_products):
        raise RuntimeError("API has changed, `mu_products` argument must contain a list of singleton tensors")
    _run(NAdam, locals(), exp_avg="exp_avgs", exp_avg_sq="exp_avg_sqs", mu_product="mu_products")


def radam(
    params: Any, grads: Any, exp_avgs: Any, exp_avg_sqs: Any, state_steps: Any, decoupled_weight_decay: bool = False,
    foreach: bool | None = None, differentiable: bool = False, capturable: bool = False, has_complex: bool = False,
    maximize: bool = False, *, beta1: float, beta2: float, lr: Any, weight_decay: float, eps: float,
) -> None:  # fmt: skip
    """One step of RAdam for lists of parameters, gradients and states."""
    _run(RAdam, locals(), exp_avg="exp_avgs", exp_avg_sq="exp_avg_sqs")


def rmsprop(
    params: Any, grads: Any, square_avgs: Any, grad_avgs: Any, momentum_buffer_list: Any, state_steps: Any,
    foreach: bool | None = None, maximize: bool = False, differentiable: bool = False, capturable: bool = False,
    has_complex: bool = False, *, lr: Any, alpha: float, eps: float, weight_decay: float, momentum: float, centered: bool,
) -> None:  # fmt: skip
    """One step of RMSprop for lists of parameters, gradients and states."""
    lists = dict(square_avg="square_avgs", grad_avg="grad_avgs", momentum_buffer="momentum_buffer_list")
    _run(RMSprop, locals(), **lists)


def rprop(
    params: Any, grads: Any, prevs: Any, step_sizes: Any, state_steps: Any, foreach: bool | None = None,
    capturable: bool = False, maximize: bool = False, differentiable: bool = False, has_complex: bool = False,
    *, step_size_min: float, step_size_max: float, etaminus: float, etaplus: float,
) -> None:  # fmt: skip
    """One step of Rprop for lists of parameters, gradients and states."""
    _run(Rprop, {**locals(), "lr": 0.0}, prev="prevs", step_size="step_sizes")


def sparse_adam(
    params: Any, grads: Any, exp_avgs: Any, exp_avg_sqs: Any, state_steps: list[int],
    *, eps: float, beta1: float, beta2: float, lr: float, maximize: bool,
) -> None:  # fmt: skip
    """One step of SparseAdam; ``state_steps`` are numbers that count this step already."""
    rule = SparseAdam.__new__(SparseAdam)
    group = dict(eps=eps, betas=(beta1, beta2), lr=lr)
    for i, (p, g) in enumerate(zip(params, grads, strict=True)):
        state = {"step": math.floor(state_steps[i]) - 1, "exp_avg": exp_avgs[i], "exp_avg_sq": exp_avg_sqs[i]}
        rule.state = {p: state}  # type: ignore[assignment]
        rule._move(p, -g if maximize else g, group)


def adafactor(
    params: Any, grads: Any, row_vars: Any, col_vars: Any, variances: Any, state_steps: Any, foreach: bool | None = None,
    grad_scale: Any = None, found_inf: Any = None, has_complex: bool = False,
    *, d: float, lr: Any, beta2_decay: float, weight_decay: float, eps1: float | None, eps2: float, maximize: bool,
) -> None:  # fmt: skip
    """One step of Adafactor; matrices have row and column means (None for vectors), vectors ``variances``."""
    if grad_scale is not None or found_inf is not None:
        raise AssertionError("Grad scaling should occur outside of optimizer.step()")
    _run(Adafactor, locals(), row_var="row_vars", col_var="col_vars", variance="variances")


def muon(
    params: Any, grads: Any, muon_momentum_bufs: Any,
    *, foreach: bool | None = None, lr: float, weight_decay: float, momentum: float, nesterov: bool,
    ns_coefficients: tuple[float, float, float], ns_steps: int, eps: float, adjust_lr_fn: str | None, has_complex: bool,
) -> None:  # fmt: skip
    """One step of Muon for lists of matrices, gradients and momentum buffers."""
    if foreach:
        raise RuntimeError("Foreach is not supported for Muon yet")
    if has_complex:
        raise ValueError("Complex parameters are not supported")
    rule = Muon.__new__(Muon)
    group = dict(lr=lr, weight_decay=weight_decay, momentum=momentum, nesterov=nesterov, ns_coefficients=ns_coefficients,
                 ns_steps=ns_steps, eps=eps, adjust_lr_fn=adjust_lr_fn)  # fmt: skip
    for p, g, buffer in zip(params, grads, muon_momentum_bufs, strict=True):
        rule._move(p, g, buffer, group)


def _make_sparse(grad: Any, grad_indices: Any, values: Any) -> Any:
    """A sparse tensor of a gradient's size, with these indices and values."""
    import shim_torch

    return shim_torch.sparse_coo_tensor(grad_indices, values, grad.size())
