"""``torch.autograd``: backward passes and the tools around them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from shim_torch._impl.autograd.edges import GradientEdge
from shim_torch._impl.autograd.roots import (
    check_ends,
    check_roots,
    first_gradients,
    fit_start,
    ones_for,
    sequence,
    warn_create_graph,
    zeros_for,
)
from shim_torch._impl.native import _core
from shim_torch._impl.table.calls import torch as _torch
from shim_torch.autograd import anomaly_mode, function, grad_mode, variable
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

if TYPE_CHECKING:  # imported when first asked for
    from shim_torch.autograd import graph

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
    inputs = sequence(inputs) if given else ()
    if given and len(inputs) == 0:
        raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    tensors = sequence(tensors)
    grads = [None] * len(tensors) if grad_tensors is None else sequence(grad_tensors)
    started = first_gradients(tensors, grads)
    check_roots(tensors)
    for t in inputs:
        if isinstance(t, GradientEdge):
            continue
        if not t.requires_grad:
            raise RuntimeError("One of the differentiated Tensors does not require grad")
        if not t.is_leaf:
            t.retain_grad()
    if create_graph:
        warn_create_graph()
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
    outputs, inputs = tuple(sequence(outputs)), tuple(sequence(inputs))
    if _core._has_torch_function(outputs + inputs):
        return _core._handle_torch_function(
            grad, outputs + inputs, outputs, inputs, grad_outputs=grad_outputs, retain_graph=retain_graph,
            create_graph=create_graph, only_inputs=only_inputs, allow_unused=allow_unused,
            is_grads_batched=is_grads_batched, materialize_grads=materialize_grads,
        )  # fmt: skip
    if is_grads_batched:
        return _grad_of_each(outputs, inputs, grad_outputs, retain_graph, create_graph, allow_unused, materialize_grads)
    check_ends(outputs, inputs)
    grads = [None] * len(outputs) if grad_outputs is None else sequence(grad_outputs)
    retain = create_graph if retain_graph is None else retain_graph
    unused = materialize_grads if allow_unused is None else allow_unused
    started = first_gradients(outputs, grads)
    if not inputs:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    check_roots(outputs)
    for t in inputs:
        if not isinstance(t, GradientEdge) and not t.requires_grad:
            raise RuntimeError("One of the differentiated Tensors does not require grad")
    results = _core.run_backward(outputs, started, inputs, retain, create_graph, unused, False)
    if not materialize_grads:
        return results
    if any(isinstance(i, GradientEdge) and g is None for i, g in zip(inputs, results, strict=True)):
        raise RuntimeError("materialize_grads cannot be used when the given input is a GradientEdge")
    return tuple(zeros_for(i, create_graph) if g is None else g for i, g in zip(inputs, results, strict=True))


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
    given = [None] * len(outputs) if grad_outputs is None else list(sequence(grad_outputs))
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


def is_view_replay_enabled() -> bool:
    """Whether views are tracked for replay (``_force_original_view_tracking``)."""
    return bool(_core._is_view_replay_enabled())


def _shape_of(out: Any) -> Any:
    return out.node._input_metadata[out.output_nr].shape if isinstance(out, GradientEdge) else out.shape


def _calculate_shape(output: Any, grad: Any, is_grads_batched: bool) -> tuple[Any, Any]:
    """The shapes of an output and of one gradient for it."""
    if isinstance(output, Tensor) and output.is_nested and output.layout != _core.jagged:
        return output._nested_tensor_size(), grad._nested_tensor_size()
    return _shape_of(output), (grad.shape[1:] if is_grads_batched else grad.shape)


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
    _tensor_backward.__name__, _tensor_backward.__qualname__ = "backward", "Tensor.backward"
    tensor_type.backward = _tensor_backward


def __getattr__(name: str) -> Any:
    if name in ("graph", "forward_ad", "functional", "profiler", "profiler_util", "_functions"):
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


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
