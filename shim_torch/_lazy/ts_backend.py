"""``torch._lazy.ts_backend``: the device type ``lazy`` made usable. Test suites ask for it before tests of every device."""

from __future__ import annotations


def init() -> None:
    """Nothing is registered: what is then done on the device ``lazy`` raises NotImplementedError."""
