"""``torch.fx.graph_module``: a module whose forward is the code of a graph."""

from __future__ import annotations

import contextlib
import copy
import linecache
import re
import sys
from itertools import count
from typing import Any

from shim_torch.fx.graph import Graph
from shim_torch.nn.modules.module import Module

__all__ = ["GraphModule", "reduce_graph_module"]
_numbers = count()
_USER_PRESERVED_ATTRIBUTES_KEY = "_user_preserved_attributes"  # in meta: attributes that copies get, too


class _CodeOnlyModule(Module):
    """The state of a graph module with nothing to run: what copies are made from."""

    def __init__(self, body: dict[str, Any]) -> None:
        super().__init__()
        self.__dict__ = body


def _forward_from(src: str, space: dict[str, Any]) -> Any:
    name = f"<eval_with_key>.{next(_numbers)}"
    linecache.cache[name] = (len(src), None, src.splitlines(True), name)
    space = dict(space)
    exec(compile(src, name, "exec"), space)
    return space["forward"]


def _where_in_code(error: Exception) -> str | None:
    """The lines around the one of a graph's code that raised; None where code that someone wrote did."""
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    file = last.tb_frame.f_code.co_filename if last is not None else ""
    if last is None or not file.startswith("<eval_with_key>"):
        return None
    import traceback

    at, lines = last.tb_lineno, linecache.getlines(file)
    before, after = "".join(lines[max(at - 2, 0) : at]), "\n".join(lines[at : at + 2])
    marker = "~" * len(lines[at - 1]) + "~~~ <--- HERE"
    head = f"Call using an FX-traced Module, line {at} of the traced Module's generated forward function:"
    return "\n".join(["".join(traceback.format_exception(error)), head, before, marker, after])


def _parent(module: Any, path: str) -> tuple[Any, str]:
    *prefix, field = path.split(".")
    for item in prefix:
        module = getattr(module, item)
    return module, field


def _ensure_parent(module: Any, path: str, kind: type = object) -> tuple[Any, str]:
    """As _parent; plain modules are made on the way. Errors: TypeError where one on the way is not of ``kind``."""
    *prefix, field = path.split(".")
    for item in prefix:
        if getattr(module, item, None) is None:
            setattr(module, item, Module())
        module = getattr(module, item)
        if not isinstance(module, kind):
            raise TypeError(f"expected {item} to be a {kind.__name__}, got {type(module)}")
    return module, field


def _assign(value: Any, to: Module, path: str) -> None:
    """Puts ``value`` under a dotted name; plain modules are made on the way."""
    import shim_torch

    holder, field = _ensure_parent(to, path)
    if isinstance(value, shim_torch.Tensor) and not isinstance(value, shim_torch.nn.Parameter):
        holder.register_buffer(field, value)
    else:
        setattr(holder, field, value)


def _copy_attr(from_module: Any, to_module: Any, target: str) -> None:
    """Puts what a dotted name means in one module into another, unless both have it from one module that they share."""
    source, field = _parent(from_module, target)
    if _ensure_parent(to_module, target)[0] is not source:
        _assign(getattr(source, field), to_module, target)


def _referred(graph: Graph) -> dict[str, Any]:
    """The dotted names that a graph's steps refer to, each with the first step that does."""
    found: dict[str, Any] = {}
    for node in graph.nodes:
        if node.op in ("get_attr", "call_module"):
            found.setdefault(node.target, node)
    return found


