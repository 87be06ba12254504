"""``torch.fx.graph``."""

from shim_torch.fx import CodeGen, Graph

__all__ = ["Graph", "CodeGen"]
