"""``torch._inductor.codegen.cpp_flex_attention_template``: attention in C++, by name."""

from __future__ import annotations

from shim_torch._impl.surface.not_built import NO_COMPILER, declare

__getattr__ = declare(globals(), NO_COMPILER, "CppFlexAttentionTemplate")
