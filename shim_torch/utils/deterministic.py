"""``torch.utils.deterministic``: whether memory that isn't filled gets a fixed value in deterministic mode."""

from __future__ import annotations

fill_uninitialized_memory = True  # kept and readable; memory of empty() is not filled here
