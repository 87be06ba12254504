"""``torch.fx.passes.utils``: what passes share: parts of graphs made modules, and patterns looked for."""

from shim_torch.fx.passes.utils.common import HolderModule, compare_graphs, lift_subgraph_as_module

__all__ = ["HolderModule", "compare_graphs", "lift_subgraph_as_module"]
