"""``torch.fx.graph_module``."""

from shim_torch import fx as _fx

GraphModule = _fx.GraphModule
__all__ = ["GraphModule"]
