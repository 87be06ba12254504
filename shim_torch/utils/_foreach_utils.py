"""``torch.utils._foreach_utils``: tensors grouped by device and dtype, for operators that take lists of one kind."""

from __future__ import annotations

from typing import Any, TypeAlias

from shim_torch._impl.native import _core
from shim_torch.autograd.grad_mode import no_grad

TensorListList: TypeAlias = list[list[Any]]
Indices: TypeAlias = list[int]
_foreach_supported_types = [_core.Tensor]


def _get_foreach_kernels_supported_devices() -> list[str]:
    """Device types whose optimizers take lists where the caller leaves it open."""
    return ["cuda", "xpu", "mtia", "privateuseone"]


def _get_fused_kernels_supported_devices() -> list[str]:
    """Device types for which PyTorch's optimizers accept ``fused=True``."""
    return ["mps", "cuda", "xpu", "hpu", "cpu", "mtia", "privateuseone"]


@no_grad()
def _group_tensors_by_device_and_dtype(
    tensorlistlist: TensorListList, with_indices: bool = False
) -> dict[tuple[Any, Any], tuple[TensorListList, Indices]]:
    """The lists cut by (device, dtype) of the first list's tensors; with each group the places its tensors had.

    The other lists may hold None, or be empty; RuntimeError where one has another length than the first.
    """
    groups: dict[tuple[Any, Any], tuple[TensorListList, Indices]] = {}
    first = tensorlistlist[0]
    for tensors in tensorlistlist:
        if tensors and len(tensors) != len(first):
            raise RuntimeError(
                f"Tensors not same size. Expected {len(first)} tensors in each list but one has {len(tensors)}"
            )
    for place, lead in enumerate(first):
        if lead is None:
            raise RuntimeError("Tensors of the first list of nested Tensor lists are supposed to be defined.")
        lists, places = groups.setdefault((lead.device, lead.dtype), ([[] for _ in tensorlistlist], []))
        for into, tensors in zip(lists, tensorlistlist, strict=True):
            if tensors:
                into.append(tensors[place])
        if with_indices:
            places.append(place)
    return groups


def _device_has_foreach_support(device: Any) -> bool:
    return device.type in (*_get_foreach_kernels_supported_devices(), "cpu")


def _has_foreach_support(tensors: list[Any], device: Any) -> bool:
    """Whether operators on lists take these: plain tensors (or None) of such a device."""
    return _device_has_foreach_support(device) and all(
        t is None or type(t) in _foreach_supported_types for t in tensors
    )
