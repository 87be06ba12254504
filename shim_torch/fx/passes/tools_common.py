"""``torch.fx.passes.tools_common``: what a node calls, and nodes put in the order of what they read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from native import _core
from shim_torch._missing import asked_of as _asked_of
from shim_torch.fx.graph import Graph
from shim_torch.fx.graph_module import GraphModule
from shim_torch.fx.node import Node, _get_qualified_name

__all__ = ["get_acc_ops_name", "get_node_target", "is_node_output_tensor", "legalize_graph", "stable_topological_sort"]
Tensors = tuple[_core.Tensor] | list[_core.Tensor]
TensorOrTensors = _core.Tensor | Tensors
NodeList = list[Node]
NodeSet = set[Node]
Names = list[str]
CALLABLE_NODE_OPS = {"call_module", "call_function", "call_method"}


def get_acc_ops_name(k: Any) -> str:
    """The qualified name of a function; the name alone of one of a module ``acc_ops``."""
    if isinstance(k, str):
        return k
    if k.__module__ and "acc_ops" in k.__module__:
        return f"acc_ops.{k.__name__}"
    return f"{k.__module__.replace('torch._ops', 'torch.ops') if k.__module__ else ''}.{k.__name__}"


def get_node_target(submodules: Mapping[str, Any], node: Node) -> str:
    """What a node calls, as text: a module's type, a function's qualified name, a method's name."""
    if node.op not in CALLABLE_NODE_OPS:
        raise AssertionError(f"Expect op types of {', '.join(sorted(CALLABLE_NODE_OPS))}, but found {node.op}")
    if node.op == "call_module":
        module = submodules[str(node.target)]
        kind = getattr(module, "_base_class_origin", type(module))
        return get_acc_ops_name(kind)
    if node.op == "call_function":
        return f"acc_ops.{node.target.__name__}" if "acc_ops" in (node.target.__module__ or "") else _get_qualified_name(node.target)
    return str(node.target)


def is_node_output_tensor(node: Node) -> bool:
    """Whether a node's value is a tensor, as ``meta["type"]`` says."""
    kind = node.meta.get("type", None)
    return kind is not None and issubclass(kind, _core.Tensor)


def stable_topological_sort(gm: GraphModule) -> GraphModule:
    """Moves each node behind those it reads, in place, and leaves the others where they are."""
    done: set[Node] = set()
    waiting: dict[Node, list[Node]] = {}  # a node -> those that were held up by it
    todo = list(reversed(list(gm.graph.nodes)))
    outputs = {n for n in todo if n.op == "output"}
    last: Node | None = None
    while todo:
        node = todo.pop()
        if node in done:
            continue
        held = next((i for i in node.all_input_nodes if i not in done), None)
        if held is not None:
            waiting.setdefault(held, []).append(node)
            continue
        done.add(node)
        if last is not None and last.next is not node:
            last.append(node)
        last = node
        todo.extend(reversed(waiting.pop(node, [])))
    if waiting or len(done) != len(gm.graph.nodes) or not outputs <= done:
        raise RuntimeError(f"Input graph has cycles, unable to add {list(waiting)}")
    return gm


def legalize_graph(gm: GraphModule) -> GraphModule:
    """Gives the module a graph whose nodes come after those they read; what reads nothing comes first.

    Errors: RuntimeError for cycles.
    """
    waiting = {n: len(n.all_input_nodes) for n in gm.graph.nodes}
    ready = [n for n in waiting if not waiting[n]]
    order: list[Node] = []
    at = 0
    while at < len(ready):
        node = ready[at]
        at += 1
        order.append(node)
        for user in node.users:
            waiting[user] -= 1
            if not waiting[user]:
                ready.append(user)
    if len(order) < len(waiting):
        raise RuntimeError(f"Input graph has cycles, unable to add {[n for n in waiting if waiting[n]]}")
    graph = Graph()
    made: dict[Node, Node] = {}
    # Attributes that nothing was computed for and inputs first, the output last.
    for node in sorted(order, key=lambda n: (n.op == "output", n.op != "placeholder" and n.op != "get_attr")):
        made[node] = graph.node_copy(node, made.__getitem__)
    graph.set_codegen(gm.graph._codegen)
    gm.graph = graph
    return gm


__getattr__ = _asked_of(__name__)
