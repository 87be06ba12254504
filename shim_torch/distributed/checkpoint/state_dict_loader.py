"""``torch.distributed.checkpoint.state_dict_loader``: checkpoints read by many processes, by name."""

from __future__ import annotations

from shim_torch._impl.surface.not_built import declare

__getattr__ = declare(globals(), "use torch.save and torch.load", "load load_state_dict _load_state_dict_from_keys")
