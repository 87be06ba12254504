"""Results without tangents within ``torch.func.jvp``: what ``_set_fwd_grad_enabled(False)`` means there."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.formulas import tangents_wanted
from shim_torch._impl.tensor.torch_function import TorchFunctionMode
from shim_torch.utils._pytree import tree_leaves, tree_map


def _shut(g: Any) -> Any:
    return g.new_zeros(g.shape) if tangents_wanted() else g


def _gated(x: Any, given: set[int]) -> Any:
    if not isinstance(x, _core.TensorBase) or not x.requires_grad or id(x) in given:
        return x
    alias = x.view_as(x)
    alias.register_hook(_shut)
    return alias


class Gates(TorchFunctionMode):
    """``jvp`` finds tangents from gradients: while they are paused those of new results go no further, other gradients do."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        was = _core._pause_tangents(True)
        _core._pause_tangents(was)
        if was or not _core.is_grad_enabled():
            return result
        given = {id(x) for x in tree_leaves((args, kwargs))}
        return tree_map(lambda x: _gated(x, given), result)
