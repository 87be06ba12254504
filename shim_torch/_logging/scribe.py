"""``torch._logging.scribe``: events for PyTorch's own log service, which public builds drop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def make_scribe_logger(name: str, thrift_src: str) -> Callable[..., None]:
    """A function that takes an event's fields and, without that service, drops them."""

    def log(**fields: Any) -> None:
        pass

    return log


open_source_signpost = make_scribe_logger("TorchOpenSourceSignpost", "")
