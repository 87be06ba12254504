"""Convolutions by the names of PyTorch's kernels: all are one convolution here."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.autograd.grad_mode import enable_grad
from shim_torch._impl.native import _core
from shim_torch._impl.table.aten_declare import aten, pulled
from shim_torch._impl.table.calls import aten as ops


def _forward(n: int, transposed: bool = False) -> Any:
    def body(self: Any, weight: Any, kernel_size: Any, bias: Any, stride: Any, padding: Any, *rest: Any) -> Any:
        output_padding, dilation = rest if transposed else ((0,) * n, rest[0] if rest else (1,) * n)
        return ops.convolution(self, weight, bias, stride, padding, dilation, transposed, output_padding, 1)

    return body


def _of_two_dims(self: Any, weight: Any, kernel_size: Any, bias: Any, stride: Any, padding: Any) -> Any:
    """Without dilation; each setting has a number for each dim (one number for all was repeated by the schema)."""
    for name, given in (("kernel_size", kernel_size), ("stride", stride), ("padding", padding)):
        if len(given) != 2:
            raise RuntimeError(f"2D {name} expected")
    return _forward(2)(self, weight, kernel_size, bias, stride, padding)


aten("thnn_conv2d", "_slow_conv2d_forward")(_of_two_dims)
aten("slow_conv_dilated2d")(_forward(2))
aten("slow_conv3d_forward", "slow_conv_dilated3d")(_forward(3))
aten("slow_conv_transpose2d")(_forward(2, True))
aten("slow_conv_transpose3d")(_forward(3, True))


def _depthwise(self: Any, weight: Any, kernel_size: Any, bias: Any, stride: Any, padding: Any, dilation: Any) -> Any:
    return ops.convolution(self, weight, bias, stride, padding, dilation, False, [0] * len(stride), self.shape[1])


aten("_conv_depthwise2d", "conv_depthwise3d")(_depthwise)


@aten("_slow_conv2d_backward.output_mask")
def _slow_conv2d_backward(grad, self, weight, kernel_size, stride, padding, mask):
    one, none = [1, 1], [0, 0]
    return ops.convolution_backward(grad, self, weight, [weight.shape[0]], stride, padding, one, False, none, 1, mask)


@aten("_slow_conv2d_backward.grad_input")
def _slow_conv2d_backward_out(grad, self, weight, kernel_size, stride, padding, grad_input, grad_weight, grad_bias):
    found = _slow_conv2d_backward(grad, self, weight, kernel_size, stride, padding, [True, True, True])
    outs = (grad_input, grad_weight, grad_bias)
    return tuple(ops._resize_output_(o, f.shape, o.device).copy_(f) for o, f in zip(outs, found, strict=True))


@aten("_convolution.deprecated", autocast="lower_precision")
def _convolution_deprecated(
    input,
    weight,
    bias,
    stride,
    padding,
    dilation,
    transposed,
    output_padding,
    groups,
    benchmark,
    deterministic,
    cudnn_enabled,
):
    return ops.convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)


@aten("_convolution_mode")
def _convolution_mode(input, weight, bias, stride, padding, dilation, groups):
    """padding: "same" or "valid"."""
    conv = getattr(ops, f"conv{weight.dim() - 2}d")
    return conv(input, weight, bias, stride, padding, dilation, groups)


@aten("_convolution_double_backward")
def _convolution_double_backward(
    ggI, ggW, ggb, gO, weight, self, stride, padding, dilation, transposed, output_padding, groups, mask
):
    """Gradients of the gradients of a convolution, for what came in, the input and the weight."""
    settings = (stride, padding, dilation, transposed, output_padding, groups)
    given = (ggI, ggW, ggb)
    wanted = [t is not None for t in given]

    def again(g: Any, w: Any, x: Any) -> Any:
        found = pulled(
            lambda a, b, c: ops.convolution(a, b, c, *settings), (x, w, x.new_zeros((g.shape[1],))), g, wanted
        )
        return [f for f in found if f is not None]

    with enable_grad():
        cotangents = [t for t in given if t is not None]
        if not cotangents:
            return None, None, None
        order = (mask[0], mask[2], mask[1])
        gO_, weight_, self_ = (t if t.requires_grad else _core._require_grad(t.detach()) for t in (gO, weight, self))
        g, w, x = pulled(again, (gO_, weight_, self_), cotangents, order)
    return g, x, w


@aten("convolution_overrideable")
def convolution_overrideable(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    """For backends that register a convolution of their own: NotImplementedError here."""
    raise NotImplementedError(
        "convolution_overrideable not implemented. You are likely triggering this with tensor backend other than CPU/CUDA/MKLDNN, if "
        "this is intended, please use TORCH_LIBRARY_IMPL to override this function "
    )


@aten("convolution_backward_overrideable")
def convolution_backward_overrideable(*arguments):
    """For backends that register a convolution of their own: NotImplementedError here."""
    raise NotImplementedError(
        "convolution_backward_overrideable: You are likely triggering this with tensor backend other than CPU/CUDA/MKLDNN, if this is "
        "intended, please use TORCH_LIBRARY_IMPL to override this function "
    )
