"""Activations of ``torch.nn.functional``, with PyTorch's Python signatures."""

from __future__ import annotations

import warnings
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.nn.calls import _overridden_one, _override, operators
from shim_torch._impl.table.calls import torch as _torch


def relu(input: Any, inplace: bool = False) -> Any:
    """max(0, x)."""
    if _overridden_one(input):
        return _override(relu, 1, input)
    return operators.relu_(input) if inplace else operators.relu(input)


def silu(input: Any, inplace: bool = False) -> Any:
    """x times the sigmoid of x."""
    if _overridden_one(input):
        return _override(silu, 1, input)
    return operators.silu_(input) if inplace else operators.silu(input)


def mish(input: Any, inplace: bool = False) -> Any:
    """x times the tanh of the softplus of x."""
    if _overridden_one(input):
        return _override(mish, 1, input)
    return operators.mish_(input) if inplace else operators.mish(input)


def hardswish(input: Any, inplace: bool = False) -> Any:
    """x relu6(x + 3) / 6."""
    if _overridden_one(input):
        return _override(hardswish, 1, input)
    return operators.hardswish_(input) if inplace else operators.hardswish(input)


def hardsigmoid(input: Any, inplace: bool = False) -> Any:
    """relu6(x + 3) / 6."""
    if _overridden_one(input):
        return _override(hardsigmoid, 1, input)
    return operators.hardsigmoid_(input) if inplace else operators.hardsigmoid(input)


_BELOW = (
    "In-place {} backward calculation is triggered with a negative slope which is not supported. This is caused by calling "
    "in-place forward function with a negative slope, please call out-of-place version instead."
)


_LEAKY_BELOW = (
    " File an issue at https://github.com/pytorch/pytorch if you do require supporting in-place leakRelu backward calculation with "
    "negative slope"
)


def _no_backward_below(slope: Any, name: str, result: Any) -> Any:
    """``result``, changed in place. With a slope below zero its sign does not tell the input's: backward refuses, as PyTorch's."""
    if slope < 0 and result.requires_grad and not result.is_leaf:

        def refuse(g: Any) -> Any:
            raise RuntimeError(_BELOW.format(name) + (_LEAKY_BELOW if name == "leakyReLu" else ""))

        result.register_hook(refuse)
    return result


def leaky_relu(input: Any, negative_slope: float = 0.01, inplace: bool = False) -> Any:
    """x where it is positive, else ``negative_slope`` times x."""
    if _overridden_one(input):
        return _override(leaky_relu, 1, input)
    if inplace:
        return _no_backward_below(negative_slope, "leakyReLu", operators.leaky_relu_(input, negative_slope))
    return operators.leaky_relu(input, negative_slope)


def hardtanh(input: Any, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Any:
    """x kept within [min_val, max_val]; ValueError where that is no range."""
    if _overridden_one(input):
        return _override(hardtanh, 1, input)
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    return (operators.hardtanh_ if inplace else operators.hardtanh)(input, min_val, max_val)


def _threshold(input: Any, threshold: float, value: float, inplace: bool = False) -> Any:
    """x where it is above ``threshold``, else ``value``."""
    if _overridden_one(input):
        return _override(_threshold, 3, input)
    return (operators.threshold_ if inplace else operators.threshold)(input, threshold, value)


threshold = _threshold


def glu(input: Any, dim: int = -1) -> Any:
    """The first half of x times the sigmoid of the second."""
    if _overridden_one(input):
        return _override(glu, 1, input)
    return operators.glu(input, dim)


def elu(input: Any, alpha: float = 1.0, inplace: bool = False) -> Any:
    """x where it is positive, else alpha (e^x - 1)."""
    if _overridden_one(input):
        return _override(elu, 1, input)
    return _no_backward_below(alpha, "elu", operators.elu_(input, alpha)) if inplace else operators.elu(input, alpha)


def relu6(input: Any, inplace: bool = False) -> Any:
    """min(max(x, 0), 6)."""
    if _overridden_one(input):
        return _override(relu6, 1, input)
    return hardtanh(input, 0.0, 6.0, True) if inplace else operators.relu6(input)


def selu(input: Any, inplace: bool = False) -> Any:
    """Scaled ELU."""
    if _overridden_one(input):
        return _override(selu, 1, input)
    return operators.selu_(input) if inplace else operators.selu(input)


def celu(input: Any, alpha: float = 1.0, inplace: bool = False) -> Any:
    """max(0, x) + min(0, alpha (e^(x/alpha) - 1))."""
    if _overridden_one(input):
        return _override(celu, 1, input)
    return _no_backward_below(alpha, "elu", operators.celu_(input, alpha)) if inplace else operators.celu(input, alpha)


def softsign(input: Any) -> Any:
    """x / (1 + |x|)."""
    if _overridden_one(input):
        return _override(softsign, 1, input)
    return input / (1 + input.abs())


def tanhshrink(input: Any) -> Any:
    """x - tanh(x)."""
    if _overridden_one(input):
        return _override(tanhshrink, 1, input)
    return input - input.tanh()


def sigmoid(input: Any) -> Any:
    """1 / (1 + e^-x)."""
    return input.sigmoid()


def tanh(input: Any) -> Any:
    """Hyperbolic tangent."""
    return input.tanh()


def _softmax_dim(name: str, ndim: int) -> int:
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.",
        stacklevel=3,
    )
    return 0 if ndim in (0, 1, 3) else 1


def softmax(input: Any, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    """e^x / Σ e^x over dim."""
    if _overridden_one(input):
        return _override(softmax, 1, input)
    return input.softmax(_softmax_dim("softmax", input.dim()) if dim is None else dim, dtype=dtype)


def log_softmax(input: Any, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    """log(softmax(x)) over dim."""
    if _overridden_one(input):
        return _override(log_softmax, 1, input)
    return input.log_softmax(_softmax_dim("log_softmax", input.dim()) if dim is None else dim, dtype=dtype)


def softmin(input: Any, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    """softmax(-x) over dim."""
    if _overridden_one(input):
        return _override(softmin, 1, input)
    return softmax(-input, dim, dtype=dtype)


def _one_hot(soft: Any, dim: int) -> Any:
    """A one for the largest along ``dim``, zeros for the rest, with the gradient of ``soft`` (straight through)."""
    ones = _torch.zeros_like(soft).scatter_(dim, soft.argmax(dim, keepdim=True), 1.0)
    return ones - soft.detach() + soft


def _noisy(logits: Any) -> Any:
    """Logits with noise of the standard Gumbel distribution: minus the logarithms of exponential samples."""
    drawn = _torch.empty_like(logits, memory_format=_core.contiguous_format)  # in the order of the elements
    return logits - drawn.exponential_().log_()


def gumbel_softmax(logits: Any, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Any:
    """Samples of the Gumbel-softmax distribution."""
    if _overridden_one(logits):
        return _override(gumbel_softmax, 1, logits)
    if eps != 1e-10:
        warnings.warn("`eps` parameter is deprecated and has no effect.", stacklevel=2)
    soft = (_noisy(logits) / tau).softmax(dim)
    return _one_hot(soft, dim) if hard else soft


def functions() -> dict[str, Any]:
    """What torch.nn.functional takes from here."""
    return {n: f for n, f in globals().items() if getattr(f, "__module__", None) == __name__ and n != "functions"}
