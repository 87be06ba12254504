"""``torch.nn.utils.weight_norm``, the old form: a hook makes the weight before every forward."""

from __future__ import annotations

import warnings
from typing import Any

from shim_torch.nn.parameter import Parameter
from shim_torch.nn.utils.spectral_norm import _check_initialized, _check_new_hook, _keys_of

__all__ = ["WeightNorm", "remove_weight_norm", "weight_norm"]


class WeightNorm:
    """The hook: ``name`` is ``name_g`` (lengths) times the direction of ``name_v``; ``dim`` -1 is one length for all."""

    def __init__(self, name: str, dim: int | None) -> None:
        self.name, self.dim = name, -1 if dim is None else dim

    def compute_weight(self, module: Any) -> Any:
        """The weight of the module's lengths and directions."""
        import shim_torch

        return shim_torch._weight_norm(getattr(module, self.name + "_v"), getattr(module, self.name + "_g"), self.dim)

    @staticmethod
    def apply(module: Any, name: str, dim: int | None) -> WeightNorm:
        """Splits a parameter in two and registers the hook."""
        import shim_torch

        warnings.warn(
            "`torch.nn.utils.weight_norm` is deprecated in favor of `torch.nn.utils.parametrizations.weight_norm`.",
            FutureWarning,
            stacklevel=3,
        )
        _check_new_hook(module, WeightNorm, name)
        hook, weight = WeightNorm(name, dim), getattr(module, name)
        _check_initialized(weight, WeightNorm, "weight")
        parts = {"_g": shim_torch.norm_except_dim(weight, 2, hook.dim), "_v": weight}
        del module._parameters[name]
        for ending, part in parts.items():
            module.register_parameter(name + ending, Parameter(part.data))
        hook(module, None)
        module.register_forward_pre_hook(hook)
        return hook

    def remove(self, module: Any) -> None:
        """Makes the weight a parameter of its own again."""
        weight = self.compute_weight(module)
        delattr(module, self.name)
        del module._parameters[self.name + "_g"], module._parameters[self.name + "_v"]
        setattr(module, self.name, Parameter(weight.data))

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module))


def weight_norm(module: Any, name: str = "weight", dim: int | None = 0) -> Any:
    """Deprecated: makes a weight the product of its length ``name_g`` and its direction ``name_v``."""
    WeightNorm.apply(module, name, dim)
    return module


def remove_weight_norm(module: Any, name: str = "weight") -> Any:
    """Undoes ``weight_norm``."""
    for key in _keys_of(module._forward_pre_hooks, WeightNorm, name):
        module._forward_pre_hooks.pop(key).remove(module)
        return module
    raise ValueError(f"weight_norm of '{name}' not found in {module}")
