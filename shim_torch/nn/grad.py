"""``torch.nn.grad``: gradients of convolutions for their inputs and weights."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.table.calls import aten as _aten


def _gradient(n: int, which: int) -> Any:
    def run(
        a: Any, b: Any, grad_output: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
    ) -> Any:

        # For the input: its size and the weight. For the weight: the input and the weight's size.
        input, weight = (
            (grad_output.new_empty(1).expand(a), b) if which == 0 else (a, grad_output.new_empty(1).expand(b))
        )
        sizes = [(v,) * n if isinstance(v, int) else tuple(v) for v in (stride, padding, dilation)]
        mask = [which == 0, which == 1, False]
        return _aten.convolution_backward(grad_output, input, weight, None, *sizes, False, (0,) * n, groups, mask)[
            which
        ]

    def for_input(
        input_size: Any,
        weight: Any,
        grad_output: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Any:
        return run(input_size, weight, grad_output, stride, padding, dilation, groups)

    def for_weight(
        input: Any,
        weight_size: Any,
        grad_output: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Any:
        return run(input, weight_size, grad_output, stride, padding, dilation, groups)

    made = for_weight if which else for_input
    made.__name__ = made.__qualname__ = f"conv{n}d_{'weight' if which else 'input'}"
    made.__doc__ = f"The gradient of conv{n}d for its {'weight' if which else 'input'}."
    return made


conv1d_input, conv2d_input, conv3d_input = (_gradient(n, 0) for n in (1, 2, 3))
conv1d_weight, conv2d_weight, conv3d_weight = (_gradient(n, 1) for n in (1, 2, 3))
