"""``torch._dynamo._trace_wrapped_higher_order_op``: indexing by batched tensors of no dims."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shim_torch import Tensor
from shim_torch.overrides import TorchFunctionMode
from shim_torch.utils import _pytree

__all__ = ["TransformGetItemToIndex"]


class TransformGetItemToIndex(TorchFunctionMode):
    """A mode in which ``x[i, j]`` of tensors is ``aten::index``, also where they have no dims.

    ``x[i]`` reads such an index as a number, which ``torch.vmap`` refuses. Masks written for one position are mapped
    over all of them within this mode.
    """

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        indices = _pytree.tree_leaves(args[1]) if func is Tensor.__getitem__ else [None]
        if any(not isinstance(index, Tensor) for index in indices):
            return func(*args, **(kwargs or {}))
        from shim_torch import ops

        return ops.aten.index.Tensor(args[0], indices)
