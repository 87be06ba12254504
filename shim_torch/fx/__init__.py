"""``torch.fx``: graphs of modules and functions: tracing, changing, running them, and their code."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_WHERE = {
    "Graph": "graph",
    "CodeGen": "graph",
    "GraphModule": "graph_module",
    "Interpreter": "interpreter",
    "Transformer": "interpreter",
    "Node": "node",
    "map_arg": "node",
    "has_side_effect": "node",
    "Proxy": "proxy",
    "Tracer": "_symbolic_trace",
    "PH": "_symbolic_trace",
    "ProxyableClassMeta": "_symbolic_trace",
    "symbolic_trace": "_symbolic_trace",
    "wrap": "_symbolic_trace",
    "replace_pattern": "subgraph_rewriter",
}
_MODULES = frozenset(
    """node graph graph_module proxy experimental passes _symbolic_trace interpreter traceback immutable_collections
    subgraph_rewriter _pytree""".split()
)


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        made = globals()[name] = getattr(import_module(f"shim_torch.fx.{_WHERE[name]}"), name)
        return made
    if name in _MODULES:
        return import_module(f"shim_torch.fx.{name}")
    from shim_torch._impl.surface.missing import missing

    return missing("torch.fx", name)
