"""``torch.nn.utils._named_member_accessor``: replaces a module's tensors by name, also by plain tensors."""

from __future__ import annotations

from typing import Any

from shim_torch import Tensor
from shim_torch._impl.transforms.stateless import exchange
from shim_torch.nn import Module

__all__ = ["set_tensor", "swap_submodule", "swap_tensor"]

_MISSING: Any = object()


def _checked(module: Any, name: str, what: str) -> None:
    if not isinstance(module, Module):
        raise TypeError(f"{module} is not an instance of torch.nn.Module")
    if "." in name:
        raise KeyError(f'{what} name can\'t contain "."')
    if name == "":
        raise KeyError(f'{what} name can\'t be empty string ""')


def swap_tensor(module: Any, name: str, tensor: Any, allow_missing: bool = False) -> Any:
    """Puts ``tensor`` (or None) in the place of a module's parameter, buffer or tensor attribute; gives what was there.

    Errors: TypeError for what is no module or no tensor; KeyError for a dotted or empty name; AttributeError for a name
    that is not there, unless ``allow_missing``.
    """
    _checked(module, name, "tensor")
    if tensor is not _MISSING and tensor is not None and not isinstance(tensor, Tensor):
        raise TypeError(f"{tensor} is not an instance of torch.Tensor")

    def check(name: str, before: Any) -> None:
        if before is _MISSING and not allow_missing:
            raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
        if before is not _MISSING and not isinstance(before, Tensor):
            raise TypeError(f"attribute `{name}`: {before} is not an instance of torch.Tensor")

    return exchange(module, name, tensor, _MISSING, check)


def set_tensor(module: Any, name: str, tensor: Any) -> None:
    """``swap_tensor`` of a name that need not be there."""
    _checked(module, name, "tensor")
    if name in module._parameters:
        del module._parameters[name]  # or the module would refuse what is no Parameter
    setattr(module, name, tensor)


def swap_submodule(module: Any, name: str, submodule: Any) -> Any:
    """Puts a module in the place of a module's child; gives what was there. Errors: as ``swap_tensor``."""
    _checked(module, name, "submodule")
    if not isinstance(submodule, Module):
        raise TypeError(f"{submodule} is not an instance of torch.nn.Module")
    if name not in module._modules:
        raise KeyError(f"submodule {name} does not exist")
    before = module._modules[name]
    if not isinstance(before, Module):
        raise TypeError(f"{name} attribute is not an instance of torch.nn.Module")
    module._modules[name] = submodule
    return before
