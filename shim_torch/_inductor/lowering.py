"""``torch._inductor.lowering``: how operators become code. Registrations are noted; nothing reads them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

lowerings: dict[Any, Any] = {}
fallbacks: set[Any] = set()


def register_lowering(aten_fn: Any, *_: Any, **__: Any) -> Callable[[Any], Any]:
    """A decorator: notes a function as the lowering of an operator and gives it back."""

    def decorate(function: Any) -> Any:
        for fn in aten_fn if isinstance(aten_fn, (list, tuple)) else [aten_fn]:
            lowerings[fn] = function
        return function

    return decorate


def make_fallback(op: Any, *_: Any, **__: Any) -> None:
    """Notes an operator as called, not lowered: every one is."""
    fallbacks.add(op)


def make_pointwise(*_: Any, **__: Any) -> Any:
    """Raises NotImplementedError: there is no code generator of Inductor's kind."""
    raise NotImplementedError(
        "torch._inductor.lowering.make_pointwise is not supported by shim-torch: there is no code generator"
    )
