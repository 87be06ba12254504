"""``torch.fx.passes.operator_support``: which nodes a partitioner may take."""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping
from typing import Any

from shim_torch._missing import asked_of as _asked_of
from shim_torch.fx.node import Node
from shim_torch.fx.passes.shape_prop import TensorMetadata
from shim_torch.fx.passes.tools_common import CALLABLE_NODE_OPS, get_node_target

__all__ = ["OpSupports", "OperatorSupport", "OperatorSupportBase", "any_chain", "chain", "create_op_support"]


class OperatorSupportBase(abc.ABC):
    """Says whether a node is supported."""

    @abc.abstractmethod
    def is_node_supported(self, submodules: Mapping[str, Any], node: Node) -> bool:
        """Whether the node is supported; ``submodules`` by path."""


class OperatorSupport(OperatorSupportBase):
    """Supports the targets of a dict ``{name: None or (dtypes of each argument, dtypes by keyword)}``."""

    _support_dict: Mapping[str, Any]

    def __init__(self, support_dict: Mapping[str, Any] | None = None) -> None:
        self._support_dict = support_dict or {}

    def is_node_supported(self, submodules: Mapping[str, Any], node: Node) -> bool:
        if node.op not in CALLABLE_NODE_OPS:
            return True
        target = get_node_target(submodules, node)
        if target not in self._support_dict:
            return False
        if self._support_dict[target] is None:
            return True
        by_place, by_name = self._support_dict[target]
        pairs = [(node.args[i], dtypes) for i, dtypes in enumerate(by_place) if i < len(node.args)]
        pairs += [(node.kwargs[k], dtypes) for k, dtypes in by_name.items() if k in node.kwargs]
        return all(_get_arg_dtype(arg) in dtypes for arg, dtypes in pairs if isinstance(arg, Node))


def create_op_support(is_node_supported: Callable[[Mapping[str, Any], Node], bool]) -> OperatorSupportBase:
    """The support a function says."""

    class FunctionalOperatorSupport(OperatorSupportBase):
        def is_node_supported(self, submodules: Mapping[str, Any], node: Node) -> bool:
            return is_node_supported(submodules, node)

    return FunctionalOperatorSupport()


def chain(*op_support: OperatorSupportBase) -> OperatorSupportBase:
    """Supports what all support."""
    return create_op_support(lambda modules, node: all(s.is_node_supported(modules, node) for s in op_support))


def any_chain(*op_support: OperatorSupportBase) -> OperatorSupportBase:
    """Supports what any supports."""
    return create_op_support(lambda modules, node: any(s.is_node_supported(modules, node) for s in op_support))


class OpSupports:
    """Supports to be chained."""

    @classmethod
    def decline_if_input_dtype(cls, dtype: Any) -> OperatorSupportBase:
        """Supports nodes that read nothing of that dtype."""
        return create_op_support(
            lambda _, node: all(_get_arg_dtype(arg) != dtype for arg in node.all_input_nodes)
        )

    @classmethod
    def decline_if_node_in_names(cls, disallow_set: set[str]) -> OperatorSupportBase:
        """Supports nodes of other names."""
        return create_op_support(lambda _, node: node.name not in disallow_set)


def _get_arg_dtype(arg: Node) -> Any:
    if not isinstance(arg, Node):
        raise AssertionError(f"Expected Node, got {type(arg)}")
    found = arg.meta.get("tensor_meta")
    return found.dtype if isinstance(found, TensorMetadata) else arg.meta.get("type")


__getattr__ = _asked_of(__name__)
