"""``torch._functorch.batch_norm_replacement``: batch norms that keep no statistics, as ``vmap`` needs them."""

from __future__ import annotations

from typing import Any

from shim_torch import nn


def batch_norm_without_running_stats(module: nn.Module) -> None:
    """A batch norm module forgets its running statistics, in place; other modules stay."""
    from shim_torch.nn.modules.batchnorm import _BatchNorm

    if isinstance(module, _BatchNorm) and module.track_running_stats:
        norm: Any = module
        norm.running_mean = norm.running_var = norm.num_batches_tracked = None
        norm.track_running_stats = False


def replace_all_batch_norm_modules_(root: nn.Module) -> nn.Module:
    """The module itself, all of whose batch norms keep no running statistics any more."""
    for module in root.modules():
        batch_norm_without_running_stats(module)
    return root
