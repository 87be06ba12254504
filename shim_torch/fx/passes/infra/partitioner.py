"""``torch.fx.passes.infra.partitioner``: the largest sets of supported nodes that can each be one step."""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any

from shim_torch._missing import asked_of as _asked_of
from shim_torch.fx.graph_module import GraphModule
from shim_torch.fx.node import Node, _get_qualified_name
from shim_torch.fx.passes.operator_support import OperatorSupportBase
from shim_torch.fx.passes.utils.fuser_utils import fuse_by_partitions

__all__ = ["CapabilityBasedPartitioner", "Partition"]


class Partition:
    """A set of nodes, in the order they were added."""

    def __init__(
        self, id: int | None = None, nodes: Iterable[Node] | None = None, node_orders: Iterable[int] | None = None
    ) -> None:
        self.id = id
        self.nodes: dict[Node, int | None] = {}
        nodes = list(nodes or ())
        orders: Sequence[int | None] = [None] * len(nodes) if node_orders is None else list(node_orders)
        if len(orders) != len(nodes):
            raise AssertionError("Number of nodes and node_orders do not match")
        self.nodes.update(zip(nodes, orders, strict=True))

    def __repr__(self) -> str:
        return str(self.nodes)

    def add_node(self, node: Node, node_order: int | None = None) -> None:
        """Adds one."""
        self.nodes[node] = node_order

    def remove_node(self, node: Node) -> None:
        """Takes one out."""
        del self.nodes[node]

    def size(self) -> int:
        """How many nodes."""
        return len(self.nodes)


class CapabilityBasedPartitioner:
    """Proposes partitions of the nodes that ``operator_support`` takes, and makes modules of them."""

    def __init__(
        self,
        graph_module: GraphModule,
        operator_support: OperatorSupportBase,
        allows_single_node_partition: bool = False,
        non_compute_ops: Sequence[str] | None = None,
        allowed_single_node_partition_ops: Sequence[str] | None = None,
        *,
        skip_horizontal_fusion: bool = False,
    ) -> None:
        self.graph_module, self.operator_support = graph_module, operator_support
        self.allows_single_node_partition = allows_single_node_partition
        self.non_compute_ops = list(non_compute_ops or ())
        self.allowed_single_node_partition_ops = list(allowed_single_node_partition_ops or ())
        self.skip_horizontal_fusion = skip_horizontal_fusion

    def _is_node_supported(self, node: Node) -> bool:
        return self.operator_support.is_node_supported(dict(self.graph_module.named_modules()), node)

    def propose_partitions(self) -> list[Partition]:
        """Supported nodes, joined as long as no partition comes to read what another computes from it."""
        modules = dict(self.graph_module.named_modules())
        found: list[Partition] = []
        of: dict[Node, Partition] = {}
        for node in reversed(self.graph_module.graph.nodes):
            if node.op in ("placeholder", "output") or not self.operator_support.is_node_supported(modules, node):
                continue
            own = Partition(len(found), [node])
            of[node] = own
            kept = []
            for other in found:
                joined = {**other.nodes, **own.nodes}
                beside = self.skip_horizontal_fusion and not any(user in other.nodes for n in own.nodes for user in n.users)
                if beside or _reads_itself(joined, of):
                    kept.append(other)
                    continue
                other.nodes = joined
                kept = [p for p in kept if p is not own]
                own = other
                kept.append(own)
                of.update(dict.fromkeys(joined, own))
            found = kept if own in kept else [*kept, own]
        self._take_items_along(of)
        found = [p for p in found if p.size()]
        return found if self.allows_single_node_partition else [p for p in found if self._computes(p)]

    def _take_items_along(self, of: dict[Node, Partition]) -> None:
        """What only takes items of a tuple belongs to the partition of the tuple."""
        for node in self.graph_module.graph.nodes:
            users = list(node.users)
            if users and all(u.op == "call_function" and u.target is operator.getitem for u in users):
                for user in users:
                    home, now = of.get(node), of.get(user)
                    if home is now:
                        continue
                    if now is not None:
                        now.remove_node(user)
                        del of[user]
                    if home is not None:
                        home.add_node(user)
                        of[user] = home

    def _computes(self, partition: Partition) -> bool:
        """Whether more than one of its nodes computes something, or one of a kind that may stand alone."""
        idle = {"torch.ops.aten.view", "_operator.getitem", *self.non_compute_ops}
        count = 0
        for node in partition.nodes:
            if node.op == "call_function":
                name = _get_qualified_name(node.target)
                count += name not in idle
                if name in self.allowed_single_node_partition_ops:
                    return True
        return count > 1

    def fuse_partitions(self, partitions: list[Partition], prefix: str = "fused_") -> GraphModule:
        """Puts each partition into a module, in place."""
        return fuse_by_partitions(self.graph_module, [p.nodes for p in partitions], prefix)

    def remove_bookend_non_compute_ops(self, partitions: list[Partition]) -> None:
        """Takes nodes that compute nothing out of the partitions where only such nodes are before or behind them."""
        idle = set(self.non_compute_ops)

        def is_idle(n: Node) -> bool:
            return n.op == "call_function" and _get_qualified_name(n.target) in idle

        for partition in partitions:
            for step in ("all_input_nodes", "users"):
                ends = {n for n in partition.nodes if is_idle(n) and _only_idle(n, step, partition, is_idle)}
                for node in ends:
                    partition.remove_node(node)

    def partition_and_fuse(self, prefix: str = "fused_") -> GraphModule:
        """Proposes partitions and makes modules of them, in place."""
        return self.fuse_partitions(self.propose_partitions(), prefix=prefix)


def _only_idle(node: Node, step: str, partition: Partition, is_idle: Any) -> bool:
    todo, seen = deque([node]), {node}
    while todo:
        for other in getattr(todo.popleft(), step):
            if other in partition.nodes and other not in seen:
                if not is_idle(other):
                    return False
                seen.add(other)
                todo.append(other)
    return True


def _reads_itself(joined: dict[Node, Any], of: dict[Node, Partition]) -> bool:
    """Whether something outside reads the nodes and is read by them, where partitions are single steps."""
    todo = [user for node in joined for user in node.users if user not in joined]
    seen: set[Node] = set(todo)
    while todo:
        node = todo.pop()
        if node in joined:
            return True
        partition = of.get(node)
        for one in partition.nodes if partition is not None else (node,):
            seen.add(one)
            for user in one.users:
                if user in joined:
                    return True
                if user not in seen:
                    seen.add(user)
                    todo.append(user)
    return False


__getattr__ = _asked_of(__name__)
