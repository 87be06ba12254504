"""``torch.distributed.checkpoint.state_dict_saver``: checkpoints written by many processes, by name."""

from __future__ import annotations

from shim_torch._impl.surface.not_built import declare

__getattr__ = declare(
    globals(),
    "use torch.save and torch.load",
    "save async_save save_state_dict AsyncCheckpointerType AsyncSaveResponse",
)
