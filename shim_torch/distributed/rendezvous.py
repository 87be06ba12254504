"""How the processes of a group find each other: ``env://``, ``tcp://host:port`` and ``file:///path``."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlparse

from shim_torch._impl.distributed.stores import FileStore, PrefixStore, Store, TCPStore
from shim_torch.distributed.constants import default_pg_timeout

__all__ = ["register_rendezvous_handler", "rendezvous"]

_handlers: dict[str, Any] = {}


def register_rendezvous_handler(scheme: str, handler: Any) -> None:
    """A generator of (store, rank, world size) for the URLs of a scheme. Errors: RuntimeError when there is one."""
    if scheme in _handlers or scheme in ("env", "file", "tcp"):
        raise RuntimeError(f"Rendezvous handler for {scheme}:// already registered")
    _handlers[scheme] = handler


def rendezvous(url: str, rank: int = -1, world_size: int = -1, **kwargs: Any) -> Iterator[tuple[Store, int, int]]:
    """Yields (store, rank, world size).

    Errors: RuntimeError for what is no string or has an unknown scheme; ValueError for a rank or a size that nothing tells.
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

    def told(name: str, given: int) -> int:
        if given >= 0:
            return int(given)
        if name in query:
            return int(query[name])
        kind = f"Error initializing torch.distributed using {parts.scheme}:// rendezvous: "
        if parts.scheme == "env":
            return int(_environment(name.upper(), kind))
        raise ValueError(f"{kind}{name.replace('_', ' ')} parameter missing")

    number, size = told("rank", rank), told("world_size", world_size)
    timeout = kwargs.get("timeout") or default_pg_timeout
    return iter([(_store(parts, number, size, timeout), number, size)])


def _environment(name: str, kind: str = "Error initializing torch.distributed using env:// rendezvous: ") -> str:
    if name not in os.environ:
        raise ValueError(f"{kind}environment variable {name} expected, but not set")
    return os.environ[name]


def _store(parts: Any, rank: int, size: int, timeout: Any) -> Store:
    if parts.scheme == "file":
        path = parts.netloc + parts.path
        if not path:
            raise ValueError("Error initializing torch.distributed using file:// rendezvous: path missing")
        return FileStore(path, size)
    if parts.scheme == "tcp":
        if parts.port is None:
            raise ValueError("Error initializing torch.distributed using tcp:// rendezvous: port number missing")
        return TCPStore(parts.hostname, parts.port, size, rank == 0, timeout, wait_for_workers=False)
    host, port = _environment("MASTER_ADDR"), int(_environment("MASTER_PORT"))
    if os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True":  # torchrun serves it, also to those it starts again
        attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
        agents = TCPStore(host, port, size, False, timeout, wait_for_workers=False)
        return PrefixStore(f"/worker/attempt_{attempt}", agents)
    return TCPStore(host, port, size, rank == 0, timeout, wait_for_workers=False)
