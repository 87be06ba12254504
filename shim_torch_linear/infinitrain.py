"""InfiniTrain's names of the gradients of linear layers and products, and the order of their arguments."""

from __future__ import annotations

from typing import Any

from shim_torch_linear import gradients


def LinearBackwardInput(weight: Any, grad_output: Any, transpose: bool = True) -> Any:
    """dx of a linear layer: weight (N, K), or (K, N) without ``transpose``; grad_output (*, N) -> (*, K)."""
    return gradients.linear_backward_input(grad_output, weight if transpose else weight.t())


def LinearBackwardWeight(input: Any, grad_output: Any, transpose: bool = True) -> Any:
    """dW of a linear layer: input (*, K), grad_output (*, N) -> (N, K), or (K, N) without ``transpose``."""
    if transpose:
        return gradients.linear_backward_weight(grad_output, input)
    return gradients.linear_backward_weight(grad_output, input, transposed=True).t()


def LinearBackwardBias(grad_output: Any) -> Any:
    """db of a linear layer: (*, N) -> (N,)."""
    return gradients.linear_backward_bias(grad_output)


def MatmulBackwardInput(other: Any, grad_output: Any) -> Any:
    """The gradient of a product by its first operand: other (*, K, N), grad_output (*, M, N) -> (*, M, K)."""
    return gradients.matmul_backward_input(grad_output, other)


def MatmulBackwardOther(input: Any, grad_output: Any) -> Any:
    """The gradient of a product by its second operand: input (*, M, K), grad_output (*, M, N) -> (*, K, N)."""
    return gradients.matmul_backward_other(grad_output, input)
