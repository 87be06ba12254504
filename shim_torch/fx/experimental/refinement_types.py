"""``torch.fx.experimental.refinement_types``: what is known of sizes that are symbols."""

from __future__ import annotations

from typing import Any

__all__ = ["Equality"]


class Equality:
    """Two sizes that are the same."""

    def __init__(self, lhs: Any, rhs: Any) -> None:
        self.lhs, self.rhs = lhs, rhs

    def __str__(self) -> str:
        return f"{self.lhs} = {self.rhs}"

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Equality) and self.lhs == other.lhs and self.rhs == other.rhs

    __hash__ = None  # type: ignore[assignment]
