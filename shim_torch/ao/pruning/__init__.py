"""``torch.ao.pruning``: sparsifiers, by name."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.surface.not_built import NO_COMPILER, declare

__getattr__ = declare(
    globals(),
    NO_COMPILER,
    """
    BaseSparsifier WeightNormSparsifier NearlyDiagonalSparsifier BaseScheduler LambdaSL CubicSL FakeSparsity
    BaseStructuredSparsifier get_arg_info_from_tensor_fqn module_to_fqn get_dynamic_sparse_quantized_mapping
    get_static_sparse_quantized_mapping
    """,
)
