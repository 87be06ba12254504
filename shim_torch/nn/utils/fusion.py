"""``torch.nn.utils.fusion``: batch normalisation taken into the layer before it."""

from __future__ import annotations

import copy
from typing import Any

from shim_torch.nn.parameter import Parameter as _Parameter

__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]


def fuse_conv_bn_weights(
    conv_w: Any, conv_b: Any, bn_rm: Any, bn_rv: Any, bn_eps: float, bn_w: Any, bn_b: Any, transpose: bool = False
) -> tuple[Any, Any]:
    """The weight and bias of one convolution that does both."""
    # The normalisation is a line for each output channel: (x - bn_rm) * slope + bn_b.
    slope = (bn_rv + bn_eps).rsqrt() * (1 if bn_w is None else bn_w)
    channels = [1] * conv_w.dim()
    channels[int(transpose)] = -1
    weight = conv_w * slope.view(channels)
    bias = ((0 if conv_b is None else conv_b) - bn_rm) * slope + (0 if bn_b is None else bn_b)

    def parameter(new: Any, like: Any, trained: bool) -> Any:
        return _Parameter(new.detach().to(like.dtype), trained)

    if conv_b is None:
        return parameter(weight, conv_w, conv_w.requires_grad), parameter(bias, bn_rm, False)
    return parameter(weight, conv_w, conv_w.requires_grad), parameter(bias, conv_b, conv_b.requires_grad)


def _fused(layer: Any, bn: Any, fuse: Any, *options: Any) -> Any:
    """A copy of a layer with the weight and bias that ``fuse`` makes of both."""
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    made = copy.deepcopy(layer)
    norm = (bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias)
    made.weight, made.bias = fuse(made.weight, made.bias, *norm, *options)
    return made


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """A copy of the convolution that does both; for modules in evaluation mode."""
    return _fused(conv, bn, fuse_conv_bn_weights, transpose)


def fuse_linear_bn_weights(
    linear_w: Any, linear_b: Any, bn_rm: Any, bn_rv: Any, bn_eps: float, bn_w: Any, bn_b: Any
) -> tuple[Any, Any]:
    """The weight and bias of one linear layer that does both."""
    return fuse_conv_bn_weights(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b)


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """A copy of the linear layer that does both; for modules in evaluation mode.

    AssertionError where the normalisation has neither one feature nor the layer's number of them.
    """
    if not linear.training and bn.num_features not in (1, linear.out_features):
        raise AssertionError(
            "To fuse, linear.out_features == bn.num_features or bn.num_features == 1, got "
            f"linear.out_features={linear.out_features} and bn.num_features={bn.num_features}"
        )
    return _fused(linear, bn, fuse_linear_bn_weights)
