"""Functions with their own gradient (``autograd.Function``) over lists of tensors."""

from __future__ import annotations

import dataclasses
from typing import Any

from shim_torch._impl.native import _core
from shim_torch.utils._pytree import tree_flatten, tree_unflatten


@dataclasses.dataclass
class _Call:
    """The structure of the arguments and results of one ``apply``, flattened for autograd."""

    inputs: Any
    outputs: Any = None
    several: bool = False


def _is_leaf(value: Any, empty: bool = False) -> bool:
    """Whether a value is a pytree leaf: anything but tuples and lists of tensors (``empty``: of tensors and None)."""
    if isinstance(value, list):
        return not all(isinstance(x, _core.TensorBase) or (empty and x is None) for x in value)
    return not isinstance(value, tuple)


def supports_tensorlist(cls: Any) -> Any:
    """A class decorator: ``apply`` takes lists of tensors, ``forward`` gives them and ``backward`` gets and gives their gradients.

    ``ctx.needs_input_grad`` has the arguments' structure within ``backward``.
    """
    forward, backward, apply = cls.forward, cls.backward, cls.apply

    def spread_forward(ctx: Any, *values: Any) -> Any:
        call = values[-1] if values else None
        if not isinstance(call, _Call):
            raise NotImplementedError(
                "NYI: calling supports_tensorlist autograd.Function.forward directly. You should probably be calling .apply instead. "
                "Please file an issue if not."
            )
        result = forward(ctx, *tree_unflatten(list(values[:-1]), call.inputs))
        call.several = isinstance(result, tuple)
        flat, call.outputs = tree_flatten(result if call.several else (result,), _is_leaf)
        if hasattr(ctx, "_pt_metadata"):
            raise RuntimeError("Please don't set ctx._pt_metadata; PyTorch uses it to store info")
        ctx._pt_metadata = call
        return tuple(flat)

    def spread_backward(ctx: Any, *grads: Any) -> Any:
        if not hasattr(ctx, "_pt_metadata"):
            raise NotImplementedError(
                "NYI: calling supports_tensorlist autograd.Function.backward directly. This will automatically get called by PyTorch "
                "autograd. Please file an issue if you need this."
            )
        call, needed = ctx._pt_metadata, ctx.needs_input_grad
        try:
            ctx.needs_input_grad = tree_unflatten(list(needed[:-1]), call.inputs)
            found = backward(ctx, *tree_unflatten(list(grads), call.outputs))
        finally:
            ctx.needs_input_grad = needed
        flat, spec = tree_flatten(found if isinstance(found, tuple) else (found,), lambda x: _is_leaf(x, empty=True))
        if spec != call.inputs:
            raise RuntimeError(
                f"Expected the return from backward to be of the same structure as the inputs. Got: {spec} (return from backward), "
                f"{call.inputs} (inputs)"
            )
        return (*flat, None)

    def spread_apply(*args: Any) -> Any:
        flat, spec = tree_flatten(args, _is_leaf)
        call = _Call(spec)
        result = tree_unflatten(list(apply(*flat, call)), call.outputs)
        return result if call.several else result[0]

    cls.forward, cls.backward, cls.apply = (
        staticmethod(spread_forward),
        staticmethod(spread_backward),
        staticmethod(spread_apply),
    )
    return cls
