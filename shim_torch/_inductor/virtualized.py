"""``torch._inductor.virtualized``: the code generator's operations, which only functions that it calls may use."""

from __future__ import annotations

from typing import Any

__all__ = ["V", "ops"]


class _Unset:
    """What PyTorch sets while it generates code; nothing is generated here."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        raise NotImplementedError(
            f"torch._inductor.virtualized.{self._name}.{name} is not supported by shim-torch: there is no code generator"
        )


ops, V = _Unset("ops"), _Unset("V")
