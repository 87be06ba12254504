"""One parameter's step of an optimizer in tensor operations: what the kernels over lists (records/shim/optimizer_steps.py) compute."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.table.calls import torch


def decayed(p: Any, g: Any, weight_decay: float) -> Any:
    """The gradient plus weight decay times the parameter."""
    return g.add(p, alpha=weight_decay) if weight_decay else g


def adam(
    p: Any, g: Any, mean: Any, square: Any, greatest: Any, step: float, *, lr: float, beta1: float, beta2: float,
    weight_decay: float, eps: float, decoupled: bool,
) -> None:  # fmt: skip
    """Adam of a parameter whose step this is; ``greatest`` is the largest mean square, or None."""
    _moments(p, g, mean, square, lr, beta1, beta2, weight_decay, decoupled)
    if greatest is not None:
        square = greatest.copy_(torch.maximum(greatest, square))
    denominator = (square.sqrt() / (1 - beta2**step) ** 0.5).add_(eps)
    p.addcdiv_(mean, denominator, value=-lr / (1 - beta1**step))


def sgd(
    p: Any, g: Any, buffer: Any, *, lr: float, momentum: float, dampening: float, weight_decay: float, nesterov: bool,
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
    p.add_(g, alpha=-lr)


def adagrad(
    p: Any, g: Any, total: Any, step: float, *, lr: float, lr_decay: float, weight_decay: float, eps: float
) -> None:
    """Adagrad of a parameter whose step this is; ``total``: of squared gradients."""
    g = decayed(p, g, weight_decay)
    total.addcmul_(g, g)
    p.addcdiv_(g, total.sqrt().add_(eps), value=-lr / (1 + (step - 1) * lr_decay))


def rmsprop(
    p: Any, g: Any, square: Any, buffer: Any, mean: Any, step: float, *, lr: float, alpha: float, weight_decay: float, eps: float,
    momentum: float,
) -> None:  # fmt: skip
    """RMSprop; ``buffer`` is None without momentum, ``mean`` where it is not centred."""
    g = decayed(p, g, weight_decay)
    square = square.mul_(alpha).addcmul_(g, g, value=1 - alpha)
    if mean is not None:
        mean.lerp_(g, 1 - alpha)
        square = square.addcmul(mean, mean, value=-1)
    scale = square.sqrt().add_(eps)
    if buffer is not None:
        p.add_(buffer.mul_(momentum).addcdiv_(g, scale), alpha=-lr)
    else:
        p.addcdiv_(g, scale, value=-lr)


def adadelta(
    p: Any, g: Any, square: Any, moves: Any, step: float, *, lr: float, rho: float, weight_decay: float, eps: float
) -> None:
    """Adadelta; ``moves``: the mean of squared steps."""
    g = decayed(p, g, weight_decay)
    square.mul_(rho).addcmul_(g, g, value=1 - rho)
    move = moves.add(eps).sqrt().div(square.add(eps).sqrt()).mul(g)
    moves.mul_(rho).addcmul_(move, move, value=1 - rho)
    p.add_(move, alpha=-lr)


def adamax(
    p: Any, g: Any, mean: Any, largest: Any, step: float, *, lr: float, beta1: float, beta2: float, weight_decay: float,
    eps: float,
) -> None:  # fmt: skip
    """Adamax; ``largest``: the decayed maximum."""
    g = decayed(p, g, weight_decay)
    mean.lerp_(g, 1 - beta1)
    largest.copy_((largest * beta2).maximum(g.abs().add_(eps)))
    p.addcdiv_(mean, largest, value=-lr / (1 - beta1**step))


def _moments(
    p: Any, g: Any, mean: Any, square: Any, lr: float, beta1: float, beta2: float, weight_decay: float, decoupled: bool
) -> Any:
    if not decoupled:
        g = decayed(p, g, weight_decay)
    elif weight_decay:
        p.mul_(1 - lr * weight_decay)
    mean.lerp_(g, 1 - beta1)
    square.mul_(beta2).addcmul_(g, g, value=1 - beta2)
    return g


def nadam(
    p: Any, g: Any, mean: Any, square: Any, product: Any, step: float, *, lr: float, beta1: float, beta2: float,
    weight_decay: float, eps: float, momentum_decay: float, decoupled: bool,
) -> None:  # fmt: skip
    """NAdam; ``product``: of the momentums until now."""
    g = _moments(p, g, mean, square, lr, beta1, beta2, weight_decay, decoupled)
    now, then = (beta1 * (1 - 0.5 * 0.96 ** (count * momentum_decay)) for count in (step, step + 1))
    product *= now
    until = float(product)
    scale = square.div(1 - beta2**step).sqrt().add_(eps)
    p.addcdiv_(g, scale, value=-lr * (1 - now) / (1 - until))
    p.addcdiv_(mean, scale, value=-lr * then / (1 - until * then))


def radam(
    p: Any, g: Any, mean: Any, square: Any, step: float, *, lr: float, beta1: float, beta2: float, weight_decay: float,
    eps: float, decoupled: bool,
) -> None:  # fmt: skip
    """RAdam: the variance counts where enough steps are known, with a factor that rectifies it."""
    _moments(p, g, mean, square, lr, beta1, beta2, weight_decay, decoupled)
    late, most = 1 - beta2**step, 2 / (1 - beta2) - 1
    length = most - 2 * step * beta2**step / late
    direction = mean / (1 - beta1**step)
    if length > 5:
        ratio = (length - 4) * (length - 2) * most / ((most - 4) * (most - 2) * length)
        direction = direction * (late**0.5 / square.sqrt().add_(eps)) * ratio**0.5
    p.add_(direction, alpha=-lr)
