"""Convolutions by the names of PyTorch's kernels, their gradients and second gradients."""

from ..expressions import pattern


def inputs(torch):
    """The names that the expressions use."""
    names = {
        "x2": (2, 4, 6, 5),
        "w2": (3, 4, 3, 2),
        "x3": (1, 2, 4, 3, 5),
        "w3": (3, 2, 2, 2, 3),
        "t2": (4, 3, 3, 2),
        "t3": (2, 3, 2, 1, 2),
        "b": (3,),
        "g2": (2, 3, 4, 4),
        "x1": (2, 4, 7),
        "w1": (3, 4, 3),
        "i2": (2, 4, 6, 5),
        "v2": (3, 4, 3, 2),
    }
    made = {n: pattern(torch, *s, seed=i + 1).requires_grad_() for i, (n, s) in enumerate(names.items())}
    return {**made, "torch": torch, "aten": torch.ops.aten, "detached": lambda *ts: [t.detach() for t in ts]}


_FLAGS = "False, [0, 0], 1"
CASES = f"""
aten.thnn_conv2d(x2, w2, [3, 2], b)
aten.thnn_conv2d(x2, w2, [3, 2], None, [2, 1], [1, 0])
aten.thnn_conv2d(x2, w2, [3, 2], b, [2], [1])
aten._slow_conv2d_forward(x2, w2, [3, 2], b, [1, 1], [0, 1])
aten._slow_conv2d_backward.output_mask(*detached(g2, x2, w2), [3, 2], [1, 1], [0, 0], [True, True, True])
aten._slow_conv2d_backward.output_mask(*detached(g2, x2, w2), [3, 2], [1, 1], [0, 0], [False, True, False])[1]
aten._slow_conv2d_backward.grad_input(*detached(g2, x2, w2), [3, 2], [1, 1], [0, 0], grad_input=torch.empty(0), grad_weight=torch.empty(0), grad_bias=torch.empty(0))
aten.slow_conv_dilated2d(x2, w2, [3, 2], b, [1, 1], [1, 0], [2, 1])
aten.slow_conv_dilated3d(x3, w3, [2, 2, 3], b, [1, 1, 1], [0, 1, 0], [1, 1, 2])
aten.slow_conv3d_forward(x3, w3, [2, 2, 3], b, [1, 1, 2], [1, 0, 0])
aten.slow_conv_transpose2d(x2, t2, [3, 2], b, [2, 1], [1, 0], [1, 0], [1, 1])
aten.slow_conv_transpose3d(x3, t3, [2, 1, 2], b, [2, 2, 1], [0, 0, 1], [1, 0, 0], [1, 1, 1])
aten._convolution.deprecated(x2, w2, b, [1, 1], [0, 0], [1, 1], False, [0, 0], 1, False, False, True)
aten._convolution_mode(x1, w1, b, [1], 'same', [2], 1)
aten._convolution_mode(x2, w2, b, [2, 1], 'valid', [1, 1], 1)
aten._convolution_mode(x2, w2, b, [2, 1], 'same', [1, 1], 1)
aten._convolution_mode(x2, w2, b, [1, 1], 'other', [1, 1], 1)
aten._convolution_double_backward(*detached(i2, v2, b), *detached(g2, w2, x2), [1, 1], [0, 0], [1, 1], {_FLAGS}, [True, True, True])
aten._convolution_double_backward(i2.detach(), None, None, *detached(g2, w2, x2), [1, 1], [0, 0], [1, 1], {_FLAGS}, [True, False, True])[::2]
aten._convolution_double_backward(None, v2.detach(), None, *detached(g2, w2, x2), [1, 1], [0, 0], [1, 1], {_FLAGS}, [True, True, False])[:2]
aten.convolution_overrideable(x2, w2, b, [1, 1], [0, 0], [1, 1], {_FLAGS})
aten.convolution_backward_overrideable(g2, x2, w2, [1, 1], [0, 0], [1, 1], {_FLAGS}, [True, True, True])
""".strip().splitlines()
