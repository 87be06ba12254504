"""``torch.autograd``: backward passes and the tools around them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.table.calls import torch as _torch
from shim_torch.autograd import anomaly_mode, function, grad_mode, graph, variable
from shim_torch.autograd.anomaly_mode import detect_anomaly, set_detect_anomaly
from shim_torch.autograd.function import Function, NestedIOFunction
from shim_torch.autograd.grad_mode import (
    _force_original_view_tracking as _force_original_view_tracking,
)
from shim_torch.autograd.grad_mode import (
    _unsafe_preserve_version_counter as _unsafe_preserve_version_counter,
)
from shim_torch.autograd.grad_mode import (
    enable_grad,
    inference_mode,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)
from shim_torch.autograd.gradcheck import gradcheck, gradgradcheck
from shim_torch.autograd.variable import Variable

__all__ = [
    "Function",
    "NestedIOFunction",
    "Variable",
    "anomaly_mode",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "function",
    "grad",
    "grad_mode",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "no_grad",
    "set_detect_anomaly",
    "set_grad_enabled",
    "set_multithreading_enabled",
    "variable",
]
Tensor, SavedTensor = _core.Tensor, _core.SavedTensor
GradientEdge: Any = graph.GradientEdge


def _sequence(x: Any) -> tuple[Any, ...]:
    alone = x is None or isinstance(x, (Tensor, GradientEdge)) or hasattr(x, "__torch_function__")
    return (x,) if alone else tuple(x)


def _ones_for(out: Any) -> Any:
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
    return _torch.ones_like(out)


def _fit_start(i: int, out: Any, g: Any) -> Any:
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


def _start(outputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
    """The gradients that the backward pass starts with: given ones checked, ones for scalars."""
    if len(grads) != len(outputs):
        raise RuntimeError(f"got {len(outputs)} tensors and {len(grads)} gradients")
    made = []
    for i, (out, g) in enumerate(zip(outputs, grads, strict=True)):
        if g is None:
            g = _ones_for(out)
        elif not isinstance(g, Tensor):
            raise TypeError(f"gradients can be either Tensors or None, but got {type(g).__name__}")
        else:
            g = _fit_start(i, out, g)
        made.append(g)
    return made


def _check_ends(outputs: Sequence[Any], inputs: Sequence[Any]) -> None:
    """The errors of ``grad`` for what is neither a tensor nor an edge of the graph."""
    for out in outputs:
        if not isinstance(out, (Tensor, GradientEdge)):
            raise AssertionError("Expected output to be a torch.Tensor")
    for x in inputs:
        if not isinstance(x, (Tensor, GradientEdge)):
            raise RuntimeError(f"all inputs have to be Tensors or GradientEdges, but got {type(x).__name__}")


def _check_roots(tensors: Sequence[Any]) -> None:
    for i, t in enumerate(tensors):
        if not isinstance(t, GradientEdge) and not t.requires_grad:
            raise RuntimeError(f"element {i} of tensors does not require grad and does not have a grad_fn")


def _warn_create_graph() -> None:
    import warnings

    warnings.warn(
        "Using backward() with create_graph=True will create a reference cycle between the parameter and its gradient which can "
        "cause a memory leak. We recommend using autograd.grad when creating the graph to avoid this. If you have to use this "
        "function, make sure to reset the .grad fields of your parameters to None after use to break the cycle and avoid the leak.",
        stacklevel=4,
    )


def _zeros_for(x: Any, requires_grad: bool) -> Any:
    zeros = x.new_zeros(x.shape)
    return _core._require_grad(zeros) if requires_grad else zeros


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Any = None,
) -> None:
    """Adds the gradients of ``tensors`` to the leaves they depend on (or to ``inputs`` only).

    Tensors may be ``GradientEdge`` s. RuntimeError where a tensor needs no gradient, or is no scalar and has none given.
    """
    if _core._count_transforms(0):
        raise RuntimeError(
            "backward() called inside a functorch transform. This is not supported, please use functorch.grad or functorch.vjp "
            "instead or call backward() outside of functorch transforms."
        )
    if grad_variables is not None:
        import warnings

        warnings.warn("`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning, stacklevel=2)
        if grad_tensors is not None:
            raise RuntimeError(
                "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to `backward()`. Please only use `grad_tensors`."
            )
        grad_tensors = grad_variables
    given = inputs is not None
    inputs = _sequence(inputs) if given else ()
    if given and len(inputs) == 0:
        raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    tensors = _sequence(tensors)
    grads = [None] * len(tensors) if grad_tensors is None else _sequence(grad_tensors)
    started = _start(tensors, grads)
    _check_roots(tensors)
    for t in inputs:
        if isinstance(t, GradientEdge):
            continue
        if not t.requires_grad:
            raise RuntimeError("One of the differentiated Tensors does not require grad")
        if not t.is_leaf:
            t.retain_grad()
    if create_graph:
        _warn_create_graph()
    retain = create_graph if retain_graph is None else retain_graph
    _core.run_backward(tensors, started, inputs, retain, create_graph, True, True)


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Any, ...]:
    """The gradients of ``outputs`` with respect to ``inputs``, as a tuple.

    RuntimeError where an input was not used and neither ``allow_unused`` nor ``materialize_grads`` is on.
    """
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
        )
    if not only_inputs:
        import warnings

        warnings.warn(
            "only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate gradient for other parts of "
            "the graph, please use torch.autograd.backward.",
            FutureWarning,
            stacklevel=2,
        )
    outputs, inputs = tuple(_sequence(outputs)), tuple(_sequence(inputs))
    if _core._has_torch_function(outputs + inputs):
        return _core._handle_torch_function(
            grad,
            outputs + inputs,
            outputs,
            inputs,
            grad_outputs=grad_outputs,
            retain_graph=retain_graph,
            create_graph=create_graph,
            only_inputs=only_inputs,
            allow_unused=allow_unused,
            is_grads_batched=is_grads_batched,
            materialize_grads=materialize_grads,
        )
    if is_grads_batched:
        return _grad_of_each(outputs, inputs, grad_outputs, retain_graph, create_graph, allow_unused, materialize_grads)
    _check_ends(outputs, inputs)
    grads = [None] * len(outputs) if grad_outputs is None else _sequence(grad_outputs)
    retain = create_graph if retain_graph is None else retain_graph
    unused = materialize_grads if allow_unused is None else allow_unused
    started = _start(outputs, grads)
    if not inputs:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    _check_roots(outputs)
    for t in inputs:
        if not isinstance(t, GradientEdge) and not t.requires_grad:
            raise RuntimeError("One of the differentiated Tensors does not require grad")
    results = _core.run_backward(outputs, started, inputs, retain, create_graph, unused, False)
    if not materialize_grads:
        return results
    if any(isinstance(i, GradientEdge) and g is None for i, g in zip(inputs, results, strict=True)):
        raise RuntimeError("materialize_grads cannot be used when the given input is a GradientEdge")
    return tuple(_zeros_for(i, create_graph) if g is None else g for i, g in zip(inputs, results, strict=True))


def _grad_of_each(
    outputs: tuple[Any, ...],
    inputs: tuple[Any, ...],
    grad_outputs: Any,
    retain_graph: bool | None,
    create_graph: bool,
    allow_unused: bool | None,
    materialize_grads: bool,
) -> tuple[Any, ...]:
    """``grad`` once for each item of the gradients' first dim, and the results stacked along it."""
    given = [None] * len(outputs) if grad_outputs is None else list(_sequence(grad_outputs))
    batches = {g.shape[0] for g in given if g is not None and g.dim()}
    if not batches or any(g is not None and not g.dim() for g in given):
        raise RuntimeError(
            "If `is_grads_batched=True`, grad_outputs must be given for every output with a leading batch dimension."
        )
    if len(batches) > 1:
        raise ValueError(
            "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
            f"{[g.shape[0] for g in given if g is not None]} for the mapped dimension"
        )
    for i, (out, g) in enumerate(zip(outputs, given, strict=True)):
        if g is not None and g.shape[1:] != _shape_of(out):
            raise RuntimeError(
                "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch dimension. "
                f"The sizes of the remaining dimensions are expected to match the shape of corresponding output, but a mismatch "
                f"was detected: grad_output[{i}] has a shape of {g.shape} and output[{i}] has a shape of {_shape_of(out)}. "
                "If you only want some tensors in `grad_output` to be considered batched, consider using vmap."
            )
    count = batches.pop()
    if not count:
        return tuple(i.new_zeros((0, *i.shape)) for i in inputs)
    rows = []
    for k in range(count):
        last = k == count - 1
        retain = True if not last else (create_graph if retain_graph is None else retain_graph)
        seeds = [None if g is None else g[k] for g in given]
        rows.append(
            grad(
                outputs,
                inputs,
                seeds,
                retain_graph=retain,
                create_graph=create_graph,
                allow_unused=allow_unused,
                materialize_grads=materialize_grads,
            )
        )
    return tuple(None if column[0] is None else _torch.stack(column) for column in zip(*rows, strict=True))


