"""``torch.nn.utils.fusion``: batch normalisation taken into the layer before it."""

from __future__ import annotations

import copy
from typing import Any

from shim_torch import _torch_names
from shim_torch._missing import asked_of as _asked_of
from shim_torch.nn.parameter import Parameter as _Parameter

__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]


def fuse_conv_bn_weights(
    conv_w: Any, conv_b: Any, bn_rm: Any, bn_rv: Any, bn_eps: float, bn_w: Any, bn_b: Any, transpose: bool = False
) -> tuple[Any, Any]:
    """The weight and bias of one convolution that does both."""
    import shim_torch

    conv_b = shim_torch.zeros_like(bn_rm) if conv_b is None else conv_b
    bn_w = shim_torch.ones_like(bn_rm) if bn_w is None else bn_w
    bn_b = shim_torch.zeros_like(bn_rm) if bn_b is None else bn_b
    scale = bn_w * shim_torch.rsqrt(bn_rv + bn_eps)
    shape = [1, -1] + [1] * (conv_w.dim() - 2) if transpose else [-1, 1] + [1] * (conv_w.dim() - 2)
    weight = (conv_w * scale.reshape(shape)).to(conv_w.dtype)
    bias = ((conv_b - bn_rm) * scale + bn_b).to(conv_b.dtype)
    return _Parameter(weight.detach(), conv_w.requires_grad), _Parameter(bias.detach(), conv_b.requires_grad)


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """A copy of the convolution that does both; for modules in evaluation mode."""
    if conv.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    fused = copy.deepcopy(conv)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias, transpose
    )
    return fused


def fuse_linear_bn_weights(
    linear_w: Any, linear_b: Any, bn_rm: Any, bn_rv: Any, bn_eps: float, bn_w: Any, bn_b: Any
) -> tuple[Any, Any]:
    """The weight and bias of one linear layer that does both."""
    return fuse_conv_bn_weights(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b)


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """A copy of the linear layer that does both; for modules in evaluation mode."""
    return fuse_conv_bn_eval(linear, bn)

__getattr__ = _asked_of(__name__)

_torch_names.present(globals())
