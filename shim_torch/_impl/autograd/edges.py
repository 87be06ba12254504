"""Edges of the graph of gradients."""

from __future__ import annotations

from typing import Any, NamedTuple

from shim_torch._impl.surface import naming


class GradientEdge(NamedTuple):
    """Where a gradient goes: a node and the number of its input."""

    node: Any
    output_nr: int
    ownership_token: Any = None


naming.present(globals(), "torch.autograd.graph")
