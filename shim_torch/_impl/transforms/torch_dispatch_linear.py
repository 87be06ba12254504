"""What ``__torch_dispatch__`` sees of linear layers: PyTorch's operators, also in place of our own fused ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shim_torch._impl.native import _core


def _aten(name: str) -> Any:
    return _core.function(f"aten::{name}")


def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    """``linear`` as ``t`` and ``addmm``, or a product and a sum."""
    if input.dim() == 2 and bias is not None:
        return _aten("addmm")(bias, input, weight.t())
    if input.dim() == 3 and bias is not None and input.is_contiguous():
        rows = input.shape[0] * input.shape[1]
        return _aten("addmm")(bias, input.view(rows, input.shape[2]), weight.t()).view(*input.shape[:2], -1)
    output = input.matmul(weight.t())
    return output if bias is None else output.add_(bias) if not output.requires_grad else output + bias


def _fused_linear(input: Any, weight: Any, bias: Any, activation: str, keep: bool) -> Any:
    z = linear(input, weight, bias)
    y = z.relu() if activation == "relu" else _aten("gelu")(z, approximate=_approximate(activation))
    return y, y if activation == "relu" else z  # an empty one, where nothing is kept, would stay in every trace


def _approximate(activation: str) -> str:
    return "tanh" if activation == "gelu_tanh" else "none"


def _rows(t: Any) -> Any:
    return t.unsqueeze(0) if t.dim() == 1 else t.flatten(0, -2)


def _backward_input(grad_output: Any, weight: Any, out_dtype: Any) -> Any:
    dx = grad_output.to(weight.dtype).matmul(weight)
    return dx if out_dtype is None else dx.to(out_dtype)


def _backward_weight(grad_output: Any, input: Any, transposed: bool, out_dtype: Any) -> Any:
    g, x = _rows(grad_output.to(input.dtype)), _rows(input)
    dw = x.t().mm(g).t() if transposed else g.t().mm(x)
    return dw if out_dtype is None else dw.to(out_dtype)


def _backward_bias(grad_output: Any) -> Any:
    return _rows(grad_output).sum(0)


def _activation_backward(grad_output: Any, saved: Any, activation: str) -> Any:
    g = grad_output.to(saved.dtype)
    if activation == "relu":
        return _aten("threshold_backward")(g, saved, 0)
    return _aten("gelu_backward")(g, saved, approximate=_approximate(activation))


# Operators of our own, which handlers see as PyTorch's.
OWN_PARTS: dict[str, Callable[..., Any]] = {
    "fused_linear": _fused_linear,
    "linear_backward_input": _backward_input,
    "linear_backward_weight": _backward_weight,
    "linear_backward_bias": _backward_bias,
    "activation_backward": _activation_backward,
}
