"""``torch._C._dynamo``: PyTorch's bytecode compiler, which is not here."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    from shim_torch._missing import missing

    return missing("torch._C._dynamo", name)
