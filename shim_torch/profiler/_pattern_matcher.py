"""``torch.profiler._pattern_matcher``: advice drawn from profiles, by name."""

from __future__ import annotations

from shim_torch._impl.surface.not_built import NO_TRACE, declare

__getattr__ = declare(
    globals(),
    NO_TRACE,
    """
    Pattern NamePattern ExtraCUDACopyPattern ForLoopIndexingPattern FP32MatMulPattern
    OptimizerSingleTensorPattern SynchronizedDataLoaderPattern GradNotSetToNonePattern
    Conv2dBiasFollowedByBatchNorm2dPattern MatMulDimInFP16Pattern report_all_anti_patterns
    """,
)
