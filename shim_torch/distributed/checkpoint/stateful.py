"""``torch.distributed.checkpoint.stateful``: objects that make and take state dicts."""

from __future__ import annotations

from typing import Any, Protocol, TypeVar, runtime_checkable

__all__ = ["Stateful", "StatefulT"]


@runtime_checkable
class Stateful(Protocol):
    """What ``save`` asks for a state dict, and ``load`` gives it back to."""

    def state_dict(self) -> dict[str, Any]:
        """The state."""
        ...

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes a state."""
        ...


StatefulT = TypeVar("StatefulT", bound=Stateful)
