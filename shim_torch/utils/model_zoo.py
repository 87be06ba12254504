"""``torch.utils.model_zoo``: the older name of ``torch.hub.load_state_dict_from_url``."""

from __future__ import annotations

from typing import Any

from shim_torch.hub import load_state_dict_from_url as load_url

__all__ = ["load_url"]


def __getattr__(name: str) -> Any:
    from shim_torch import hub

    return getattr(hub, name)
