"""``torch.nn.parallel.replicate``: copies of a module on devices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

__all__ = ["replicate"]


def _copies(tensors: list[Any], devices: Sequence[Any], detach: bool) -> Iterator[list[Any]]:
    """The tensors on each device; their gradients are summed into the given ones unless ``detach``."""
    from shim_torch.nn.parallel._functions import Broadcast, on_device

    if not tensors:
        yield from ([] for _ in devices)
    elif detach:
        yield from ([on_device(t.detach(), device) for t in tensors] for device in devices)
    else:
        copied = Broadcast.apply(devices, *tensors)
        yield from (list(copied[i : i + len(tensors)]) for i in range(0, len(copied), len(tensors)))


def replicate(network: Any, devices: Sequence[Any], detach: bool = False) -> list[Any]:
    """A replica of a module for each device, with its parameters and buffers there.

    Those of the device where the module is share its memory. A replica's parameters are no leaves: their gradients go to the module's,
    unless ``detach``.
    """
    modules = list(network.modules())
    parameters = list(network.parameters())
    buffers = list(network.buffers())
    replicas = []
    copied = zip(_copies(parameters, devices, detach), _copies(buffers, devices, True), strict=True)
    for own_parameters, own_buffers in copied:
        made = {id(t): copy for t, copy in zip((*parameters, *buffers), (*own_parameters, *own_buffers), strict=True)}
        twins = {id(m): m._replicate_for_data_parallel() for m in modules}
        for module in modules:
            twin = twins[id(module)]
            for name, child in module._modules.items():
                twin._modules[name] = None if child is None else twins[id(child)]
            twin._former_parameters = {}
            for name, parameter in module._parameters.items():
                copy = None if parameter is None else made[id(parameter)]
                setattr(twin, name, copy)
                twin._former_parameters[name] = copy
            for name, buffer in module._buffers.items():
                twin._buffers[name] = None if buffer is None else made[id(buffer)]
        replicas.append(twins[id(network)])
    return replicas
