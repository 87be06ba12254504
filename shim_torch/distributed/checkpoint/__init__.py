"""``torch.distributed.checkpoint``: checkpoints written by many processes, which are not supported; use ``torch.save``."""

from __future__ import annotations

from shim_torch._impl.surface.not_built import declare

declare(
    globals(),
    "use torch.save and torch.load",
    """save load async_save save_state_dict load_state_dict StorageReader StorageWriter FileSystemReader FileSystemWriter
    DefaultSavePlanner DefaultLoadPlanner""",
)
