"""``torch.fx.passes.infra.pass_base``: a change of a graph module, with a check before and after."""

from __future__ import annotations

import abc
from typing import Any, NamedTuple

__all__ = ["PassBase", "PassResult"]


class PassResult(NamedTuple):
    """The graph module, and whether it was changed."""

    graph_module: Any
    modified: bool


class PassBase(abc.ABC):
    """``call`` changes a graph module; ``requires`` and ``ensures`` may raise before and after it."""

    def __call__(self, graph_module: Any) -> PassResult | None:
        self.requires(graph_module)
        result = self.call(graph_module)
        self.ensures(graph_module)
        return result

    @abc.abstractmethod
    def call(self, graph_module: Any) -> PassResult | None:
        """The pass itself."""

    def requires(self, graph_module: Any) -> None:  # noqa: B027
        """Raises where the pass cannot be run on the module."""

    def ensures(self, graph_module: Any) -> None:  # noqa: B027
        """Raises where the pass has left something it should not."""
