"""``torch.nn.init``: fills tensors with initial values, in place and without history."""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable
from typing import Any

from shim_torch._impl.native import _core
from shim_torch.autograd.grad_mode import no_grad as _no_grad

Tensor = _core.Tensor
Init = Callable[..., Any]


def _in_place(f: Init) -> Init:
    @functools.wraps(f)
    def run(tensor: Any, *args: Any, **kwargs: Any) -> Any:
        with _no_grad():
            return f(tensor, *args, **kwargs)

    return run


_GAINS = {
    **dict.fromkeys(("linear", "sigmoid"), 1),
    **{f"conv{kind}{dims}d": 1 for kind in ("", "_transpose") for dims in (1, 2, 3)},
    "tanh": 5.0 / 3,
    "relu": math.sqrt(2.0),
    "selu": 3.0 / 4,
}


def calculate_gain(nonlinearity: str, param: Any = None) -> float:
    """The recommended gain of ``nonlinearity``: the factor that keeps the variance of a signal across layers.

    ``param`` is the slope of leaky_relu, 0.01 where it is not given.
    Errors: ValueError for a nonlinearity that has none, and for a slope that is no number.
    """
    if nonlinearity in _GAINS:
        return _GAINS[nonlinearity]
    if nonlinearity != "leaky_relu":
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}")
    slope = 0.01 if param is None else param
    if type(slope) is bool or not isinstance(slope, (int, float)):
        raise ValueError(f"negative_slope {param} not a valid number")
    return math.sqrt(2.0 / (slope * slope + 1))


def _no_grad_uniform_(tensor: Any, a: float, b: float, generator: Any = None) -> Any:
    with _no_grad():
        return tensor.uniform_(a, b, generator=generator)


def _no_grad_normal_(tensor: Any, mean: float, std: float, generator: Any = None) -> Any:
    with _no_grad():
        return tensor.normal_(mean, std, generator=generator)


def _no_grad_fill_(tensor: Any, val: float) -> Any:
    with _no_grad():
        return tensor.fill_(val)


def _no_grad_zero_(tensor: Any) -> Any:
    with _no_grad():
        return tensor.zero_()


