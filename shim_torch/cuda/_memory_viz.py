"""``torch.cuda._memory_viz``: drawings of memory snapshots, by name."""

from __future__ import annotations

from typing import Any

from shim_torch._not_built import NO_TRACE, names

globals().update(
    names(
        "torch.cuda._memory_viz",
        NO_TRACE,
        """
        profile_plot segment_plot trace_plot segsum trace memory compare _profile_to_snapshot format_flamegraph
        """,
    )
)


def __getattr__(name: str) -> Any:
    from shim_torch._missing import missing

    return missing("torch.cuda._memory_viz", name)
