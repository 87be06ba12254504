"""Language functions under other names: ``from triton.language import exp``, ``exp = tl.exp``, ``ops.exp``.

The interpreter exchanges the functions of ``triton.language`` itself while a kernel runs; a function bound anywhere else
stays the compiler's, which wants a compiler. So those are exchanged too, where a kernel or a function it calls sees them.
"""

from __future__ import annotations

from types import FunctionType, ModuleType
from typing import Any

from shim_torch_proxy.adapters.triton.mends.mend import Mend, Patch

Place = tuple[dict[str, Any], str, ModuleType, str]
"""A binding: its namespace and name, and the module and name of the language's function."""


class Bindings:
    """The language functions bound outside the language, exchanged during a launch."""

    def __init__(self, language: ModuleType) -> None:
        self._modules = [
            module for module in (language, language.core, language.math) if isinstance(module, ModuleType)
        ]
        self._functions: dict[FunctionType, tuple[ModuleType, str]] = {}
        for module in reversed(self._modules):
            for name, member in vars(module).items():
                if isinstance(member, FunctionType) and language.core.is_builtin(member):
                    self._functions[member] = module, name
        self._places: dict[int, tuple[int, list[Place]]] = {}
        self._seen: set[int] = set()
        self._exchanged: list[tuple[dict[str, Any], str, Any]] = []

    def _find(self, namespace: dict[str, Any], deep: bool) -> list[Place]:
        places = []
        for name, value in list(namespace.items()):
            if isinstance(value, FunctionType) and value in self._functions:
                places.append((namespace, name, *self._functions[value]))
            elif deep and isinstance(value, ModuleType) and not self._triton(value):
                places += self._places_of(vars(value), deep=False)
        return places

    @staticmethod
    def _triton(module: ModuleType) -> bool:
        return module.__name__.partition(".")[0] == "triton"

    def _places_of(self, namespace: dict[str, Any], deep: bool) -> list[Place]:
        """Remembered while the namespace has as many names: a module that is still executed gets more."""
        size, places = self._places.get(id(namespace), (-1, []))
        if size != len(namespace):
            places = self._find(namespace, deep)
            self._places[id(namespace)] = len(namespace), places
        return places

    def exchange(self, namespace: dict[str, Any]) -> None:
        """Gives the names in ``namespace``, and in modules it names, what the language's own names stand for now."""
        if id(namespace) in self._seen:
            return
        self._seen.add(id(namespace))
        for where, name, module, own in self._places_of(namespace, deep=True):
            bound, current = where.get(name), getattr(module, own)
            if bound is not current and isinstance(bound, FunctionType) and bound in self._functions:
                self._exchanged.append((where, name, bound))
                where[name] = current

    def restore(self) -> None:
        """Puts back what was bound."""
        while self._exchanged:
            where, name, bound = self._exchanged.pop()
            where[name] = bound
        self._seen.clear()


def _bound_names(interpreter: ModuleType, patch: Patch) -> None:
    stock_patch, stock_call = interpreter._patch_lang, interpreter.GridExecutor.__call__
    bindings: list[Bindings] = []
    launches = 0

    def _patch_lang(fn: Any) -> Any:
        scope = stock_patch(fn)
        if launches and bindings and isinstance(fn, FunctionType):
            bindings[0].exchange(fn.__globals__)
        return scope

    def __call__(self: Any, *args: Any, **kwargs: Any) -> None:
        nonlocal launches
        if not bindings:
            bindings.append(Bindings(interpreter.tl))
        launches += 1
        try:
            stock_call(self, *args, **kwargs)
        finally:
            launches -= 1
            if not launches:
                bindings[0].restore()

    patch.set(interpreter, "_patch_lang", _patch_lang)
    patch.set(interpreter.GridExecutor, "__call__", __call__)


MENDS = (
    Mend("names", "language functions bound by other names are called", "triton.runtime.interpreter", _bound_names),
)
