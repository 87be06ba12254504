"""Paddle's names of fused linear layers, with Paddle's defaults: weights are (K, N) unless a flag says otherwise."""

from __future__ import annotations

from typing import Any

from shim_torch_linear.layer import fused_linear, fused_linear_with_reserve


def fused_gemm_epilogue(
    x: Any, y: Any, bias: Any, trans_x: bool = False, trans_y: bool = False, activation: str | None = "none"
) -> tuple[Any, Any]:
    """(act(op(x) · op(y) + bias), its reserve space); gelu is the tanh form, as the operator's on a GPU.

    Shapes:  x (*, K), y (K, N), bias (N,) -> (*, N); with ``trans_x`` x is (K, M), with ``trans_y`` y is (N, K)
    Memory:  the reserve space is None without an activation, and where nothing wants a gradient
    """
    return fused_linear_with_reserve(x, y, bias, activation, trans_x, trans_y, approximate="tanh")


def fused_linear_activation(
    x: Any, y: Any, bias: Any, trans_x: bool = False, trans_y: bool = False, activation: str | None = None
) -> Any:
    """``fused_gemm_epilogue`` without its reserve space."""
    return fused_linear(x, y, bias, activation, trans_x, trans_y, approximate="tanh")


def linear_v2(x: Any, weight: Any, bias: Any, transpose_weight: bool = False) -> Any:
    """x · weight + bias, with a weight (K, N), or (N, K) where ``transpose_weight``: (*, K) -> (*, N)."""
    return fused_linear(x, weight, bias, trans_y=transpose_weight)
