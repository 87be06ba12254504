"""Which tensors ``torch.utils.swap_tensors`` takes: those that no graph holds."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core

_POISONED = (
    "Trying to execute AccumulateGrad node that was poisoned by swap_tensors "
    "this can happen when you try to run backward on a tensor that was swapped. "
    "For a module m with `torch.__future__.set_swap_module_params_on_conversion(True)` "
    "you should not change the device or dtype of the module (e.g. `m.cpu()` or `m.half()`) "
    "between running forward and backward. To resolve this, please only change the "
    "device/dtype before running forward (or after both forward and backward)."
)


def _refuse(grad_outputs: Any) -> None:
    raise RuntimeError(_POISONED)


def check_unused(tensor: Any, name: str) -> None:
    """RuntimeError where a graph other than the leaf's own accumulation holds it; that accumulation is refused from now on."""
    count = _core.tensor_use_count(tensor)
    if count <= 1:
        return
    from shim_torch.autograd.graph import get_gradient_edge

    if count == 2 and tensor.is_leaf:
        accumulator = get_gradient_edge(tensor).node
        if _core.tensor_use_count(tensor) == 2:  # the accumulation was there before this function asked for it
            accumulator.register_prehook(_refuse)
            return
    raise RuntimeError(
        f"Expected use_count of {name} to be 1 or 2 with an AccumulateGrad node but got {count} make sure you are not "
        "holding references to the tensor in other places."
    )
