"""``torch.nn.utils``: gradient clipping and parameters as vectors."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._utils import typename as _typename
from shim_torch.nn.utils import parametrize
from shim_torch.nn.utils.clip_grad import (
    clip_grad_norm,
    clip_grad_norm_,
    clip_grad_value_,
    clip_grads_with_norm_,
    get_total_norm,
)
from shim_torch.nn.utils.memory_format import convert_conv2d_weight_memory_format, convert_conv3d_weight_memory_format
from shim_torch.nn.utils.rnn import pad_sequence, unpad_sequence
from shim_torch.nn.utils.spectral_norm import remove_spectral_norm, spectral_norm
from shim_torch.nn.utils.weight_norm import remove_weight_norm, weight_norm


def parameters_to_vector(parameters: Iterable[Any]) -> Any:
    """All parameters flattened into one vector."""
    import shim_torch

    return shim_torch.cat([p.reshape(-1) for p in parameters])


def vector_to_parameters(vec: Any, parameters: Iterable[Any]) -> None:
    """Makes the parameters slices of ``vec``."""
    if not isinstance(vec, _core.Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {_typename(vec)}")
    start = 0
    for p in parameters:
        count = math.prod(p.shape)
        p.data = vec[start : start + count].view_as(p).data
        start += count


def skip_init(module_cls: type[Any], *args: Any, **kwargs: Any) -> Any:
    """Makes a module with uninitialised parameters, which saves the time of drawing values."""
    device = kwargs.pop("device", "cpu")
    return module_cls(*args, **{**kwargs, "device": "meta"}).to_empty(device=device)


def __getattr__(name: str) -> Any:
    if name in ("fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"):
        from shim_torch.nn.utils import fusion

        return getattr(fusion, name)
    from shim_torch._impl.surface.missing import missing

    return missing("torch.nn.utils", name)
