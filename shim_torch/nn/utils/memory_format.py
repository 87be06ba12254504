"""Weights of convolutions in another memory format (torch.nn.utils.memory_format)."""

from __future__ import annotations

from typing import Any


def _convert(module: Any, memory_format: Any, kinds: tuple[str, ...]) -> Any:
    import shim_torch

    classes = tuple(getattr(shim_torch.nn, name) for name in kinds)
    for own in module.modules():
        if isinstance(own, classes):
            own.weight.data = own.weight.detach().clone().contiguous(memory_format=memory_format)
    return module


def convert_conv2d_weight_memory_format(module: Any, memory_format: Any) -> Any:
    """Gives the weights of all Conv2d and ConvTranspose2d within a module a memory format; the module."""
    return _convert(module, memory_format, ("Conv2d", "ConvTranspose2d"))


def convert_conv3d_weight_memory_format(module: Any, memory_format: Any) -> Any:
    """Gives the weights of all Conv3d and ConvTranspose3d within a module a memory format; the module."""
    return _convert(module, memory_format, ("Conv3d", "ConvTranspose3d"))
