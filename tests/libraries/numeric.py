"""Gradients of float64 NumPy functions by central differences: references that share no code with ours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import shim_torch as torch

Array = np.ndarray[Any, Any]


def differences(function: Callable[..., Array], inputs: Sequence[Array], cotangents: Sequence[Array]) -> list[Array]:
    """d(sum of function(*inputs) * cotangents) / d(each input), in float64."""

    def total() -> float:
        outputs = function(*inputs)
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        return float(sum((out * cotangent).sum() for out, cotangent in zip(outputs, cotangents, strict=True)))

    gradients = []
    for array in inputs:
        gradient = np.empty_like(array)
        for index in np.ndindex(array.shape):
            value, step = array[index], 1e-6 * max(1.0, abs(array[index]))
            array[index] = value + step
            above = total()
            array[index] = value - step
            below = total()
            array[index] = value
            gradient[index] = (above - below) / (2 * step)
        gradients.append(gradient)
    return gradients


def check(
    function: Callable[..., Any],
    reference: Callable[..., Any],
    *inputs: Array,
    dtype: str = "float32",
    tolerance: float = 2e-5,
) -> None:
    """Compares ``function`` of tensors with ``reference`` of float64 arrays, forward and backward.

    All inputs are differentiated; a function of several outputs returns a tuple. The inputs are rounded to ``dtype``
    first, so that both sides see the same numbers.
    """
    kind = getattr(torch, dtype)
    tensors = [torch.tensor(array).to(kind).requires_grad_() for array in inputs]
    arrays = [t.detach().double().numpy().copy() for t in tensors]
    expected = reference(*arrays)
    expected = expected if isinstance(expected, tuple) else (expected,)
    # Some libraries write gradients over their inputs, so function gets copies that autograd follows.
    outputs = function(*(t.clone() for t in tensors))
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    assert len(outputs) == len(expected)
    rng = np.random.default_rng(1)
    cotangents = [torch.tensor(rng.standard_normal(e.shape)).to(out.dtype) for e, out in zip(expected, outputs)]
    for out, value in zip(outputs, expected):
        assert tuple(out.shape) == value.shape
        np.testing.assert_allclose(out.detach().double().numpy(), value, rtol=tolerance, atol=tolerance)
    torch.autograd.backward(outputs, cotangents)
    gradients = differences(reference, arrays, [c.double().numpy() for c in cotangents])
    for position, (tensor, gradient) in enumerate(zip(tensors, gradients)):
        assert tensor.grad is not None, f"input {position} got no gradient"
        scale = max(1.0, float(np.abs(gradient).max()))
        np.testing.assert_allclose(
            tensor.grad.double().numpy(), gradient, rtol=tolerance, atol=tolerance * scale, err_msg=f"input {position}"
        )
