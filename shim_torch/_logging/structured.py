"""``torch._logging.structured``: traces of compilation, by name."""

from __future__ import annotations

from typing import Any

from shim_torch._not_built import NO_COMPILER, names

globals().update(
    names(
        "torch._logging.structured",
        NO_COMPILER,
        """
        from_traceback dump_file get_user_stack get_framework_stack intern_string
        """,
    )
)


def __getattr__(name: str) -> Any:
    from shim_torch._missing import missing

    return missing("torch._logging.structured", name)
