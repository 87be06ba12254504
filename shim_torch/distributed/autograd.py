"""``torch.distributed.autograd``: gradients through remote calls. There is no remote calling: the names are, using them raises."""

from __future__ import annotations

from typing import Any

__all__ = ["context", "is_available"]


def is_available() -> bool:
    """Whether there are gradients through remote calls: no."""
    return False


def _refuse(name: str) -> Any:
    def call(*_: Any, **__: Any) -> Any:
        raise NotImplementedError(
            f"torch.distributed.autograd.{name} is not supported by shim-torch: groups have one process"
        )

    call.__name__ = call.__qualname__ = name
    return call


class context:
    """The scope of one distributed backward pass; there are none."""

    def __init__(self, *_: Any, **__: Any) -> None:
        _refuse("context")()


backward, get_gradients = _refuse("backward"), _refuse("get_gradients")


def __getattr__(name: str) -> Any:
    from shim_torch._missing import missing

    return missing("torch.distributed.autograd", name)
