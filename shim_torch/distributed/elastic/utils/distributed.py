"""``torch.distributed.elastic.utils.distributed``: ports of this machine that nothing listens on."""

from __future__ import annotations

import contextlib
import socket

__all__ = ["get_free_port", "get_socket_with_port"]


def get_socket_with_port() -> socket.socket:
    """A socket that listens on a port of this machine; the caller closes it. Errors: OSError where there is none."""
    return socket.create_server(("localhost", 0))


def get_free_port() -> int:
    """A port that was free a moment ago."""
    with contextlib.closing(get_socket_with_port()) as found:
        return int(found.getsockname()[1])
