"""``torch.fx.node``."""

from typing import Any

from shim_torch.fx import Node

__all__ = ["Argument", "Node", "Target", "map_aggregate", "map_arg"]
Argument = Target = Any


def map_aggregate(a: Any, fn: Any) -> Any:
    """Applies ``fn`` to everything in nested tuples, lists, dicts and slices."""
    if isinstance(a, tuple):
        mapped = tuple(map_aggregate(x, fn) for x in a)
        return mapped if not hasattr(a, "_fields") else type(a)(*mapped)
    if isinstance(a, list):
        return [map_aggregate(x, fn) for x in a]
    if isinstance(a, dict):
        return {k: map_aggregate(v, fn) for k, v in a.items()}
    if isinstance(a, slice):
        return slice(*(map_aggregate(x, fn) for x in (a.start, a.stop, a.step)))
    return fn(a)


def map_arg(a: Any, fn: Any) -> Any:
    """Applies ``fn`` to the nodes in an argument."""
    return map_aggregate(a, lambda x: fn(x) if isinstance(x, Node) else x)
