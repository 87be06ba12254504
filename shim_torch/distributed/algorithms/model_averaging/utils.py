"""The average of parameters over the processes of a group."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from shim_torch import _utils, distributed

__all__ = ["average_parameters", "average_parameters_or_parameter_groups", "get_params_to_average"]


def average_parameters(params: Iterable[Any], process_group: Any) -> None:
    """Sets each parameter to its mean over the group, in place."""
    import shim_torch

    given = list(params)
    if not any(p.numel() for p in given):
        return
    with shim_torch.no_grad():
        mean = _utils._flatten_dense_tensors([p.detach() for p in given])
        mean /= distributed.get_world_size(process_group)
        distributed.all_reduce(mean, group=process_group)
        for p, part in zip(given, _utils._unflatten_dense_tensors(mean, given), strict=True):
            p.data = part.type_as(p)


def get_params_to_average(params: Iterable[Any]) -> list[Any]:
    """The parameters that have a gradient, of parameters or of an optimizer's groups."""
    found: list[Any] = []
    for item in params:
        if isinstance(item, dict):
            found += [p for p in item["params"] if p.grad is not None]
        elif hasattr(item, "grad"):
            found += [item] if item.grad is not None else []
        else:
            raise NotImplementedError(f"Parameter input of type {type(item)} is not supported")
    return found


def average_parameters_or_parameter_groups(params: Iterator[Any] | Iterable[Any], process_group: Any) -> None:
    """Averages what ``get_params_to_average`` finds."""
    average_parameters(iter(get_params_to_average(params)), process_group)
