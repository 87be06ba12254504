"""``torch.utils.hooks``: handles that take hooks away again."""

from __future__ import annotations

import warnings
from typing import Any

from shim_torch._impl.utils.handles import RemovableHandle

__all__ = ["BackwardHook", "RemovableHandle", "unserializable_hook", "warn_if_has_hooks"]


def unserializable_hook(f: Any) -> Any:
    """Marks a hook that checkpoints leave out, with a warning."""
    f.__torch_unserializable__ = True
    return f


def warn_if_has_hooks(tensor: Any) -> None:
    """Warns for each hook of a tensor that is being written and would be lost."""
    hooks = getattr(tensor, "_backward_hooks", None) or {}
    for hook in hooks.values():
        if not hasattr(hook, "__torch_unserializable__"):
            warnings.warn(
                f"backward hook {hook!r} on tensor will not be serialized.  If this is expected, you can decorate the function "
                "with @torch.utils.hooks.unserializable_hook to suppress this warning",
                stacklevel=2,
            )


class BackwardHook:
    """PyTorch's helper behind module backward hooks; modules here have their own."""

    def __init__(self, *_: Any, **__: Any) -> None:
        raise NotImplementedError(
            "torch.utils.hooks.BackwardHook is not supported by shim-torch; register the hook on the module"
        )
