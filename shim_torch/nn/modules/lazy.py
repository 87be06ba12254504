"""``torch.nn.modules.lazy``: layers whose shapes come with the first input. They can be named, not made."""

from __future__ import annotations

from typing import Any


class LazyModuleMixin:
    """The base of lazy layers."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(
            f"{type(self).__name__}: lazy modules (torch.nn.modules.lazy.LazyModuleMixin) are not supported by shim-torch"
        )
