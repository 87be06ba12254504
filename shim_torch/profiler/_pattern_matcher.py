"""``torch.profiler._pattern_matcher``: advice drawn from profiles, by name."""

from __future__ import annotations

from typing import Any

from shim_torch._not_built import NO_TRACE, names

globals().update(
    names(
        "torch.profiler._pattern_matcher",
        NO_TRACE,
        """
        Pattern NamePattern ExtraCUDACopyPattern ForLoopIndexingPattern FP32MatMulPattern
        OptimizerSingleTensorPattern SynchronizedDataLoaderPattern GradNotSetToNonePattern
        Conv2dBiasFollowedByBatchNorm2dPattern MatMulDimInFP16Pattern report_all_anti_patterns
        """,
    )
)


def __getattr__(name: str) -> Any:
    from shim_torch._missing import missing

    return missing("torch.profiler._pattern_matcher", name)