@_in_place
def uniform_(tensor: Any, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Any:
    """Fills from U(a, b)."""
    if _core._has_torch_function_unary(tensor):
        return _core._handle_torch_function(uniform_, (tensor,), tensor=tensor, a=a, b=b, generator=generator)
    return tensor.uniform_(a, b, generator=generator)


@_in_place
def normal_(tensor: Any, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Any:
    """Fills from N(mean, std²)."""
    if _core._has_torch_function_unary(tensor):
        return _core._handle_torch_function(normal_, (tensor,), tensor=tensor, mean=mean, std=std, generator=generator)
    return tensor.normal_(mean, std, generator=generator)


@_in_place
def trunc_normal_(
    tensor: Any, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0, generator: Any = None
) -> Any:
    """Fills from N(mean, std²) cut to [a, b]: what falls outside is drawn again."""
    import shim_torch as torch

    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. "
            "The distribution of values may be incorrect.",
            stacklevel=3,
        )
    inside = 0.5 * (math.erf((b - mean) / std / math.sqrt(2.0)) - math.erf((a - mean) / std / math.sqrt(2.0)))
    if tensor.is_meta:
        return tensor
    if inside > 0.3:  # most draws are within [a, b]: only the others are drawn again
        low, high = (tensor.new_tensor(edge, device="cpu").item() for edge in (a, b))
        tensor.normal_(mean, std, generator=generator)
        while bool((outside := (tensor < low) | (tensor > high)).any()):
            again = torch.empty_like(tensor).normal_(mean, std, generator=generator)
            tensor.copy_(torch.where(outside, again, tensor))
        return tensor
    peak = -0.5 * ((max(a, min(mean, b)) - mean) / std) ** 2  # the density's logarithm where it is greatest in [a, b]

    def refused(drawn: Any) -> Any:
        chance = ((drawn - mean) / std).pow_(2).mul_(-0.5).sub_(peak)
        return torch.empty_like(drawn).uniform_(generator=generator).log_() > chance

    pending = refused(tensor.uniform_(a, b, generator=generator))
    while bool(pending.any()):
        drawn = torch.empty_like(tensor).uniform_(a, b, generator=generator)
        tensor.copy_(torch.where(pending, drawn, tensor))
        pending = pending & refused(drawn)
    return tensor


@_in_place
def constant_(tensor: Any, val: float) -> Any:
    """Fills with ``val``."""
    if _core._has_torch_function_unary(tensor):
        return _core._handle_torch_function(constant_, (tensor,), tensor=tensor, val=val)
    return tensor.fill_(val)


@_in_place
def ones_(tensor: Any) -> Any:
    """Fills with 1."""
    return tensor.fill_(1.0)


@_in_place
def zeros_(tensor: Any, generator: Any = None) -> Any:
    """Fills with 0."""
    return tensor.zero_()


@_in_place
def eye_(tensor: Any) -> Any:
    """Fills a matrix with the identity."""
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    tensor.zero_()
    tensor.diagonal().fill_(1)
    return tensor


@_in_place
def dirac_(tensor: Any, groups: int = 1) -> Any:
    """Fills a convolution weight (3 to 5 dims) with the Dirac delta: input channels pass unchanged."""
    if tensor.ndimension() not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    if tensor.shape[0] % groups:
        raise ValueError("dim 0 must be divisible by groups")
    per_group = tensor.shape[0] // groups
    tensor.zero_()
    middle = tuple(n // 2 for n in tensor.shape[2:])
    for g in range(groups):
        for d in range(min(per_group, tensor.shape[1])):
            tensor[(g * per_group + d, d) + middle] = 1
    return tensor


def _calculate_fan_in_and_fan_out(tensor: Any) -> tuple[int, int]:
    if tensor.dim() < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    field = math.prod(tensor.shape[2:])
    return tensor.size(1) * field, tensor.size(0) * field


def _calculate_correct_fan(tensor: Any, mode: str) -> int:
    mode = mode.lower()
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return fan_in if mode == "fan_in" else fan_out


def _drawn(tensor: Any, spread: str, std: float, generator: Any) -> Any:
    """Fills from a "normal" or "uniform" distribution of mean 0 and this standard deviation."""
    if spread == "normal":
        return tensor.normal_(0.0, std, generator=generator)
    reach = math.sqrt(3.0) * std
    return tensor.uniform_(-reach, reach, generator=generator)


def _xavier(tensor: Any, spread: str, gain: float, generator: Any) -> Any:
    fans = sum(_calculate_fan_in_and_fan_out(tensor))
    return _drawn(tensor, spread, gain * math.sqrt(2.0 / fans), generator)


def _kaiming(tensor: Any, spread: str, a: float, mode: str, nonlinearity: str, generator: Any) -> Any:
    if not all(tensor.shape):
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=4)
        return tensor
    fan = _calculate_correct_fan(tensor, mode)
    return _drawn(tensor, spread, calculate_gain(nonlinearity, a) / math.sqrt(fan), generator)


@_in_place
def xavier_uniform_(tensor: Any, gain: float = 1.0, generator: Any = None) -> Any:
    """Glorot's uniform initialisation: U(-a, a), a = gain √(6 / (fan_in + fan_out)) (Glorot and Bengio, 2010)."""
    return _xavier(tensor, "uniform", gain, generator)


@_in_place
def xavier_normal_(tensor: Any, gain: float = 1.0, generator: Any = None) -> Any:
    """Glorot's normal initialisation: N(0, std²), std = gain √(2 / (fan_in + fan_out)) (Glorot and Bengio, 2010)."""
    return _xavier(tensor, "normal", gain, generator)


@_in_place
def kaiming_uniform_(
    tensor: Any, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Any:
    """He's uniform initialisation: U(-b, b), b = gain √(3 / fan) (He and others, 2015)."""
    settings = {"a": a, "mode": mode, "nonlinearity": nonlinearity, "generator": generator}
    if _core._has_torch_function_unary(tensor):
        return _core._handle_torch_function(kaiming_uniform_, (tensor,), tensor=tensor, **settings)
    return _kaiming(tensor, "uniform", **settings)


@_in_place
def kaiming_normal_(
    tensor: Any, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Any:
    """He's normal initialisation: N(0, std²), std = gain / √fan (He and others, 2015)."""
    return _kaiming(tensor, "normal", a, mode, nonlinearity, generator)


def _orthonormal(matrix: Any) -> Any:
    """Orthonormal columns that span those of ``matrix``: Q of its QR decomposition whose R has a positive diagonal."""
    import shim_torch

    q, r = shim_torch.linalg.qr(matrix)
    return q * r.diagonal().sign()


@_in_place
def orthogonal_(tensor: Any, gain: float = 1, generator: Any = None) -> Any:
    """Fills with a (semi-)orthogonal matrix times ``gain``, later dims flattened (Saxe and others, 2013)."""
    if tensor.dim() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if not all(tensor.shape):
        return tensor
    drawn = tensor.new_empty(tensor.shape).flatten(1).normal_(generator=generator)
    tall = len(drawn) >= drawn.size(1)
    made = _orthonormal(drawn) if tall else _orthonormal(drawn.t()).t()
    return tensor.copy_(made.reshape(tensor.shape)).mul_(gain)


@_in_place
def sparse_(tensor: Any, sparsity: float, std: float = 0.01, generator: Any = None) -> Any:
    """Fills a matrix from N(0, std²), then zeroes a fraction ``sparsity`` of each column (Martens, 2010)."""
    if tensor.dim() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    import shim_torch

    height = tensor.size(0)
    for column in tensor.normal_(0, std, generator=generator).unbind(1):
        column[shim_torch.randperm(height)[: math.ceil(sparsity * height)]] = 0
    return tensor


def _deprecated(new: Init) -> Init:
    old = new.__name__[:-1]

    def deprecated_init(*args: Any, **kwargs: Any) -> Any:
        warnings.warn(
            f"`nn.init.{old}` is now deprecated in favor of `nn.init.{new.__name__}`.", FutureWarning, stacklevel=2
        )
        return new(*args, **kwargs)

    deprecated_init.__name__ = deprecated_init.__qualname__ = old
    return deprecated_init


uniform, normal, constant, eye, dirac = map(_deprecated, (uniform_, normal_, constant_, eye_, dirac_))
xavier_uniform, xavier_normal = map(_deprecated, (xavier_uniform_, xavier_normal_))
kaiming_uniform, kaiming_normal = map(_deprecated, (kaiming_uniform_, kaiming_normal_))
orthogonal, sparse = map(_deprecated, (orthogonal_, sparse_))
