"""Fused linear layers: act(x · Wᵀ + b) as one operator, its gradients one by one, its switches and its sharding rule.

    from shim_torch_linear import fused_linear

    y = fused_linear(x, weight, bias, activation="gelu", approximate="tanh")

It takes and gives the tensors of shim-torch, which code in scope of the import hook knows as ``torch.Tensor``. PyTorch has
nothing of this, so it is not in ``torch``. ``shim_torch_linear.paddle`` and ``shim_torch_linear.infinitrain`` have the
names that users of those libraries know. See docs/fused_linear.md.
"""

from __future__ import annotations

from shim_torch_linear.decomposition import DecomposeLinear, decompose_linear
from shim_torch_linear.gradients import (
    linear_backward_bias,
    linear_backward_input,
    linear_backward_weight,
    matmul_backward_input,
    matmul_backward_other,
    outer_backward_input,
    outer_backward_other,
)
from shim_torch_linear.layer import ACTIVATIONS, activation_backward, fused_linear, fused_linear_with_reserve
from shim_torch_linear.sharding import REPLICATED, LinearSharding, linear_grad_sharding, linear_sharding
from shim_torch_linear.switches import gemm_problems, is_legacy_linear, legacy_linear, set_legacy_linear

__all__ = [
    "ACTIVATIONS",
    "REPLICATED",
    "DecomposeLinear",
    "LinearSharding",
    "activation_backward",
    "decompose_linear",
    "fused_linear",
    "fused_linear_with_reserve",
    "gemm_problems",
    "is_legacy_linear",
    "legacy_linear",
    "linear_backward_bias",
    "linear_backward_input",
    "linear_backward_weight",
    "linear_grad_sharding",
    "linear_sharding",
    "matmul_backward_input",
    "matmul_backward_other",
    "outer_backward_input",
    "outer_backward_other",
    "set_legacy_linear",
]
