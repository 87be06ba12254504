"""``torch.utils.deterministic``: whether memory that isn't filled gets a fixed value in deterministic mode."""

from __future__ import annotations

import sys
import types
from typing import Any

from shim_torch._impl.tensor.uninitialized import settings as _settings


class _Deterministic(types.ModuleType):
    @property
    def fill_uninitialized_memory(self) -> bool:
        """Whether ``torch.empty`` and its like give NaN or the largest number while deterministic algorithms are on."""
        return _settings.fill

    @fill_uninitialized_memory.setter
    def fill_uninitialized_memory(self, mode: Any) -> None:
        _settings.set_fill(mode)


sys.modules[__name__].__class__ = _Deterministic
