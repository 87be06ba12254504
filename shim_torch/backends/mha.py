"""``torch.backends.mha``: the fast path of nn.MultiheadAttention."""

from __future__ import annotations

_enabled = True


def get_fastpath_enabled() -> bool:
    """The switch, which is kept and readable; there is one path only."""
    return _enabled


def set_fastpath_enabled(value: bool) -> None:
    """Switches the fast path of multi-head attention on or off."""
    global _enabled
    _enabled = value
