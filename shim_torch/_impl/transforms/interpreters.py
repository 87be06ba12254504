"""Running transforms as ``torch._C._functorch`` shows them: kind, level, and what a ``vmap`` has besides."""

from __future__ import annotations

import enum
from typing import Any

from shim_torch._impl.surface import naming


class TransformType(enum.Enum):
    """The kinds of transforms."""

    Torch = 0
    Vmap = 1
    Grad = 2
    Jvp = 3
    Functionalize = 4


class RandomnessType(enum.Enum):
    """What random operators do under a ``vmap``."""

    Error = 0
    Same = 1
    Different = 2


class CInterpreter:
    """A running transform."""

    def __init__(self, running: Any) -> None:
        self._running = running

    def key(self) -> TransformType:
        """Which transform it is: Vmap, Grad, Jvp or Functionalize."""
        return TransformType[self._running.kind]

    def level(self) -> int:
        """The number of transforms around it, itself included."""
        return self._running.depth

    def batchSize(self) -> int:
        """The size of the dim that vmap hides."""
        return self._running.size

    def randomness(self) -> RandomnessType:
        """How vmap treats random operators: error, same or different."""
        return RandomnessType[self._running.randomness.capitalize()]


class CVmapInterpreterPtr(CInterpreter):
    """A running ``vmap``."""


naming.present(globals(), "torch._C._functorch")
