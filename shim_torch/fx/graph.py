"""``torch.fx.graph``: the steps of a function in order, and the Python code that does them."""

from __future__ import annotations

import copy
import keyword
import re
from collections.abc import Callable, Iterator
from typing import Any

from shim_torch._impl.fx.codegen import CodeGen, PythonCode
from shim_torch.fx.node import Argument, Node, Target, map_arg
from shim_torch.utils._dtype_abbrs import dtype_abbrs

__all__ = ["CodeGen", "Graph", "PythonCode", "dtype_abbrs"]


def _snake_case(s: str) -> str:
    return s if s.islower() else re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Za-z])(?=[A-Z][a-z])", "_", s).lower()


class _Namespace:
    """Names that are taken, each a valid identifier."""

    def __init__(self) -> None:
        self._taken: dict[str, Any] = {}
        self._counts: dict[str, int] = {}

    def create_name(self, candidate: str, obj: Any) -> str:
        """``candidate``, or with a number that makes it free."""
        import builtins

        candidate = re.sub(r"\W+", "_", candidate) or "_unnamed"
        if candidate[0].isdigit():
            candidate = f"_{candidate}"
        match = re.match(r"(.*)_(\d+)$", candidate)
        base, number = (match[1], int(match[2])) if match else (candidate, None)
        name = candidate
        while (
            name in self._taken or keyword.iskeyword(name) or hasattr(builtins, name) or name in ("torch", "inf", "nan")
        ):
            number = self._counts.get(base, number or 0) + 1
            self._counts[base] = number
            name = f"{base}_{number}"
        self._taken[name] = obj
        return name


class _InsertPoint:
    def __init__(self, graph: Graph, new: Callable[[Node], None]) -> None:
        self.graph, self.before = graph, graph._insert
        graph._insert = new

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        self.graph._insert = self.before


class _NodeList:
    """The nodes in order; they may be moved and erased while one iterates."""

    def __init__(self, graph: Graph, backwards: bool = False) -> None:
        self.graph, self.backwards = graph, backwards

    def __len__(self) -> int:
        return self.graph._len

    def __iter__(self) -> Iterator[Node]:
        node = self.graph._root._prev if self.backwards else self.graph._root._next
        while node.op != "root":
            if not node._erased:
                yield node
            node = node._prev if self.backwards else node._next

    def __reversed__(self) -> _NodeList:
        return _NodeList(self.graph, not self.backwards)


