"""``torch._functorch``: where PyTorch keeps ``torch.func``; ``package`` is the top-level ``functorch``."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    from shim_torch._impl.surface.missing import missing

    return missing("torch._functorch", name)
