"""Small helpers of layers with spatial arguments (torch.nn.modules.utils)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import repeat
from typing import Any

from shim_torch._impl.surface import naming

__all__ = ["consume_prefix_in_state_dict_if_present"]


def _ntuple(n: int, name: str = "parse") -> Callable[[Any], tuple[Any, ...]]:
    def parse(x: Any) -> tuple[Any, ...]:
        return tuple(x) if isinstance(x, Iterable) else tuple(repeat(x, n))

    parse.__name__ = name
    return parse


_single = _ntuple(1, "_single")
_pair = _ntuple(2, "_pair")
_triple = _ntuple(3, "_triple")
_quadruple = _ntuple(4, "_quadruple")


def _reverse_repeat_tuple(t: Iterable[Any], n: int) -> tuple[Any, ...]:
    return tuple(x for x in reversed(tuple(t)) for _ in range(n))


def _list_with_default(out_size: Any, defaults: Any) -> Any:
    """A size with its Nones filled in from the last of ``defaults``."""
    if isinstance(out_size, int):
        return out_size
    if len(defaults) <= len(out_size):
        raise ValueError(f"Input dimension should be at least {len(out_size) + 1}")
    return [v if v is not None else d for v, d in zip(out_size, defaults[-len(out_size) :], strict=True)]


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Strips ``prefix`` from the keys of a state dict and of its metadata, in place."""
    metadata = getattr(state_dict, "_metadata", None) or {}  # names of modules: they end without the prefix's dot
    for entries, end in ((state_dict, ""), (metadata, "." if prefix.endswith(".") else "")):
        for key in [key for key in entries if (key + end).startswith(prefix)]:
            entries[key[len(prefix) :]] = entries.pop(key)


naming.present(globals())
