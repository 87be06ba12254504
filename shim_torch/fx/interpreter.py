"""``torch.fx.interpreter``."""

from shim_torch.fx import Interpreter, Transformer

__all__ = ["Interpreter", "Transformer"]
