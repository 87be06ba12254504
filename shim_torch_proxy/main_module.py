"""The main module, which runs already when it comes into the scope."""

from __future__ import annotations

import builtins
import sys
from contextlib import ExitStack
from types import ModuleType
from typing import Any

from shim_torch_proxy import importer, modules
from shim_torch_proxy.changes import set_for_a_while


def install_main(stack: ExitStack) -> None:
    """The main module is running already: its frame holds the interpreter's builtins, so these must decide."""
    plain = builtins.__import__

    def __import__(
        name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0
    ) -> ModuleType:
        if (
            level == 0
            and modules.is_torch(name)
            and (globals if globals is not None else sys._getframe(1).f_globals).get("__name__")
            in ("__main__", "__mp_main__")
        ):
            return importer.scoped_import(name, globals, locals, fromlist, level)
        return plain(name, globals, locals, fromlist, level)

    set_for_a_while(stack, builtins, "__import__", __import__)
