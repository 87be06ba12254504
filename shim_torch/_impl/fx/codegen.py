"""Graphs written as Python functions."""

from __future__ import annotations

import enum
import operator
import re
import types
import typing
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Union, get_args, get_origin

from shim_torch._impl.fx.readable import origin, value_text
from shim_torch._impl.native import _core
from shim_torch.fx.node import Node, _get_qualified_name

if TYPE_CHECKING:
    from shim_torch.fx.graph import Graph

__all__ = ["CodeGen", "PythonCode"]

_BINARY = {
    "add": "+", "sub": "-", "mul": "*", "floordiv": "//", "truediv": "/", "mod": "%", "pow": "**", "lshift": "<<",
    "rshift": ">>", "and_": "&", "or_": "|", "xor": "^", "eq": "==", "ne": "!=", "lt": "<", "gt": ">", "le": "<=", "ge": ">=",
    "matmul": "@",
}  # fmt: skip
_UNARY = {"pos": "+", "neg": "-", "invert": "~"}
_IN_PLACE = {f"i{name.rstrip('_')}": f"{sign}=" for name, sign in _BINARY.items()
             if name not in ("eq", "ne", "lt", "gt", "le", "ge")}  # fmt: skip


class PythonCode(NamedTuple):
    """A function's source, and the globals it runs with."""

    src: str
    globals: dict[str, Any]


class CodeGen:
    """Writes a graph's function. Subclasses may change its head and its result."""

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str) -> str:
        """The ``def`` line."""
        if not free_vars or free_vars[0] != "self":
            free_vars = ["self", *free_vars]
        return f"def forward({', '.join(free_vars)}){maybe_return_annotation}:"

    def generate_output(self, output_args: Any, text: str = "") -> str:
        """The ``return`` line."""
        return f"return {text or repr(output_args)}"

    generate_output._takes_text = True  # type: ignore[attr-defined]

    def process_inputs(self, *args: Any) -> Any:
        """The arguments as the generated function takes them."""
        return args

    def process_outputs(self, outputs: Any) -> Any:
        """The result as the caller gets it."""
        return outputs

    def additional_globals(self) -> list[tuple[str, Any]]:
        """(name, value) of globals that the generated code needs beside those of the graph."""
        return []

    def _gen_python_code(self, graph: Graph, root_module: str, *, verbose: bool = False, include_stride: bool = False,
                         include_device: bool = False, **_: Any) -> PythonCode:  # fmt: skip
        writer = _Writer(graph, root_module, self)
        if verbose:
            writer.value_of = lambda node: value_text(node, include_stride, include_device)
        return writer.code()


