"""``torch._prims.context``: torch's functions read as ``torch._refs``'. Here those are the operators themselves."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from functools import cache
from types import ModuleType
from typing import Any

import shim_torch as torch
from shim_torch import _refs
from shim_torch.overrides import TorchFunctionMode, resolve_name


def _modules() -> list[tuple[Any, ModuleType]]:
    from importlib import import_module

    found: list[tuple[Any, ModuleType]] = [(torch, _refs), (torch.Tensor, _refs)]
    for name in ("special", "fft", "linalg", "nn.functional"):
        found.append((import_module(f"shim_torch.{name}"), import_module(f"shim_torch._refs.{name}")))
    return found


@cache
def torch_to_refs_map() -> dict[Any, Any]:
    """Torch's functions and methods -> the function of ``torch._refs`` of that name."""
    found: dict[Any, Any] = {}
    for served, refs in _modules():
        for name in dir(served):
            if name.startswith("_") or name.endswith("_"):
                continue
            function = getattr(served, name, None)
            if callable(function) and not isinstance(function, type):
                try:
                    found[function] = getattr(refs, name)
                except (AttributeError, NotImplementedError, TypeError):  # no ref, or no name of a function
                    continue
    return found


@cache
def all_prims() -> set[Any]:
    """The functions of ``torch._prims``."""
    from shim_torch import _prims

    return {f for name, f in vars(_prims).items() if callable(f) and not name.startswith("_")}


class TorchRefsMode(TorchFunctionMode):
    """Within it ``torch.f`` is ``torch._refs.f``; what has no ref runs as it is, or is refused with ``strict``."""

    def __init__(
        self,
        strict: bool = False,
        should_fallback_fn: Callable[..., bool] = lambda *_: False,
        prims_mode_cls: Any = nullcontext,
    ) -> None:
        self.strict = strict
        self.should_fallback_fn = should_fallback_fn
        self.prims_mode_cls = prims_mode_cls

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        named = dict(kwargs or {})
        return self._chosen(func, args, named)(*args, **named)

    def _chosen(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """What runs for a function: its ref, or the function itself. Errors: RuntimeError, no ref with ``strict``."""
        refs = {} if func in all_prims() else torch_to_refs_map()
        if func in refs:
            return func if self.should_fallback_fn(self, func, refs[func], args, kwargs) else refs[func]
        if self.strict and self._is_public(func):
            raise RuntimeError(f"no _refs support for {resolve_name(func)}")
        return func

    @staticmethod
    def _is_public(func: Any) -> bool:
        """Of torch's documented functions: what bodies of operators call besides has no ref to ask for."""
        name = getattr(func, "__name__", "_")
        qualified_name = resolve_name(func) or ""
        is_hidden = (
            name.startswith("_") or name.endswith("_") or qualified_name.startswith("torch._C") or name == "__get__"
        )
        return qualified_name.startswith("torch.") and not is_hidden
