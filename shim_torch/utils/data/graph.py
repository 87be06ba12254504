"""``torch.utils.data.graph``: the pipes that a pipe is made of."""

from __future__ import annotations

from typing import Any

from shim_torch.utils.data.datapipes.datapipe import IterDataPipe, MapDataPipe

__all__ = ["traverse", "traverse_dps"]


def _inner(value: Any) -> list[Any]:
    if isinstance(value, (IterDataPipe, MapDataPipe)):
        return [value]
    if isinstance(value, dict):
        return [p for v in value.values() for p in _inner(v)]
    if isinstance(value, (list, tuple, set)):
        return [p for v in value for p in _inner(v)]
    return []


def traverse_dps(datapipe: Any) -> dict[int, tuple[Any, Any]]:
    """``{id(pipe): (pipe, the same of the pipes in its attributes)}``. Errors: RuntimeError for what is no pipe."""
    if not isinstance(datapipe, (IterDataPipe, MapDataPipe)):
        raise RuntimeError(f"Expected `IterDataPipe` or `MapDataPipe`, but {type(datapipe)} is found")
    return _walk(datapipe, frozenset())


def _walk(pipe: Any, above: frozenset[int]) -> dict[int, tuple[Any, Any]]:
    if id(pipe) in above:
        return {}
    below: dict[int, tuple[Any, Any]] = {}
    for inner in _inner(list(vars(pipe).values())):
        below.update(_walk(inner, above | {id(pipe)}))
    return {id(pipe): (pipe, below)}


def traverse(datapipe: Any, only_datapipe: bool | None = None) -> dict[int, tuple[Any, Any]]:
    """As :func:`traverse_dps`; ``only_datapipe`` says nothing here, where containers are looked into always."""
    return traverse_dps(datapipe)