class Graph:
    """The steps of a function. New ones go to the end, or where ``inserting_before`` and ``inserting_after`` say."""

    _len = 0
    _codegen: CodeGen

    def __init__(self, owning_module: Any = None, tracer_cls: Any = None, tracer_extras: Any = None) -> None:
        self.owning_module, self._tracer_cls, self._tracer_extras = owning_module, tracer_cls, tracer_extras
        self._codegen, self._namespace = CodeGen(), _Namespace()
        # the nodes stand in a circle that begins and ends here
        self._root = root = Node(self, "", "root", "", (), {})
        self._insert: Callable[[Node], None] = root.prepend

    @property
    def nodes(self) -> _NodeList:
        """The nodes in order."""
        return _NodeList(self)

    def find_nodes(self, *, op: str, target: Any = None, sort: bool = True) -> list[Node]:
        """The nodes of a kind, and of a target if one is given. Errors: AssertionError for functions without a target."""
        if op == "call_function" and target is None:
            raise AssertionError("target must not be None for call_function op")
        return [n for n in self.nodes if n.op == op and (target is None or n.target == target)]

    def output_node(self) -> Node:
        """The node that gives the result."""
        last = self._root._prev
        if last.op != "output":
            raise AssertionError("Graph has no output node")
        return last

    def _target_to_str(self, target: Any) -> str:
        if callable(target):
            name = str(getattr(target, "__name__", type(target).__name__))
            if name.startswith("__") and name.endswith("__"):
                name = name[2:-2]
            if "." in name and hasattr(target, "_qualified_op_name"):
                name = name.replace(".", "_")
        else:
            name = target[2:-2] if target.startswith("__") and target.endswith("__") else target
        return _snake_case(name)

    def create_node(
        self, op: str, target: Target, args: Any = None, kwargs: Any = None, name: str | None = None,
        type_expr: Any = None,
    ) -> Node:  # fmt: skip
        """Adds a node; its name is free and made from ``name`` or the target."""
        args, kwargs = () if args is None else args, {} if kwargs is None else kwargs
        if not isinstance(args, tuple) or not isinstance(kwargs, dict):
            raise AssertionError("args must be a tuple and kwargs a dict")
        made = Node(self, self._namespace.create_name(name or self._target_to_str(target), None), op, target, args, kwargs,
                    type_expr)  # fmt: skip
        self._insert(made)
        self._len += 1
        return made

    def placeholder(self, name: str, type_expr: Any = None, default_value: Any = ...) -> Node:
        """An input; ``*name`` and ``**name`` take the rest."""
        args = () if default_value is ... else (default_value,)
        return self.create_node("placeholder", name, args, type_expr=type_expr)

    def get_attr(self, qualified_name: str, type_expr: Any = None) -> Node:
        """A parameter, buffer or other attribute of the module."""
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_function(
        self, the_function: Any, args: Any = None, kwargs: Any = None, type_expr: Any = None, name: Any = None
    ) -> Node:
        """A call of a function."""
        return self.create_node("call_function", the_function, args, kwargs, name, type_expr)

    def call_method(self, method_name: str, args: Any = None, kwargs: Any = None, type_expr: Any = None) -> Node:
        """A call of a method of the first argument."""
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_module(self, module_name: str, args: Any = None, kwargs: Any = None, type_expr: Any = None) -> Node:
        """A call of a sub-module."""
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def output(self, result: Argument, type_expr: Any = None) -> Node:
        """The result."""
        return self.create_node("output", "output", (result,), type_expr=type_expr)

    def erase_node(self, to_erase: Node) -> None:
        """Takes a node out. Errors: RuntimeError while others use it."""
        if to_erase.users:
            raise RuntimeError(
                f"Tried to erase Node {to_erase} but it still had {len(to_erase.users)} users in the graph: {to_erase.users}!"
            )
        if to_erase.graph is not self:
            raise RuntimeError(f"Attempting to remove {to_erase} from wrong graph!")
        if to_erase._erased:
            return
        to_erase._set_arguments((), {})
        to_erase._unlink()
        to_erase._erased = True
        self._len -= 1

    def inserting_before(self, n: Node | None = None) -> _InsertPoint:
        """A context: new nodes go before ``n`` (None: to the very beginning)."""
        return self.inserting_after(self._root) if n is None else _InsertPoint(self, self._own(n).prepend)

    def inserting_after(self, n: Node | None = None) -> _InsertPoint:
        """A context: new nodes go after ``n`` in the order they are made (None: to the very end)."""
        if n is None:
            return _InsertPoint(self, self._root.prepend)
        last = self._own(n)

        def insert(new: Node) -> None:
            nonlocal last
            last.append(new)
            last = new

        return _InsertPoint(self, insert)

    def _own(self, n: Node) -> Node:
        if n.graph is not self:
            raise AssertionError("Node to insert before/after is not in graph.")
        return n

    def node_copy(self, node: Node, arg_transform: Callable[[Node], Argument] = lambda x: x) -> Node:
        """A copy of another graph's node; ``arg_transform`` gives this graph's nodes for its inputs."""
        made = self.create_node(node.op, node.target, map_arg(node.args, arg_transform), map_arg(node.kwargs, arg_transform),
                                node.name, node.type)  # fmt: skip
        made.meta = copy.copy(node.meta)
        return made

    def graph_copy(self, g: Graph, val_map: dict[Node, Node], return_output_node: bool = False) -> Any:
        """Copies all of ``g``'s nodes here but its output; gives what the output takes, and the output node if wanted.

        ``val_map`` has this graph's nodes for some of ``g``'s, which are not copied, and gets those that are made.
        """
        output = self._copy_steps(g, val_map)
        if output is None:
            return None
        result = map_arg(output.args[0], val_map.__getitem__)
        return (result, output) if return_output_node else result

    def _copy_steps(self, g: Graph, copies: dict[Node, Node]) -> Node | None:
        """Copies the nodes before the output that ``copies`` does not have; the output."""
        for node in g.nodes:
            if node.op == "output":
                return node
            if node not in copies:
                copies[node] = self.node_copy(node, copies.__getitem__)
        return None

    def __deepcopy__(self, memo: Any = None) -> Graph:
        made, copies = Graph(tracer_cls=self._tracer_cls), dict[Node, Node]()
        made.set_codegen(self._codegen)
        output = made._copy_steps(self, copies)
        if output is not None:
            made.node_copy(output, copies.__getitem__)
        return made

    def process_inputs(self, *args: Any) -> Any:
        """Arguments as the placeholders take them."""
        return self._codegen.process_inputs(*args)

    def process_outputs(self, out: Any) -> Any:
        """The result as callers get it."""
        return self._codegen.process_outputs(out)

    def set_codegen(self, codegen: CodeGen) -> None:
        """Another writer of code."""
        self._codegen = codegen

    def python_code(self, root_module: str, *, verbose: bool = False, **options: Any) -> PythonCode:
        """The code of a function that does these steps; ``root_module`` is the name of the module within it ("self")."""
        return self._codegen._gen_python_code(self, root_module, **({"verbose": True, **options} if verbose else {}))

    def lint(self) -> None:
        """Checks the order of nodes, their names and what they refer to. Errors: RuntimeError."""
        seen: dict[Node, None] = {}
        names: set[str] = set()
        for node in self.nodes:
            if node.graph is not self:
                raise RuntimeError(f"Node '{node}' does not belong to this Graph!")
            for used in node._input_nodes:
                if used.graph is not self:
                    raise RuntimeError(f"Argument '{used}' of Node '{node}' does not belong to this Graph, but was used as an "
                                       f"argument! If you are copying nodes from another graph, make sure to use "
                                       f"``arg_transform`` on node_copy() to remap values\n{self}")  # fmt: skip
                if used not in seen:
                    raise RuntimeError(f"Argument '{used}' of Node '{node}' was used before it has been defined! Please check "
                                       f"that Nodes in the graph are topologically ordered\n{self}")  # fmt: skip
            if node.name in names:
                raise RuntimeError(f"Node redefined name {node.name}!")
            if node.op in ("get_attr", "call_module") and self.owning_module is not None:
                where: Any = self.owning_module
                for part in node.target.split("."):
                    if not hasattr(where, part):
                        raise RuntimeError(
                            f"Node {node} target {node.target} references nonexistent attribute {part} of {where}"
                        )
                    where = getattr(where, part)
            seen[node] = None
            names.add(node.name)

    def eliminate_dead_code(self, is_impure_node: Callable[[Node], bool] | None = None) -> bool:
        """Erases the steps whose values nothing takes and that do nothing else; whether there were any."""
        impure = is_impure_node or (lambda n: n.is_impure())
        changed = False
        for node in reversed(self.nodes):
            if not node.users and not impure(node):
                self.erase_node(node)
                changed = True
        return changed

    def print_tabular(self) -> None:
        """Prints the nodes as a table, laid out as by ``tabulate``: columns are wider than their heads by two."""
        rows = [["opcode", "name", "target", "args", "kwargs"]]
        rows += [[n.op, n.name, str(n.target), str(n.args), str(n.kwargs)] for n in self.nodes]
        widths = [max(len(rows[0][i]) + 2, *(len(r[i]) for r in rows)) for i in range(5)]
        rows.insert(1, ["-" * w for w in widths])
        print("\n".join("  ".join(x.ljust(w) for x, w in zip(row, widths, strict=True)).rstrip() for row in rows))

    def __str__(self) -> str:
        lines = [line for line in (n.format_node() for n in self.nodes) if line is not None]
        return "graph():" + "".join(f"\n    {line}" for line in lines)
