"""``torch._inductor.codegen.wrapper``: the generator of the code around kernels, by name."""

from __future__ import annotations

from shim_torch._impl.surface.not_built import NO_COMPILER, declare

__getattr__ = declare(
    globals(),
    NO_COMPILER,
    """
    PythonWrapperCodegen SubgraphPythonWrapperCodegen pexpr user_defined_kernel_grid_fn_code
    """,
)
