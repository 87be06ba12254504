"""``torch.cuda._memory_viz``: drawings of memory snapshots, by name."""

from __future__ import annotations

from shim_torch._impl.surface.not_built import NO_TRACE, declare

__getattr__ = declare(
    globals(),
    NO_TRACE,
    """
    profile_plot segment_plot trace_plot segsum trace memory compare _profile_to_snapshot format_flamegraph
    """,
)
