"""Which fake mode is on, and how the fake modes are taken away for a while."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.surface import naming
from shim_torch.utils._python_dispatch import _get_current_dispatch_mode_stack as stack


def is_fake_mode(mode: Any) -> bool:
    """Whether a mode computes shapes alone, as ``FakeTensorMode`` does."""
    return getattr(mode, "_computes_shapes", False)


def active() -> Any:
    """The innermost fake mode that is on, or None."""
    modes = [m for m in stack() if is_fake_mode(m)]
    return modes[-1] if modes else None


class unset_fake_temporarily:
    """Takes the fake modes away within a ``with`` block; gives the innermost."""

    def __enter__(self) -> Any:
        self._stack = stack()
        mode = active()
        if mode is not None:
            self._replace(self._stack, [m for m in self._stack if not is_fake_mode(m)])
        else:
            self._stack = []
        return mode

    @staticmethod
    def _replace(old: list[Any], new: list[Any]) -> None:
        for _ in old:
            _core._pop_torch_dispatch_stack()
        for mode in new:
            _core._push_on_torch_dispatch_stack(mode)

    def __exit__(self, *_: object) -> None:
        if self._stack:
            self._replace(stack(), self._stack)


naming.present(globals(), "torch._subclasses.fake_tensor")
