"""``torch.fx.interpreter``: graphs run, or rebuilt, step by step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from shim_torch.fx.graph import Graph
from shim_torch.fx.graph_module import GraphModule
from shim_torch.fx.node import Node, map_arg
from shim_torch.fx.proxy import Proxy

__all__ = ["Interpreter", "Transformer"]


class Interpreter:
    """Runs a graph module's steps; subclasses change what a kind of step does."""

    def __init__(self, module: Any, garbage_collect_values: bool = True, graph: Graph | None = None) -> None:
        self.module, self.graph = module, module.graph if graph is None else graph
        self.submodules = dict(module.named_modules())
        self.env: dict[Node, Any] = {}
        self.name = "Interpreter"
        self.garbage_collect_values, self.extra_traceback = garbage_collect_values, True
        self.user_to_last_uses: dict[Node, list[Node]] = {}
        if garbage_collect_values:
            seen: set[Node] = set()
            for node in reversed(self.graph.nodes):
                for used in node._input_nodes:
                    if used not in seen:
                        seen.add(used)
                        self.user_to_last_uses.setdefault(node, []).append(used)

    def run(self, *args: Any, initial_env: dict[Node, Any] | None = None, enable_io_processing: bool = True) -> Any:
        """The result for ``args``; values in ``initial_env`` are not computed."""
        self.env = {} if initial_env is None else initial_env
        self.args_iter: Iterator[Any] = iter(self.graph.process_inputs(*args) if enable_io_processing else args)
        output = self._run_to_output()
        result = None if output is None else self.env[output]
        return result if output is None or not enable_io_processing else self.graph.process_outputs(result)

    def _run_to_output(self) -> Node | None:
        for node in self.graph.nodes:
            if node in self.env:
                continue
            self.env[node] = self._run_step(node)
            for used in self.user_to_last_uses.get(node, ()):
                del self.env[used]
            if node.op == "output":
                return node
        return None

    def _run_step(self, node: Node) -> Any:
        """``run_node``, whose errors say which step it was."""
        try:
            return self.run_node(node)
        except Exception as error:
            if self.extra_traceback and error.args and isinstance(error.args[0], str):
                error.args = (f"{error.args[0]}\n\nWhile executing {node.format_node()}", *error.args[1:])
            raise

    def boxed_run(self, args_list: list[Any]) -> Any:
        """``run`` that empties the list of arguments, so that they can be freed early."""
        args, args_list[:] = tuple(args_list), []
        return self.run(*args)

    def run_node(self, n: Node) -> Any:
        """One step."""
        args, kwargs = self.fetch_args_kwargs_from_env(n)
        return getattr(self, n.op)(n.target, args, kwargs)

    def placeholder(self, target: Any, args: Any, kwargs: Any) -> Any:
        """The next argument."""
        if target.startswith("*"):
            return list(self.args_iter)
        try:
            return next(self.args_iter)
        except StopIteration:
            if args:
                return args[0]
            raise RuntimeError(
                f"Expected positional argument for parameter {target}, but one was not passed in!"
            ) from None

    def get_attr(self, target: Any, args: Any, kwargs: Any) -> Any:
        """An attribute of the module."""
        return self.fetch_attr(target)

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        """The result of the function ``target``."""
        return target(*args, **kwargs)

    def call_method(self, target: Any, args: Any, kwargs: Any) -> Any:
        """The result of the method ``target`` of the first argument."""
        return getattr(args[0], target)(*args[1:], **kwargs)

    def call_module(self, target: Any, args: Any, kwargs: Any) -> Any:
        """The result of the sub-module at the path ``target``."""
        return self.fetch_attr(target)(*args, **kwargs)

    def output(self, target: Any, args: Any, kwargs: Any) -> Any:
        """The value that the graph returns."""
        return args[0]

    def fetch_attr(self, target: str) -> Any:
        """What a dotted name of the module is. Errors: RuntimeError when there is no such attribute."""
        value, parts = self.module, target.split(".")
        for i, part in enumerate(parts):
            if not hasattr(value, part):
                raise RuntimeError(f"Node referenced nonexistent target {'.'.join(parts[: i + 1])}")
            value = getattr(value, part)
        return value

    def fetch_args_kwargs_from_env(self, n: Node) -> tuple[Any, dict[str, Any]]:
        """A step's arguments with values in the place of nodes."""
        return self.map_nodes_to_values(n.args, n), self.map_nodes_to_values(n.kwargs, n)

    def map_nodes_to_values(self, args: Any, n: Node) -> Any:
        """``args`` with values in the place of nodes."""

        def value(used: Node) -> Any:
            if used not in self.env:
                raise RuntimeError(
                    f"Node {n} referenced nonexistent value {used}! Run Graph.lint() to diagnose such issues"
                )
            return self.env[used]

        return map_arg(args, value)


class Transformer(Interpreter):
    """Builds a new graph from one: each kind of step gives what takes its place."""

    def __init__(self, module: Any) -> None:
        from shim_torch.fx._symbolic_trace import _LeafTracer

        super().__init__(module)
        self.new_graph = Graph()
        self.new_graph.set_codegen(module.graph._codegen)
        self.tracer = _LeafTracer(module, self.new_graph)

    def placeholder(self, target: Any, args: Any, kwargs: Any) -> Any:
        """A proxy of a new input with the old one's name and default."""
        return Proxy(self.new_graph.placeholder(target, default_value=args[0] if args else ...), self.tracer)

    def get_attr(self, target: Any, args: Any, kwargs: Any) -> Any:
        """A proxy of the attribute at the path ``target``."""
        return self.tracer.create_proxy("get_attr", target, args, kwargs)

    def call_module(self, target: Any, args: Any, kwargs: Any) -> Any:
        """A proxy of the sub-module's result."""
        return self.tracer.create_proxy("call_module", target, args, kwargs)

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        """A proxy of the function's result."""
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def transform(self) -> GraphModule:
        """The module of the new graph."""
        result = super().run(enable_io_processing=False)
        if result is not None:
            self.new_graph.output(map_arg_of(result))
        return GraphModule(self.module, self.new_graph)


def map_arg_of(result: Any) -> Any:
    """Nodes in the place of the values that stand for them."""
    from shim_torch.fx.node import map_aggregate

    return map_aggregate(result, lambda a: a.node if isinstance(a, Proxy) else a)
