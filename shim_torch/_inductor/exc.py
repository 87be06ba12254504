"""``torch._inductor.exc``: what the code generator raises."""

from __future__ import annotations


class InductorError(RuntimeError):
    """Generating code failed."""


class LoweringException(InductorError):
    """An operator could not be lowered."""


class InvalidCxxCompiler(RuntimeError):
    """No C++ compiler was found."""


class CppCompileError(RuntimeError):
    """The C++ compiler failed."""
