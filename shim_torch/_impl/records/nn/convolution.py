"""Convolutions as one operator, with its gradients: of one to three dims, transposed, in groups."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.arrays.windows import add_windows, expanded, padded, windows
from shim_torch._impl.records.shared.convolution_rules import convolution_dtype, convolution_shape
from shim_torch._impl.table.calls import aten, torch
from shim_torch._impl.table.formats import format_of_strides, in_format, suggested_format
from shim_torch._impl.table.record import composite, op


def _columns(xp: Any, x: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, groups: int, out: Any) -> Any:
    """The windows as columns (batch, groups, channels · kernel, windows); the innermost dim is a line of the image."""
    n, batch, per = len(out), x.shape[0], x.shape[1] // groups
    view = windows(xp, padded(xp, x, padding), kernel, stride, dilation, out)
    view = view.reshape(batch, groups, per, *out, *kernel)
    count = per
    for k in kernel:
        count *= k
    return view.transpose(0, 1, 2, *range(3 + n, 3 + 2 * n), *range(3, 3 + n)).reshape(batch, groups, count, -1)


def _forward(xp: Any, x: Any, w: Any, stride: Any, padding: Any, dilation: Any, groups: int, out: Any) -> Any:
    batch = x.shape[0]
    if not x.shape[1]:
        return xp.zeros((batch, 0, *out), x.dtype)
    if not x.size or not w.size or 0 in out:
        return xp.zeros((batch, w.shape[0], *out), x.dtype)
    columns = _columns(xp, x, w.shape[2:], stride, padding, dilation, groups, out)
    product = xp.matmul(w.reshape(1, groups, w.shape[0] // groups, -1), columns)
    return product.reshape(batch, w.shape[0], *out)


def _transposed(xp: Any, x: Any, w: Any, stride: Any, padding: Any, dilation: Any, groups: int, out: Any) -> Any:
    n, batch = len(out), x.shape[0]
    kernel, per, size = w.shape[2:], w.shape[1], x.shape[2:]
    if not x.size or not w.size:
        return xp.zeros((batch, per * groups, *out), x.dtype)
    left = w.reshape(groups, w.shape[0] // groups, -1).swapaxes(-1, -2)  # (groups, per * kernel, in)
    product = xp.matmul(left[None], x.reshape(batch, groups, w.shape[0] // groups, -1))
    parts = product.reshape(batch, groups * per, *kernel, *size)
    parts = parts.transpose(0, 1, *range(2 + n, 2 + 2 * n), *range(2, 2 + n))
    return add_windows(xp, parts, out, stride, dilation, padding)


def _input_grad(g, input_shape, weight, stride, padding, dilation, transposed, output_padding, groups):
    n = weight.dim() - 2
    stride, padding, dilation = expanded(stride, n), expanded(padding, n), expanded(dilation, n)
    w = weight.conj() if weight.is_complex() else weight
    if not transposed and not input_shape[1]:  # without channels the output has none either: it depends on nothing
        return g.new_zeros(tuple(input_shape))
    convolution = aten.convolution
    if transposed:
        found = convolution(g, w, None, stride, padding, dilation, False, (0,) * n, groups)
        return _cut(found, input_shape)
    size, kernel = input_shape[2:], weight.shape[2:]
    extra = [
        size[i] + 2 * padding[i] - dilation[i] * (kernel[i] - 1) - 1 - (g.size(2 + i) - 1) * stride[i] for i in range(n)
    ]
    return convolution(g, w, None, stride, padding, dilation, True, extra, groups)


def _cut(found, shape):
    """Without the windows that come from no input: an output padding as large as the stride adds them."""
    whole = found
    for d in range(2, len(shape)):
        found = found.narrow(d, 0, shape[d]) if found.size(d) > shape[d] else found
    return found if found is whole else found.contiguous()


def _bias_grad(g, bias_shape):
    return g.sum([0, *range(2, g.dim())]) if g.size(1) == bias_shape[0] else g.new_zeros(tuple(bias_shape))


def _weight_grad(g, input, weight_shape, stride, padding, dilation, transposed, groups):
    if not transposed and not weight_shape[1]:
        return g.new_zeros(tuple(weight_shape))
    x = input.conj() if input.is_complex() else input
    if transposed:  # the roles of input and gradient change
        x, g = g, x
    return torch._convolution_weight(x, g, tuple(weight_shape[2:]), stride, padding, dilation, groups)


def _weight_input_grad(g, input_shape, grad_output, stride, padding, dilation, groups):
    if g.is_complex():  # a plain product of the two: what _input_grad takes for the weight must not be conjugated
        grad_output, g = grad_output.conj(), g.conj()
    return _input_grad(grad_output, input_shape, g, stride, padding, dilation, False, (0,), groups)


@op(
    "_convolution_weight(Tensor input, Tensor grad_output, int[] kernel, int[] stride, int[] padding, int[] dilation, int groups) -> Tensor",
    foreseen="floats",
    native="_convolution_weight",
    channels_last="gradient",
    shape=lambda input, grad_output, kernel, groups: (grad_output.shape[1], input.shape[1] // groups, *kernel),
    dtype=lambda input: input.dtype,
    function=False,
    method=False,
    grad={
        "input": _weight_input_grad,
        "grad_output": lambda g, input, grad_output_shape, stride, padding, dilation, groups: _cut(
            torch.convolution(
                input.conj() if input.is_complex() else input, g, None, stride, padding, dilation, False, (0,), groups
            ),
            grad_output_shape,
        ),
    },
)
def _convolution_weight(xp, input, grad_output, kernel, stride, padding, dilation, groups):
    """The gradient of a convolution's weight: the gradient times the columns of windows, summed over the batch."""
    n, batch, out = len(kernel), input.shape[0], grad_output.shape[2:]
    stride, padding, dilation = expanded(stride, n), expanded(padding, n), expanded(dilation, n)
    per, rows = input.shape[1] // groups, grad_output.shape[1] // groups
    if not grad_output.size or not input.size:
        return xp.zeros((grad_output.shape[1], per, *kernel), input.dtype)
    columns = _columns(xp, input, kernel, stride, padding, dilation, groups, out)
    product = xp.matmul(grad_output.reshape(batch, groups, rows, -1), columns.swapaxes(-1, -2)).sum(axis=0)
    return product.reshape(grad_output.shape[1], per, *kernel)


