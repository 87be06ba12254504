"""Modules that run already when they come into the scope: the main one, and a library whose ``__init__`` enables itself."""

from __future__ import annotations

import builtins
import sys
from contextlib import ExitStack
from types import ModuleType

from shim_torch_proxy import importer, modules
from shim_torch_proxy._imports import Import
from shim_torch_proxy.changes import set_for_a_while

TYPE_CHECKING = False  # typing takes long to import, and only type checkers need it
if TYPE_CHECKING:
    from typing import Any

MAIN = ("__main__", "__mp_main__")


def install_running(stack: ExitStack, main: bool) -> None:
    """Their frames hold the interpreter's builtins, so these must decide. ``main``: the main module is one of them."""
    plain = builtins.__import__

    def __import__(
        name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0
    ) -> ModuleType:
        if level == 0 and (modules.is_torch(name) or importer.is_hidden(name)):
            own = globals if globals is not None else sys._getframe(1).f_globals
            if own.get("__builtins__") is importer.SCOPED or (main and own.get("__name__") in MAIN):
                return importer.import_ours(name, globals, locals, fromlist, level)
        return plain(name, globals, locals, fromlist, level)

    set_for_a_while(stack, builtins, "__import__", Import(__import__, modules.loaded))


def take_in(names: frozenset[str]) -> list[str]:
    """Gives modules of these packages that are being imported now the builtins of code in scope; their names."""
    taken = []
    for name, module in list(sys.modules.items()):
        if not any(name == package or name.startswith(f"{package}.") for package in names):
            continue
        if getattr(getattr(module, "__spec__", None), "_initializing", False) and name not in MAIN:
            vars(module)["__builtins__"] = importer.SCOPED
            taken.append(name)
    return taken
