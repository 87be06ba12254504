"""Where a backward pass starts and ends: outputs, their first gradients, and inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shim_torch._impl.autograd.edges import GradientEdge
from shim_torch._impl.native import _core
from shim_torch._impl.nn.calls import operators

Tensor = _core.Tensor


def sequence(x: Any) -> tuple[Any, ...]:
    """A tensor, an edge or None as a tuple of one; the items of anything else as a tuple."""
    alone = x is None or isinstance(x, (Tensor, GradientEdge)) or hasattr(x, "__torch_function__")
    return (x,) if alone else tuple(x)


def ones_for(out: Any) -> Any:
    """The gradient that a backward pass starts with where none is given: 1, for a scalar."""
    if isinstance(out, GradientEdge):
        meta = out.node._input_metadata[out.output_nr]
        if len(meta.shape) and meta.shape.numel() != 1:
            raise RuntimeError("grad can be implicitly created only for scalar outputs")
        return _core.empty_tensor(tuple(meta.shape), meta.dtype, meta.device).fill_(1)
    if not out.requires_grad:
        return None
    if out.numel() != 1:
        raise RuntimeError("grad can be implicitly created only for scalar outputs")
    if not out.dtype.is_floating_point:
        raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {out.dtype}")
    return operators.ones_like(out)


def fit_start(i: int, out: Any, g: Any) -> Any:
    """A given gradient, in the dtype of the output it belongs to. RuntimeError where it is not like that output."""
    if isinstance(out, GradientEdge):
        meta = out.node._input_metadata[out.output_nr]
        shape, dtype = meta.shape, meta.dtype
    else:
        shape, dtype = out.shape, out.dtype
    if g.shape != shape:
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{i}] has a shape of {g.shape} and output[{i}] has a shape of {shape}."
        )
    if dtype.is_complex != g.dtype.is_complex:
        raise RuntimeError(
            "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in dtype: "
            f"grad_output[{i}] has a dtype of {g.dtype} and output[{i}] has a dtype of {dtype}."
        )
    return g if g.dtype == dtype else g.to(dtype)


def first_gradients(outputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
    """The gradients that the backward pass starts with: given ones checked, ones for scalars; what is too many is not looked at."""
    if len(grads) < len(outputs):
        raise RuntimeError(f"got {len(outputs)} tensors and {len(grads)} gradients")
    made = []
    for i, (out, g) in enumerate(zip(outputs, grads, strict=False)):
        if g is None:
            g = ones_for(out)
        elif not isinstance(g, Tensor):
            raise TypeError(f"gradients can be either Tensors or None, but got {type(g).__name__}")
        else:
            g = fit_start(i, out, g)
        made.append(g)
    return made


def check_ends(outputs: Sequence[Any], inputs: Sequence[Any]) -> None:
    """The errors of ``grad`` for what is neither a tensor nor an edge of the graph."""
    for out in outputs:
        if not isinstance(out, (Tensor, GradientEdge)):
            raise AssertionError("Expected output to be a torch.Tensor")
    for x in inputs:
        if not isinstance(x, (Tensor, GradientEdge)):
            raise RuntimeError(f"all inputs have to be Tensors or GradientEdges, but got {type(x).__name__}")


def check_roots(tensors: Sequence[Any]) -> None:
    """RuntimeError for a tensor that a backward pass cannot start from, for it requires no gradient."""
    for i, t in enumerate(tensors):
        if not isinstance(t, GradientEdge) and not t.requires_grad:
            raise RuntimeError(f"element {i} of tensors does not require grad and does not have a grad_fn")


def warn_create_graph() -> None:
    """Warns that ``backward(create_graph=True)`` ties parameters and their gradients into a circle."""
    import warnings

    warnings.warn(
        "Using backward() with create_graph=True will create a reference cycle between the parameter and its gradient which can "
        "cause a memory leak. We recommend using autograd.grad when creating the graph to avoid this. If you have to use this "
        "function, make sure to reset the .grad fields of your parameters to None after use to break the cycle and avoid the leak.",
        stacklevel=4,
    )


def zeros_for(x: Any, requires_grad: bool) -> Any:
    """Zeros of the shape, dtype and device of ``x``, made a leaf if they shall require gradients."""
    zeros = x.new_zeros(x.shape)
    return _core._require_grad(zeros) if requires_grad else zeros
