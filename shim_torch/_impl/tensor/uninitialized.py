"""Uninitialised memory is filled with NaN, the largest integer or True while deterministic algorithms are on."""

from __future__ import annotations

import math
from typing import Any

from shim_torch._impl.native import _core


class _Settings:
    """Two switches; ``active`` where both are on."""

    def __init__(self) -> None:
        self.fill, self.deterministic, self.active = True, False, False

    def set_fill(self, on: Any) -> None:
        """RuntimeError for what is no bool."""
        if not isinstance(on, bool):
            raise RuntimeError(f"expected a bool, but got {type(on).__name__}")
        self.fill = on
        self._note()

    def set_deterministic(self, on: bool) -> None:
        self.deterministic = on
        self._note()

    def _note(self) -> None:
        self.active = self.fill and self.deterministic
        _core.set_fill_uninitialized(self.active)


settings = _Settings()


def fixed(made: Any) -> Any:
    """A new tensor, with the fixed value where that is asked for."""
    if not settings.active or made.device.type == "meta":
        return made
    from shim_torch._impl.tensor.type_info import iinfo
    from shim_torch.autograd.grad_mode import no_grad

    dtype = made.dtype
    with no_grad():
        if dtype.is_floating_point or dtype.is_complex:
            return made.fill_(math.nan)
        return made.fill_(True if dtype is _core.bool else iinfo(dtype).max)


def fill_grown(self: Any, had: int) -> None:
    """The fixed value in the storage's elements from byte ``had`` on."""
    from shim_torch._impl.tensor.untyped_storage import over

    whole = over(self.untyped_storage(), self.dtype)
    fixed(whole[-(-had // self.dtype.itemsize) :])
