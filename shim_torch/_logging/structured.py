"""``torch._logging.structured``: traces of compilation, by name."""

from __future__ import annotations

from shim_torch._impl.surface.not_built import NO_COMPILER, declare

__getattr__ = declare(
    globals(),
    NO_COMPILER,
    """
    from_traceback dump_file get_user_stack get_framework_stack intern_string
    """,
)
