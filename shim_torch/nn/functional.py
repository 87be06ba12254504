"""``torch.nn.functional``: the functions of the operator table that stand here, and the few with Python-only arguments."""

from __future__ import annotations

from typing import Any

from shim_torch import ops as _ops

globals().update(_ops.functions("nn.functional"))


def __getattr__(name: str) -> Any:
    from shim_torch._missing import missing

    return missing("torch.nn.functional", name)
