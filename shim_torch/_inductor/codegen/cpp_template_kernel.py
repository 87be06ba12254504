"""``torch._inductor.codegen.cpp_template_kernel``: kernels from templates of C++ code, by name."""

from __future__ import annotations

from shim_torch._impl.surface.not_built import NO_COMPILER, declare

__getattr__ = declare(
    globals(),
    NO_COMPILER,
    "CppTemplateCaller CppTemplateKernel parse_expr_with_index_symbols wrap_with_tensorbox",
)
