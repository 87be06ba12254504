"""One parameter's step of an optimizer in tensor operations.

The operators over lists (records/shim/optimizer_steps.py) are these where no kernel takes them, and the optimizers' own steps of a single
parameter: there rates and counts of steps may be tensors of one element, which a graph can hold and a gradient pass through, and
what is called a tensor may be a list of tensors with a tensor's methods (optim/tensor_lists.py).
"""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core


def add_scaled(p: Any, value: Any, rate: Any) -> None:
    """p += rate · value, for a number or a tensor of one element."""
    if isinstance(rate, _core.TensorBase):
        p.add_(value * rate)
    else:
        p.add_(value, alpha=rate)


def add_ratio(p: Any, value: Any, divisor: Any, rate: Any) -> None:
    """p += rate · value / divisor, for a number or a tensor of one element."""
    if isinstance(rate, _core.TensorBase):
        p.add_(value / divisor * rate)
    else:
        p.addcdiv_(value, divisor, value=rate)


def root(value: Any) -> Any:
    """The square root of a number or a tensor."""
    return value.sqrt() if isinstance(value, _core.TensorBase) else value**0.5


def decayed(p: Any, g: Any, weight_decay: float) -> Any:
    """The gradient plus weight decay times the parameter."""
    return g.add(p, alpha=weight_decay) if weight_decay else g


def adam(
    p: Any, g: Any, mean: Any, square: Any, greatest: Any, step: Any, *, lr: Any, beta1: Any, beta2: Any,
    weight_decay: float, eps: float, decoupled: bool, differentiable: bool = False,
) -> None:  # fmt: skip
    """Adam of a parameter whose step this is; ``greatest`` is the largest mean square, or None."""
    _moments(p, g, mean, square, lr, beta1, beta2, weight_decay, decoupled)
    if greatest is not None:
        square = (greatest.clone() if differentiable else greatest).maximum(square)
        greatest.copy_(square)
    scale = square.sqrt().div(root(1 - beta2**step)).add_(eps)
    add_ratio(p, mean, scale, -lr / (1 - beta1**step))


def sgd(
    p: Any, g: Any, buffer: Any, *, lr: Any, momentum: float, dampening: float, weight_decay: float, nesterov: bool,
    first: bool = False,
) -> None:  # fmt: skip
    """Gradient descent; without momentum ``buffer`` is None, at the ``first`` step it holds nothing yet."""
    g = decayed(p, g, weight_decay)
    if buffer is not None:
        if first:
            buffer.copy_(g)
        else:
            buffer.mul_(momentum).add_(g, alpha=1 - dampening)
        g = g.add(buffer, alpha=momentum) if nesterov else buffer
    add_scaled(p, g, -lr)


def adagrad(
    p: Any, g: Any, total: Any, step: Any, *, lr: Any, lr_decay: float, weight_decay: float, eps: float
) -> None:
    """Adagrad of a parameter whose step this is; ``total``: of squared gradients."""
    g = decayed(p, g, weight_decay)
    total.addcmul_(g, g)
    add_ratio(p, g, total.sqrt().add(eps), -lr / (1 + (step - 1) * lr_decay))


def rmsprop(
    p: Any, g: Any, square: Any, buffer: Any, mean: Any, step: Any, *, lr: Any, alpha: float, weight_decay: float, eps: float,
    momentum: float,
) -> None:  # fmt: skip
    """RMSprop; ``buffer`` is None without momentum, ``mean`` where it is not centred."""
    g = decayed(p, g, weight_decay)
    square = square.mul_(alpha).addcmul_(g, g, value=1 - alpha)
    if mean is not None:
        mean.lerp_(g, 1 - alpha)
        square = square.addcmul(mean, mean, value=-1)
    scale = square.sqrt().add(eps)
    if buffer is not None:
        add_scaled(p, buffer.mul_(momentum).addcdiv_(g, scale), -lr)
    else:
        add_ratio(p, g, scale, -lr)


def adadelta(
    p: Any, g: Any, square: Any, moves: Any, step: Any, *, lr: Any, rho: float, weight_decay: float, eps: float
) -> None:
    """Adadelta; ``moves``: the mean of squared steps."""
    g = decayed(p, g, weight_decay)
    square.mul_(rho).addcmul_(g, g, value=1 - rho)
    move = moves.add(eps).sqrt().div(square.add(eps).sqrt()).mul(g)
    moves.mul_(rho).addcmul_(move, move, value=1 - rho)
    add_scaled(p, move, -lr)


def adamax(
    p: Any, g: Any, mean: Any, largest: Any, step: Any, *, lr: Any, beta1: float, beta2: float, weight_decay: float,
    eps: float,
) -> None:  # fmt: skip
    """Adamax; ``largest``: the decayed maximum."""
    g = decayed(p, g, weight_decay)
    mean.lerp_(g, 1 - beta1)
    largest.copy_((largest * beta2).maximum(g.abs().add_(eps)))
    add_ratio(p, mean, largest, -lr / (1 - beta1**step))


def _moments(
    p: Any, g: Any, mean: Any, square: Any, lr: Any, beta1: Any, beta2: Any, weight_decay: float, decoupled: bool
) -> Any:
    if not decoupled:
        g = decayed(p, g, weight_decay)
    elif weight_decay:
        p.mul_(1 - lr * weight_decay)
    mean.lerp_(g, 1 - beta1)
    if isinstance(beta2, _core.TensorBase):
        square.mul_(beta2).add_(g * g * (1 - beta2))
    else:
        square.mul_(beta2).addcmul_(g, g, value=1 - beta2)
    return g


def nadam(
    p: Any, g: Any, mean: Any, square: Any, product: Any, step: Any, *, lr: Any, beta1: float, beta2: float,
    weight_decay: float, eps: float, momentum_decay: float, decoupled: bool,
) -> None:  # fmt: skip
    """NAdam; ``product``: of the momentums until now."""
    g = _moments(p, g, mean, square, lr, beta1, beta2, weight_decay, decoupled)
    now, then = (beta1 * (1 - 0.5 * 0.96 ** (count * momentum_decay)) for count in (step, step + 1))
    product *= now
    until = product if isinstance(step, _core.TensorBase) else float(product)
    scale = square.div(1 - beta2**step).sqrt().add(eps)
    add_ratio(p, g, scale, -lr * (1 - now) / (1 - until))
    add_ratio(p, mean, scale, -lr * then / (1 - until * then))


def radam(
    p: Any, g: Any, mean: Any, square: Any, step: Any, *, lr: Any, beta1: float, beta2: float, weight_decay: float,
    eps: float, decoupled: bool, captured: bool = False,
) -> None:  # fmt: skip
    """RAdam: the variance counts where enough steps are known, with a factor that rectifies it.

    ``captured``: both updates are computed, and the device selects one.
    """
    _moments(p, g, mean, square, lr, beta1, beta2, weight_decay, decoupled)
    late, most = 1 - beta2**step, 2 / (1 - beta2) - 1
    length = most - 2 * step * beta2**step / late
    direction, known = mean / (1 - beta1**step), length > 5
    if captured or known:
        ratio = (length - 4) * (length - 2) * most / ((most - 4) * (most - 2) * length)
        if captured:
            ratio = ratio.where(known, 1.0)
        scaled = direction * (root(late) / square.sqrt().add(eps)) * root(ratio)
        direction = scaled.where(known, direction) if captured else scaled
    add_scaled(p, direction, -lr)
