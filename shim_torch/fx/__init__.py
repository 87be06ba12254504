"""``torch.fx``: the names of PyTorch's graph tools. Graphs are not built here: making one raises NotImplementedError."""

from __future__ import annotations

from typing import Any

__all__ = [
    "Graph",
    "GraphModule",
    "Interpreter",
    "Node",
    "Proxy",
    "Tracer",
    "Transformer",
    "replace_pattern",
    "symbolic_trace",
    "wrap",
]


class _Unsupported:
    """A class to name in annotations and ``isinstance``; it has no instances."""

    def __init__(self, *_: Any, **__: Any) -> None:
        raise NotImplementedError(
            f"torch.fx.{type(self).__name__} is not supported by shim-torch: functions are not traced"
        )


class Graph(_Unsupported):
    """A graph of operators."""


class Node(_Unsupported):
    """One call in a graph."""


class Proxy(_Unsupported):
    """A value of a traced function."""


class Tracer(_Unsupported):
    """What makes graphs."""


class Interpreter(_Unsupported):
    """What runs graphs."""


class Transformer(Interpreter):
    """What rewrites graphs."""


class CodeGen(_Unsupported):
    """What writes graphs as Python."""


def _graph_module() -> Any:
    from shim_torch.nn import Module

    class GraphModule(Module):
        """A module that runs a graph."""

        def __init__(self, *_: Any, **__: Any) -> None:
            raise NotImplementedError("torch.fx.GraphModule is not supported by shim-torch: functions are not traced")

    GraphModule.__module__ = "torch.fx.graph_module"
    GraphModule.__qualname__ = "GraphModule"
    return GraphModule


def symbolic_trace(root: Any, concrete_args: Any = None) -> Any:
    """A graph of a function: NotImplementedError."""
    raise NotImplementedError("torch.fx.symbolic_trace is not supported by shim-torch: functions are not traced")


def replace_pattern(gm: Any, pattern: Any, replacement: Any) -> Any:
    """Rewriting a graph: NotImplementedError."""
    raise NotImplementedError("torch.fx.replace_pattern is not supported by shim-torch: functions are not traced")


def wrap(fn_or_name: Any) -> Any:
    """Marks a function as a leaf of tracing; it stays as it is."""
    return fn_or_name


def __getattr__(name: str) -> Any:
    if name == "GraphModule":
        made = globals()["GraphModule"] = _graph_module()
        return made
    if name in (
        "node",
        "graph",
        "graph_module",
        "proxy",
        "experimental",
        "passes",
        "_symbolic_trace",
        "interpreter",
        "traceback",
    ):
        from importlib import import_module

        return import_module(f"shim_torch.fx.{name}")
    from shim_torch._missing import missing

    return missing("torch.fx", name)