class _Writer:
    def __init__(self, graph: Graph, root: str, codegen: CodeGen) -> None:
        import shim_torch

        self.graph, self.root, self.codegen = graph, root, codegen
        self.globals: dict[str, Any] = {"torch": shim_torch, **dict(codegen.additional_globals())}
        self.free: list[str] = []
        self.lines: list[str] = []
        self.value_of: Callable[[Node], str | None] | None = None  # of what is written to be read: what a trace saw
        self.said = ""  # the comment that was written last
        self.wrapped: dict[str, None] = {}  # names of functions of torch.fx.wrap

    def add_global(self, name: str, obj: Any) -> str:
        """The name of ``obj`` in the generated code: through ``torch`` if it is there, else a global."""
        if name.startswith("torch.") and _reached(self.globals["torch"], name) is obj:
            return name
        plain = re.sub(r"\W", "_", name)
        taken, number = plain, 0
        while self.globals.get(taken, obj) is not obj:
            number += 1
            taken = f"{plain}_{number}"
        self.globals[taken] = obj
        return taken

    def type_text(self, o: Any) -> str:
        """An annotation as source: classes and generic types by their names, their arguments in brackets."""
        if isinstance(o, types.UnionType):
            return "|".join(map(self.type_text, get_args(o)))
        if get_args(o) and not isinstance(o, str):
            origin = Union if get_origin(o) is Union else o
            head = str(getattr(origin, "_name", None) or getattr(origin, "__name__", ""))
            outer = self.add_global(f"typing_{head}", getattr(typing, head)) if hasattr(typing, head) else head
            return f"{outer}[{','.join(map(self.type_text, get_args(o)))}]"
        if o is type(None):
            return self.add_global("NoneType", o)
        if isinstance(o, type):
            return self.add_global(_type_name(o), o)
        return self.add_global(re.sub(r"\W+", "_", repr(o)), o)

    def text(self, a: Any) -> str:
        """An argument as source."""
        if isinstance(a, Node):
            return a.name
        if isinstance(a, tuple):
            inner = ", ".join(map(self.text, a)) + ("," if len(a) == 1 else "")
            return f"{self.add_global(type(a).__name__, type(a))}({inner})" if hasattr(a, "_fields") else f"({inner})"
        if isinstance(a, list):
            return "[" + ", ".join(map(self.text, a)) + "]"
        if isinstance(a, dict):
            return "{" + ", ".join(f"{k!r}: {self.text(v)}" for k, v in a.items()) + "}"
        if isinstance(a, slice):
            return f"slice({self.text(a.start)}, {self.text(a.stop)}, {self.text(a.step)})"
        if isinstance(a, _core.dtype) or isinstance(a, (_core.layout, _core.memory_format)):
            return repr(a)
        if isinstance(a, _core.device):
            self.globals["device"] = _core.device
            return repr(a)
        if isinstance(a, enum.Enum):
            return f"{self.add_global(type(a).__name__, type(a))}.{a.name}"
        if isinstance(a, (int, float, complex, str, bytes, bool)) or a is None or a is ...:
            return self.number(a) if isinstance(a, float) else "..." if a is ... else repr(a)
        if callable(a):
            return self.add_global(_get_qualified_name(a), a)
        return self.add_global(f"_constant_{type(a).__name__}", a)

    def number(self, a: float) -> str:
        if a != a or a in (float("inf"), float("-inf")):
            self.globals.update(inf=float("inf"), nan=float("nan"))
        return repr(a)

    def call(self, args: Any, kwargs: Any) -> str:
        return ", ".join([*map(self.text, args), *(f"{k} = {self.text(v)}" for k, v in kwargs.items())])

    def function(self, node: Node) -> str:
        target, args = node.target, node.args
        name = getattr(target, "__name__", "")
        if getattr(target, "__module__", None) == "_operator" and not node.kwargs:
            if len(args) == 2 and name in _BINARY and target is getattr(operator, name):
                return f"{self.text(args[0])} {_BINARY[name]} {self.text(args[1])}"
            if len(args) == 1 and name in ("pos", "neg", "invert", "inv"):
                return f"{_UNARY['invert' if name == 'inv' else name]}{self.text(args[0])}"
            if name == "getitem":
                return f"{self.text(args[0])}[{self.text(args[1])}]"
        if (
            target is getattr
            and len(args) == 2
            and isinstance(args[1], str)
            and args[1].isidentifier()
            and isinstance(args[0], Node)
        ):
            return f"{args[0].name}.{args[1]}"
        called = self.add_global(_get_qualified_name(target), target)
        if node.meta.get("is_wrapped"):
            self.wrapped[called] = None
        return f"{called}({self.call(args, node.kwargs)})"

    def attribute(self, target: str) -> str:
        text = self.root
        for part in target.split("."):
            text = f"{text}.{part}" if part.isidentifier() else f'getattr({text}, "{part}")'
        return text

    def annotated(self, node: Node) -> str:
        """What is written after a name: the value seen there, or the type."""
        seen = self.value_of(node) if self.value_of else None
        if seen is not None:
            return f": {seen}"
        return f" : {self.type_text(node.type)}" if node.type is not None else ""

    def statement(self, node: Node) -> str | None:
        name = f"{node.name}{self.annotated(node)}"
        if node.op == "get_attr":
            return f"{name} = {self.attribute(node.target)}"
        if node.op == "call_method":
            receiver = self.text(node.args[0])
            return f"{name} = {receiver}.{node.target}({self.call(node.args[1:], node.kwargs)})"
        if node.op == "call_module":
            return f"{name} = {self.attribute(node.target)}({self.call(node.args, node.kwargs)})"
        target = getattr(node.target, "__name__", "")
        if getattr(node.target, "__module__", None) == "_operator" and target in _IN_PLACE and len(node.args) == 2:
            first = self.text(node.args[0])
            return f"{first} {_IN_PLACE[target]} {self.text(node.args[1])};  {name} = {first}"
        return f"{name} = {self.function(node)}"

    def placeholder(self, node: Node) -> str | None:
        default = f" = {self.text(node.args[0])}" if node.args else ""
        self.free.append(f"{node.target}{self.annotated(node)}{default}")
        bare = node.target.lstrip("*")
        return f"{node.name} = {bare}" if node.name != bare else None

    def output(self, node: Node) -> str:
        if hasattr(type(self.codegen).generate_output, "_takes_text"):
            return self.codegen.generate_output(node.args[0], self.text(node.args[0]))
        return self.codegen.generate_output(node.args[0])  # a subclass's, with PyTorch's signature

    def code(self) -> PythonCode:
        last: dict[Node, list[Node]] = {}
        used: set[Node] = set()
        for node in reversed(self.graph.nodes):
            for one in node._input_nodes:
                if one not in used:
                    used.add(one)
                    last.setdefault(node, []).append(one)
        returns = ""
        for node in self.graph.nodes:
            if node.op == "output":
                if node.type is not None:
                    returns = f" -> {self.type_text(node.type)}"
                self.lines.append(self.output(node))
                continue
            line = self.placeholder(node) if node.op == "placeholder" else self.statement(node)
            if line is None:
                continue
            gone = [n.name for n in last.get(node, ())]
            if node.op != "placeholder" and not node.users:
                gone.append(node.name)
            if self.value_of and node.op != "placeholder" and self.said != (said := origin(node)):
                self.lines += ["", said] if self.lines else [said]
                self.said = said
            self.lines.append(line + (f";  {' = '.join(gone)} = None" if gone else ""))
        body = "".join(f"    {line}\n" if line else "\n" for line in self.lines or ["pass"])
        wrapping = "\n".join(f'torch.fx._symbolic_trace.wrap("{name}")' for name in self.wrapped)
        return PythonCode(f"\n{wrapping}\n\n{self.codegen.gen_fn_def(self.free, returns)}\n{body}    ", self.globals)


def _reached(torch: Any, name: str) -> Any:
    for part in name.split(".")[1:]:
        torch = getattr(torch, part, None)
    return torch


def _type_name(o: Any) -> str:
    """How a function of that name is called: its module and name."""
    name = getattr(o, "__qualname__", None)
    module = re.sub(r"^shim_torch\b", "torch", str(getattr(o, "__module__", "")))
    if name is None or "[" in repr(o):
        return re.sub(r"\W+", "_", str(o))
    return name if module == "builtins" else f"{module}.{name}"
