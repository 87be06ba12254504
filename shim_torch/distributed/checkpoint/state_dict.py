"""``torch.distributed.checkpoint.state_dict``: state dicts of spread modules. Here modules are whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass
class StateDictOptions:
    """How a state dict is made."""

    full_state_dict: bool = False
    cpu_offload: bool = False
    ignore_frozen_params: bool = False
    keep_submodule_prefixes: bool = True
    strict: bool = True
    broadcast_from_rank0: bool = False
    flatten_optimizer_state_dict: bool = False


def get_model_state_dict(
    model: Any, *, submodules: Any = None, options: StateDictOptions | None = None
) -> dict[str, Any]:
    """The module's state dict."""
    options = options or StateDictOptions()
    frozen = {n for n, p in model.named_parameters() if not p.requires_grad} if options.ignore_frozen_params else set()
    return {k: v.cpu() if options.cpu_offload else v for k, v in model.state_dict().items() if k not in frozen}


def set_model_state_dict(model: Any, model_state_dict: Any, *, options: StateDictOptions | None = None) -> Any:
    """Loads a state dict."""
    return model.load_state_dict(model_state_dict, strict=(options or StateDictOptions()).strict)


def __getattr__(name: str) -> Any:
    from shim_torch._missing import missing

    return missing("torch.distributed.checkpoint.state_dict", name)
