"""``torch.__future__``: switches of how modules take new values when they are converted or loaded."""

from __future__ import annotations

_overwrite = False
_swap = False


def set_overwrite_module_params_on_conversion(value: bool) -> None:
    """Whether ``module.to`` and its like make new parameters rather than change the data of the old ones."""
    global _overwrite
    _overwrite = value


def get_overwrite_module_params_on_conversion() -> bool:
    """Whether ``Module.to`` replaces parameters instead of writing into them."""
    return _overwrite


def set_swap_module_params_on_conversion(value: bool) -> None:
    """Whether conversions and ``load_state_dict`` swap tensors: parameters stay the objects they are, whatever they become."""
    global _swap
    _swap = value


def get_swap_module_params_on_conversion() -> bool:
    """Whether ``Module.to`` swaps the contents of parameters (``torch.utils.swap_tensors``)."""
    return _swap