def _shape_of(out: Any) -> Any:
    return out.node._input_metadata[out.output_nr].shape if isinstance(out, GradientEdge) else out.shape


def _calculate_shape(output: Any, grad: Any, is_grads_batched: bool) -> tuple[Any, Any]:
    """The shapes of an output and of one gradient for it."""
    shape = _shape_of(output)
    return shape, (grad.shape[1:] if is_grads_batched else grad.shape)


def _tensor_backward(
    self: Any, gradient: Any = None, retain_graph: bool | None = None, create_graph: bool = False, inputs: Any = None
) -> None:
    """Adds this tensor's gradients to the leaves (Tensor.backward)."""
    if _core._has_torch_function_unary(self):
        return _core._handle_torch_function(
            Tensor.backward,
            (self,),
            self,
            gradient=gradient,
            retain_graph=retain_graph,
            create_graph=create_graph,
            inputs=inputs,
        )
    backward(self, gradient, retain_graph, create_graph, inputs=inputs)
    return None


def kineto_available() -> bool:
    """Whether PyTorch's Kineto profiler is here: never."""
    return False


def _is_checkpoint_valid() -> bool:
    """Whether checkpoints work in the backward pass that runs: not in one that was given inputs."""
    return _core._is_checkpoint_valid()


def is_multithreading_enabled() -> bool:
    """What ``set_multithreading_enabled`` says; backward runs on the calling thread either way."""
    from shim_torch.autograd import grad_mode

    return grad_mode._multithreading


def install(tensor_type: Any) -> None:
    """Gives the tensor type its ``backward``."""
    _tensor_backward.__name__ = "backward"
    tensor_type.backward = _tensor_backward


def __getattr__(name: str) -> Any:
    if name in ("forward_ad", "functional", "profiler", "profiler_util", "_functions"):
        import importlib

        try:
            return importlib.import_module(f"shim_torch.autograd.{name}")
        except ModuleNotFoundError:
            pass
    if name == "_profiler_enabled":
        from shim_torch._C._autograd import _profiler_enabled

        return _profiler_enabled
    if name == "DeviceType":
        from shim_torch._C._autograd import DeviceType

        return DeviceType
    from shim_torch._impl.surface.missing import missing

    return missing("torch.autograd", name)
