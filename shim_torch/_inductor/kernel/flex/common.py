"""``torch._inductor.kernel.flex.common``: how attention becomes code, by name."""

from __future__ import annotations

from shim_torch._impl.surface.not_built import NO_COMPILER, declare

__getattr__ = declare(
    globals(),
    NO_COMPILER,
    "build_subgraph_buffer construct_strides create_placeholder infer_dense_strides maybe_realize",
)
