"""``torch.fx.passes.runtime_assert``: assertions about sizes that are known only when a graph runs."""

from __future__ import annotations

from typing import Any


def insert_deferred_runtime_asserts(gm: Any, shape_env: Any, name: str, export: bool = False) -> None:
    """Adds the assertions that ``shape_env`` has put off to a graph. Errors: NotImplementedError where it has any."""
    if any(getattr(shape_env, "deferred_runtime_asserts", None) or ()):
        raise NotImplementedError(
            "torch.fx.passes.runtime_assert.insert_deferred_runtime_asserts is not supported by shim-torch for sizes that "
            "only a run knows"
        )
