"""A linear layer with its bias and activation in one operator."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch.overrides import handle_torch_function, has_torch_function

ACTIVATIONS = ("none", "relu", "gelu")


def fused_linear(
    x: Any,
    weight: Any,
    bias: Any = None,
    activation: str | None = "none",
    trans_x: bool = False,
    trans_y: bool = True,
    *,
    approximate: str = "none",
) -> Any:
    """act(op(x) · op(weight) + bias) with its gradients, as few kernels as the device has.

    Shapes:  x (*, K), or (K, M) with ``trans_x``; weight (N, K), or (K, N) with ``trans_y=False``; bias (N,) -> (*, N)
    Options: activation none (or None), relu or gelu; approximate none (erf) or tanh, for gelu
    Memory:  only where an activation and a gradient need it, gelu keeps its input: (*, N), rows padded to 8 elements
    Errors:  TypeError for what is no tensor or no bool; ValueError for an unknown activation; NotImplementedError for an activation of
             integers or complex numbers; those of ``linear``; RuntimeError in backward without the kept input
    Source:  Paddle's fused_gemm_epilogue; torch's linear, relu and gelu
    """
    if has_torch_function((x, weight, bias)):
        given = (x, weight, bias, activation, trans_x, trans_y)
        return handle_torch_function(fused_linear, (x, weight, bias), *given, approximate=approximate)
    name = checked("fused_linear", x, weight, bias, activation, approximate)
    x, weight = oriented(x, weight, trans_x, trans_y)
    if name == "none":
        from shim_torch.nn import functional

        return functional.linear(x, weight, bias)
    return _core.function("shim::fused_linear")(x, weight, bias, name, _wants_gradient(x, weight, bias))[0]


def fused_linear_with_reserve(
    x: Any,
    weight: Any,
    bias: Any = None,
    activation: str | None = "none",
    trans_x: bool = False,
    trans_y: bool = True,
    *,
    approximate: str = "none",
    keep: bool | None = None,
) -> tuple[Any, Any]:
    """As ``fused_linear``: (its result, its reserve space: what ``activation_backward`` needs).

    The reserve space is the activation's input for gelu, the result for relu, and None without an activation or where
    nothing is kept: with ``keep`` None, where no argument wants a gradient.
    """
    name = checked("fused_linear_with_reserve", x, weight, bias, activation, approximate)
    if name == "none":
        return fused_linear(x, weight, bias, trans_x=trans_x, trans_y=trans_y), None
    x, weight = oriented(x, weight, trans_x, trans_y)
    keep = _wants_gradient(x, weight, bias) if keep is None else keep
    y, reserve = _core.function("shim::fused_linear")(x, weight, bias, name, keep)
    return y, reserve if keep else None


def activation_backward(
    grad_output: Any, reserve: Any, activation: str | None = "none", approximate: str = "none"
) -> Any:
    """The gradient before the activation, from that after it and the reserve space of ``fused_linear_with_reserve``.

    Shapes:  grad_output (*, N), reserve (*, N) -> (*, N), in the reserve's dtype
    Errors:  ValueError for an unknown activation; RuntimeError where there is an activation and nothing was kept for it
    """
    name = _activation("activation_backward", activation, approximate)
    if name == "none":
        return grad_output
    if reserve is None:
        raise RuntimeError(
            f"activation_backward: the gradient of {activation} needs the reserve space, which was not kept"
        )
    _need_tensors("activation_backward", grad_output=grad_output, reserve=reserve)
    return _core.function("shim::activation_backward")(grad_output, reserve, name)


def _activation(function: str, activation: str | None, approximate: str) -> str:
    name = "none" if activation is None else activation
    if name not in ACTIVATIONS:
        raise ValueError(f"{function}: activation must be one of {', '.join(ACTIVATIONS)}, got {activation!r}")
    if approximate not in ("none", "tanh"):
        raise RuntimeError("approximate argument must be either none or tanh.")
    return "gelu_tanh" if name == "gelu" and approximate == "tanh" else name


def _need_tensors(function: str, **given: Any) -> None:
    for position, (name, value) in enumerate(given.items(), 1):
        if not isinstance(value, _core.Tensor):
            raise TypeError(
                f"{function}(): argument '{name}' (position {position}) must be Tensor, not {type(value).__name__}"
            )


def checked(function: str, x: Any, weight: Any, bias: Any, activation: str | None, approximate: str) -> str:
    """The activation's name as the operator takes it. Errors: TypeError for no tensor; ValueError for no activation."""
    _need_tensors(function, x=x, weight=weight, **({} if bias is None else {"bias": bias}))
    return _activation(function, activation, approximate)


def oriented(x: Any, weight: Any, trans_x: bool, trans_y: bool) -> tuple[Any, Any]:
    """x and weight, transposed as the flags say, in the layout that ``linear`` takes; vectors are not transposed."""
    for name, value in (("trans_x", trans_x), ("trans_y", trans_y)):
        if not isinstance(value, bool):
            raise TypeError(f"fused_linear(): argument '{name}' must be bool, not {type(value).__name__}")
    x = x.transpose(-1, -2) if trans_x and x.dim() > 1 else x
    return x, weight.transpose(-1, -2) if not trans_y and weight.dim() > 1 else weight


def _wants_gradient(*tensors: Any) -> bool:
    """Whether tensors have to be saved for backward or for forward-mode gradients."""
    given = [t for t in tensors if t is not None]
    if _core._is_dual_level_open() and any(_core._get_tangent(t) is not None for t in given):
        return True
    return _core.is_grad_enabled() and any(t.requires_grad for t in given)
