"""``torch.fx.experimental.proxy_tensor``."""

from __future__ import annotations

from typing import Any


def make_fx(*_: Any, **__: Any) -> Any:
    """A graph of a function: NotImplementedError."""
    raise NotImplementedError("torch.fx.experimental.proxy_tensor.make_fx is not supported by shim-torch")


def get_proxy_mode() -> None:
    """The tracing mode: none."""
    return None


def maybe_disable_fake_tensor_mode() -> Any:
    """A context; nothing is to be turned off."""
    import contextlib

    return contextlib.nullcontext()
