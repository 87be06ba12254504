"""``torch.autograd``: backward passes and the tools around them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from native import _core
from shim_torch.autograd import function, grad_mode
from shim_torch.autograd.function import Function
from shim_torch.autograd.grad_mode import (
    enable_grad,
    inference_mode,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)

__all__ = [
    "Function",
    "Variable",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "function",
    "grad",
    "grad_mode",
    "inference_mode",
    "no_grad",
    "set_detect_anomaly",
    "set_grad_enabled",
    "set_multithreading_enabled",
]
Tensor = _core.Tensor


def _sequence(x: Any) -> tuple[Any, ...]:
    return (x,) if isinstance(x, Tensor) or x is None else tuple(x)


def _start(outputs: Sequence[Any], grads: Sequence[Any], create_graph: bool) -> list[Any]:
    """The gradients that the backward pass starts with: given ones checked, ones for scalars."""
    if len(grads) != len(outputs):
        raise RuntimeError(f"got {len(outputs)} tensors and {len(grads)} gradients")
    made = []
    for i, (out, g) in enumerate(zip(outputs, grads, strict=True)):
        if g is None:
            if out.requires_grad:
                if out.numel() != 1:
                    raise RuntimeError("grad can be implicitly created only for scalar outputs")
                if not (out.dtype.is_floating_point or out.dtype.is_complex):
                    raise RuntimeError(
                        f"grad can be implicitly created only for real scalar outputs but got {out.dtype}"
                    )
                g = out.detach().new_ones(out.shape)
        elif not isinstance(g, Tensor):
            raise TypeError(f"gradients can be either Tensors or None, but got {type(g).__name__}")
        elif g.shape != out.shape:
            raise RuntimeError(
                f"Mismatch in shape: grad_output[{i}] has a shape of {g.shape} and output[{i}] has a shape of {out.shape}."
            )
        made.append(g)
    return made


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Any = None,
) -> None:
    """Adds the gradients of ``tensors`` to the leaves they depend on (or to ``inputs`` only)."""
    if grad_variables is not None and grad_tensors is None:
        grad_tensors = grad_variables
    inputs = () if inputs is None else _sequence(inputs)
    if inputs is not None and len(inputs) == 0 and inputs != ():
        raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    tensors = _sequence(tensors)
    grads = [None] * len(tensors) if grad_tensors is None else _sequence(grad_tensors)
    for i, t in enumerate(tensors):
        if not t.requires_grad:
            raise RuntimeError(f"element {i} of tensors does not require grad and does not have a grad_fn")
    retain = create_graph if retain_graph is None else retain_graph
    _core.run_backward(tensors, _start(tensors, grads, create_graph), inputs, retain, create_graph, True, True)


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
    """The gradients of ``outputs`` with respect to ``inputs``, as a tuple."""
    if is_grads_batched:
        raise NotImplementedError("torch.autograd.grad(is_grads_batched=True) is not supported by shim-torch")
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
        )
    outputs, inputs = _sequence(outputs), _sequence(inputs)
    grads = [None] * len(outputs) if grad_outputs is None else _sequence(grad_outputs)
    retain = create_graph if retain_graph is None else retain_graph
    unused = materialize_grads if allow_unused is None else allow_unused
    pairs = [(o, g) for o, g in zip(outputs, _start(outputs, grads, create_graph), strict=True)]
    for i, (o, _) in enumerate(pairs):
        if not o.requires_grad:
            raise RuntimeError(f"element {i} of tensors does not require grad and does not have a grad_fn")
    results = _core.run_backward(
        [o for o, _ in pairs], [g for _, g in pairs], inputs, retain, create_graph, unused, False
    )
    if materialize_grads:
        return tuple(i.new_zeros(i.shape) if g is None else g for i, g in zip(inputs, results, strict=True))
    return results


class _VariableMeta(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor)


class Variable(metaclass=_VariableMeta):
    """The old name of a tensor with gradients: ``Variable(t)`` is a tensor."""

    def __new__(cls, data: Any = None, requires_grad: bool = False, volatile: bool = False) -> Any:
        import shim_torch

        t = shim_torch.empty(0) if data is None else data.detach()
        return t.requires_grad_() if requires_grad else t


class detect_anomaly:
    """Names the forward operator whose backward failed: not supported; a warning says so, backward runs as usual."""

    def __init__(self, check_nan: bool = True) -> None:
        import warnings

        warnings.warn("torch.autograd.detect_anomaly: shim-torch does not trace anomalies", stacklevel=2)

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exc: Any) -> None:
        return None


class set_detect_anomaly(detect_anomaly):
    """As ``detect_anomaly``, with a switch."""

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        if mode:
            super().__init__(check_nan)


def _tensor_backward(
    self: Any, gradient: Any = None, retain_graph: bool | None = None, create_graph: bool = False, inputs: Any = None
) -> None:
    """Adds this tensor's gradients to the leaves (Tensor.backward)."""
    backward(self, gradient, retain_graph, create_graph, inputs=inputs)


def install(tensor_type: Any) -> None:
    """Gives the tensor type its ``backward``."""
    _tensor_backward.__name__ = "backward"
    tensor_type.backward = _tensor_backward


def __getattr__(name: str) -> Any:
    if name in ("gradcheck", "gradgradcheck", "functional", "graph", "profiler", "forward_ad"):
        import importlib

        try:
            module = importlib.import_module(f"shim_torch.autograd.{name.replace('gradgradcheck', 'gradcheck')}")
        except ModuleNotFoundError:
            pass
        else:
            return getattr(module, name) if "check" in name else module
    from shim_torch._missing import missing

    return missing("torch.autograd", name)