class GraphModule(Module):
    """``graph``'s steps as a module; what they refer to is taken from ``root``, a module or a dict of names.

    Each instance has a class of its own, whose ``forward`` is the code of its graph.
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        cls = next(base for base in cls.__mro__ if "_fx_instance_class" not in vars(base))
        return super().__new__(type("GraphModuleImpl", (cls,), {"_fx_instance_class": True}))

    def __init__(self, root: Any, graph: Graph, class_name: str = "GraphModule") -> None:
        super().__init__()
        type(self).__name__ = class_name
        self.meta: dict[str, Any] = {}
        if isinstance(root, dict):
            self._take_values(root, _referred(graph))
        elif isinstance(root, Module):
            self.training = root.training
            self._take_attributes(root, _referred(graph))
        else:
            raise RuntimeError(f"Unsupported type {root} passed for root!")
        self.graph = graph

    def _take_values(self, values: dict[str, Any], referred: dict[str, Any]) -> None:
        for path, node in referred.items():
            if path not in values:
                raise RuntimeError(
                    f"Node {node} referenced target {path} but that target was not provided in ``root``!"
                )
        for path in sorted(referred, key=lambda path: path.count(".")):  # a module before what lies in it
            _assign(values[path], self, path)

    def _take_attributes(self, root: Module, referred: dict[str, Any]) -> None:
        paths = dict.fromkeys(referred)
        if isinstance(root, _CodeOnlyModule):  # a copy keeps what no step refers to
            state = (root.named_children(), root.named_buffers(), root.named_parameters())
            paths = {**{name: None for named in state for name, _ in named}, **paths}
        for path in paths:
            _copy_attr(root, self, path)

    @property
    def graph(self) -> Graph:
        """The steps."""
        return self._graph

    @graph.setter
    def graph(self, g: Graph) -> None:
        if not isinstance(g, Graph):
            raise AssertionError(f"Expected a Graph instance, but got {type(g)}")
        self._graph = g
        g.owning_module = self
        self.recompile()

    @property
    def code(self) -> str:
        """The source of ``forward``."""
        return self._code

    def recompile(self) -> Any:
        """Writes ``forward`` again, after the graph was changed."""
        info = getattr(self._graph._codegen, "pytree_info", None)
        if info is not None:
            vars(self).update(_in_spec=info.in_spec, _out_spec=info.out_spec)
        written = self._graph.python_code("self")
        self._code, forward = written.src, _forward_from(written.src, written.globals)
        type(self).forward = forward  # type: ignore[method-assign]
        return written

    def add_submodule(self, target: str, m: Module) -> bool:
        """Puts a module under a dotted name; False when something else is in the way."""
        try:
            holder, field = _ensure_parent(self, target, Module)
        except TypeError:
            return False
        holder.add_module(field, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        """Takes the module of that name out; False when there is none."""
        try:
            holder, field = _parent(self, target)
            if not isinstance(getattr(holder, field), Module):
                return False
        except AttributeError:
            return False
        delattr(holder, field)
        return True

    def delete_all_unused_submodules(self) -> None:
        """Takes out the modules that no step refers to."""
        used: set[str] = set()
        for node in self.graph.nodes:
            if node.op in ("call_module", "get_attr"):
                parts = node.target.split(".")
                used |= {".".join(parts[: i + 1]) for i in range(len(parts))}
                if node.op == "call_module":  # the step may be there before its module is
                    with contextlib.suppress(AttributeError):
                        used |= {f"{node.target}.{n}" for n, _ in self.get_submodule(node.target).named_modules() if n}
        for name in [n for n, _ in self.named_modules() if n and n not in used]:
            self.delete_submodule(name)

    def print_readable(
        self, print_output: bool = True, include_stride: bool = False, include_device: bool = False, colored: bool = False,
        *, fast_sympy_print: bool = False, expanded_def: bool = False, additional_meta: Any = None,
    ) -> str:  # fmt: skip
        """The module as a class, with the shapes that a trace saw, printed and given back."""
        if colored or expanded_def or additional_meta:
            raise NotImplementedError(
                "GraphModule.print_readable: only plain text of the graph is supported by shim-torch"
            )
        options = {"include_stride": include_stride, "include_device": include_device}
        code = self._graph.python_code("self", verbose=True, **options).src
        body = re.sub(r"\n(?=.)", "\n    ", code.strip("\n").rstrip())
        text = f"class {type(self).__name__}(torch.nn.Module):\n    {body}\n"
        if print_output:
            print(text)
        return text

    def __str__(self) -> str:
        return "\n".join(
            [super().__repr__(), self._code, "# To see more debug info, please use `graph_module.print_readable()`"]
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return super().__call__(*args, **kwargs)
        except Exception as error:
            location = _where_in_code(error)
            if location is None:
                raise
            print(location, file=sys.stderr)
            raise error.with_traceback(None)

    def _replicate_for_data_parallel(self) -> Any:
        made = self.__copy__()
        made._is_replica = True
        return made

    def __deepcopy__(self, memo: Any) -> GraphModule:
        made = type(self).__new__(type(self))
        memo[id(self)] = made
        state = {k: v for k, v in vars(self).items() if k != "_graph"}
        vars(made).update(copy.deepcopy(state, memo))
        type(made).__name__ = type(self).__name__
        made.graph = copy.deepcopy(self._graph, memo)
        for name, value in getattr(made, "meta", {}).get(_USER_PRESERVED_ATTRIBUTES_KEY, {}).items():
            setattr(made, name, value)
        for hook in getattr(made, "_deepcopy_hooks", ()):
            hook(made)
        return made

    def __copy__(self) -> GraphModule:
        made = GraphModule(self, self.graph, type(self).__name__)
        made.meta = getattr(self, "meta", {})
        return made

    def __reduce__(self) -> Any:
        python = self._graph.python_code("self")
        state = {k: v for k, v in vars(self).items() if k != "_graph"}
        return reduce_graph_module, (state, python.src, [k for k in python.globals if k != "torch"],
                                     {k: v for k, v in python.globals.items() if k != "torch"}, type(self).__name__)  # fmt: skip


def reduce_graph_module(
    state: dict[str, Any], src: str, names: list[str], space: dict[str, Any], name: str
) -> GraphModule:
    """A graph module from its pickled parts: its code is traced again."""
    import shim_torch
    from shim_torch.fx._symbolic_trace import Tracer

    class _Leaves(Tracer):
        def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
            return True

    forward = _forward_from(src, {"torch": shim_torch, **space})
    holder = type(name, (Module,), {"forward": forward})()
    vars(holder).update(state)
    graph = _Leaves().trace(holder)
    made = GraphModule(holder, graph, name)
    for key, value in state.items():
        if key not in vars(made):
            vars(made)[key] = value
    return made
