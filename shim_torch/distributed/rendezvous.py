"""How the processes of a group find each other. Here there is one, which has found itself."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlparse

from shim_torch._impl.collectives.stores import HashStore, Store

__all__ = ["register_rendezvous_handler", "rendezvous"]

_handlers: dict[str, Any] = {}


def register_rendezvous_handler(scheme: str, handler: Any) -> None:
    """A generator of (store, rank, world size) for the URLs of a scheme. Errors: RuntimeError when there is one."""
    if scheme in _handlers or scheme in ("env", "file", "tcp"):
        raise RuntimeError(f"Rendezvous handler for {scheme}:// already registered")
    _handlers[scheme] = handler


def rendezvous(url: str, rank: int = -1, world_size: int = -1, **kwargs: Any) -> Iterator[tuple[Store, int, int]]:
    """Yields (store, rank, world size), for a world of one process.

    Errors: RuntimeError for what is no string or has an unknown scheme; NotImplementedError for more processes.
    """
    if not isinstance(url, (str, bytes)):
        raise RuntimeError(f"`url` must be a string. {type(url)}: {url}")
    text = url.decode() if isinstance(url, bytes) else url
    parts = urlparse(text)
    if parts.scheme in _handlers:
        return _handlers[parts.scheme](text, **kwargs)
    if parts.scheme not in ("env", "file", "tcp"):
        raise RuntimeError(f"No rendezvous handler for {parts.scheme}://")
    query = {k: v[-1] for k, v in parse_qs(parts.query).items()}
    given = os.environ if parts.scheme == "env" else {}
    size = world_size if world_size >= 0 else int(query.get("world_size", given.get("WORLD_SIZE", 1)))
    number = rank if rank >= 0 else int(query.get("rank", given.get("RANK", 0)))
    if size != 1 or number != 0:
        raise NotImplementedError(
            f"torch.distributed.rendezvous({text!r}): rank {number} of {size}: shim-torch has groups of one process only"
        )
    return iter([(HashStore(), 0, 1)])
