"""``torch.utils.deterministic``: whether memory that isn't filled gets a fixed value in deterministic mode."""

from __future__ import annotations

from shim_torch._missing import asked_of as _asked_of

fill_uninitialized_memory = True  # kept and readable; memory of empty() is not filled here

__getattr__ = _asked_of(__name__)
