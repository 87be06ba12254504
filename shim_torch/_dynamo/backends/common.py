"""``torch._dynamo.backends.common``: compilers' backends, by name."""

from __future__ import annotations

from typing import Any

from shim_torch._not_built import NO_COMPILER, names

globals().update(
    names(
        "torch._dynamo.backends.common",
        NO_COMPILER,
        """
        aot_autograd AotAutograd mem_efficient_fusion_kwargs fake_tensor_unsupported device_from_inputs
        dtype_from_inputs
        """,
    )
)


def __getattr__(name: str) -> Any:
    from shim_torch._missing import missing

    return missing("torch._dynamo.backends.common", name)
