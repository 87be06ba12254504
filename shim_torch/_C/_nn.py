"""``torch._C._nn``: the operators behind ``torch.nn.functional``."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.tensor.parse_to import parse_to

__all__ = ["_parse_to"]

# Functions of this module alone: torch has none of these names, so that they are operators of torch.ops first.
_OPERATORS = frozenset(
    "_conv_depthwise2d conv_depthwise3d relu6_ rrelu_with_noise rrelu_with_noise_ slow_conv_dilated2d slow_conv_dilated3d "
    "slow_conv_transpose2d slow_conv_transpose3d thnn_conv2d".split()
)


def _parse_to(*args: Any, **kwargs: Any) -> Any:
    """The arguments of ``Module.to``: (device or None, dtype or None, non_blocking, memory_format or None)."""
    given = (*args, *kwargs.values())
    if _core._has_torch_function(given):
        return _core._handle_torch_function(_parse_to, given, *args, **kwargs)
    return parse_to(*args, **kwargs)


def __getattr__(name: str) -> Any:
    if name in _OPERATORS:
        from shim_torch import ops

        found = globals()[name] = getattr(ops.aten, name)
        return found
    if not name.startswith("__"):
        from shim_torch._impl.core_names.tables import aten_function

        made = aten_function(name, "torch._C._nn")
        if made is not None:
            globals()[name] = made
            return made
    from shim_torch._impl.surface.missing import missing

    return missing("torch._C._nn", name)
