"""``torch._inductor.codegen.wrapper``: the generator of the code around kernels, by name."""

from __future__ import annotations

from typing import Any

from shim_torch._not_built import NO_COMPILER, names

globals().update(
    names(
        "torch._inductor.codegen.wrapper",
        NO_COMPILER,
        """
        PythonWrapperCodegen SubgraphPythonWrapperCodegen pexpr user_defined_kernel_grid_fn_code
        """,
    )
)


def __getattr__(name: str) -> Any:
    from shim_torch._missing import missing

    return missing("torch._inductor.codegen.wrapper", name)
