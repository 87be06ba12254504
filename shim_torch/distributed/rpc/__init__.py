"""``torch.distributed.rpc``: calls between processes. There is one process here: the names are, calling raises."""

from __future__ import annotations

from shim_torch._impl.surface.not_built import ONE_PROCESS, declare

__all__ = ["is_available"]


def is_available() -> bool:
    """Whether there is remote calling: no."""
    return False


def _is_current_rpc_agent_set() -> bool:
    """Whether ``init_rpc`` was called: no."""
    return False


declare(
    globals(),
    ONE_PROCESS,
    "RRef PyRRef WorkerInfo init_rpc shutdown rpc_sync rpc_async remote get_worker_info _get_current_rpc_agent",
)