# Gradients lie in channels_last where the input or the weight does, whatever the gradient that comes in lies in.


def _kept_input_grad(
    g, input_shape, input_strides, weight, stride, padding, dilation, transposed, output_padding, groups
):
    found = _input_grad(g, input_shape, weight, stride, padding, dilation, transposed, output_padding, groups)
    return in_format(found, format_of_strides(input_shape, input_strides) or suggested_format((weight,)))


def _kept_weight_grad(g, input, weight_shape, weight_strides, stride, padding, dilation, transposed, groups):
    found = _weight_grad(g, input, weight_shape, stride, padding, dilation, transposed, groups)
    return in_format(found, format_of_strides(weight_shape, weight_strides) or suggested_format((input,)))


# Several gradients at once are one operator, so that a dispatch mode sees what PyTorch's shows it.


def _all_grads(g, input, weight, stride, padding, dilation, transposed, output_padding, groups):
    sizes = [weight.shape[1] * groups if transposed else weight.shape[0]]
    settings = (sizes, stride, padding, dilation, transposed, output_padding, groups)
    return torch.convolution_backward(g, input, weight, *settings, (True, True, True))


def _input_weight_grads(g, input, weight, stride, padding, dilation, transposed, output_padding, groups):
    settings = (None, stride, padding, dilation, transposed, output_padding, groups)
    return torch.convolution_backward(g, input, weight, *settings, (True, True, False))[:2]


def _weight_bias_grads(g, input, weight, stride, padding, dilation, transposed, output_padding, groups):
    sizes = [weight.shape[1] * groups if transposed else weight.shape[0]]
    settings = (sizes, stride, padding, dilation, transposed, output_padding, groups)
    return torch.convolution_backward(g, input, weight, *settings, (False, True, True))[1:]


@op("convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups) -> Tensor", foreseen="floats",
    native="convolution", shape=convolution_shape, dtype=convolution_dtype, out=True, method=False, follows=("input", "weight"),
    grad={"input": _kept_input_grad, "weight": _kept_weight_grad,
          "bias": _bias_grad},
    fused={"input, weight, bias": _all_grads, "input, weight": _input_weight_grads,
           "weight, bias": _weight_bias_grads}, autocast="lower_precision", channels_last="convolution")  # fmt: skip
def convolution(xp, input, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    """Convolution of (N, C, *size) with (O, C / groups, *kernel), or the transposed one with (C, O / groups, *kernel).

    Errors:  RuntimeError for channels, dtypes, kernels larger than the padded input
    Source:  torch.convolution
    """
    n = weight.ndim - 2
    stride, padding, dilation = expanded(stride, n), expanded(padding, n), expanded(dilation, n)
    size, kernel = input.shape[2:], weight.shape[2:]
    spread = [dilation[i] * (kernel[i] - 1) + 1 for i in range(n)]
    if transposed:
        extra = expanded(output_padding, n)
        out = [(size[i] - 1) * stride[i] - 2 * padding[i] + spread[i] + extra[i] for i in range(n)]
        y = _transposed(xp, input, weight, stride, padding, dilation, groups, out)
    else:
        out = [(size[i] + 2 * padding[i] - spread[i]) // stride[i] + 1 for i in range(n)]
        y = _forward(xp, input, weight, stride, padding, dilation, groups, out)
    return y if bias is None or not y.size else y + bias.reshape(1, -1, *[1] * n)


@composite(
    "convolution_backward(Tensor grad_output, Tensor input, Tensor weight, SymInt[]? bias_sizes, SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups, bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
    function=False, method=False)  # fmt: skip
def convolution_backward(
    grad_output, input, weight, bias_sizes, stride, padding, dilation, transposed, output_padding, groups, output_mask
):
    """The gradients of ``convolution`` by input, weight and bias, None where ``output_mask`` does not ask for one."""
    wanted = tuple(output_mask)
    settings = (stride, padding, dilation, transposed)
    gi = gw = gb = None
    kept = suggested_format((input, weight))
    if wanted[0]:
        gi = in_format(_input_grad(grad_output, input.shape, weight, *settings, output_padding, groups), kept)
    if wanted[1]:
        gw = in_format(_weight_grad(grad_output, input, weight.shape, *settings, groups), kept)
    if wanted[2]:
        gb = _bias_grad(grad_output, bias_sizes or grad_output.shape[1:2])
    return gi, gw, gb
