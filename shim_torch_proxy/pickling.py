"""Modules that pickle for other code: C looks names up with the builtins of the Python code that called it.

multiprocessing's queues pickle in threads of their own, and its children unpickle before any code in scope runs: there is
no caller to judge by. Where PyTorch is not installed, functions and classes of our torch are found there under torch's
names, and ``sys.modules`` is not changed.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable, Iterator
from types import FrameType, FunctionType, ModuleType

from shim_torch_proxy import importer, modules, requirements, stand_ins
from shim_torch_proxy._imports import Import
from shim_torch_proxy.lookups import Change
from shim_torch_proxy.scope import Scope

TYPE_CHECKING = False  # typing takes long to import, and only type checkers need it
if TYPE_CHECKING:
    from typing import Any

# Their modules pickle, or unpickle, what other code gives them.
PACKAGES = (
    "multiprocessing", "concurrent.futures", "multiprocess", "loky", "joblib", "cloudpickle", "dill", "shim_torch.multiprocessing",
    "shim_torch.utils.data",
)  # fmt: skip
_TOPS = frozenset(name.partition(".")[0] for name in PACKAGES)
importer.for_callers.update(_TOPS - {modules.ROOT})


def is_one(module: str) -> bool:
    """Whether a module is of such a package."""
    return module.partition(".")[0] in _TOPS and any(module == p or module.startswith(f"{p}.") for p in PACKAGES)


def _found(scope: Scope) -> bool:
    """Whether a torch name looked up now has to be ours."""
    if scope.names is None:
        return False  # ours is in sys.modules
    if not requirements.is_installed():
        return True
    beside = requirements.is_pytorch(sys.modules.get("torch"))
    frame: FrameType | None = importer.asking_frame(2) if beside else sys._getframe(2)
    while frame is not None and not importer.frame_has_torch(frame):
        frame = None if beside else frame.f_back
    return frame is not None


def _called_from(function: Callable[..., Any], module: ModuleType, table: dict[str, Any]) -> FunctionType:
    """A copy of ``function`` with these builtins, for ``module`` to call."""
    source = f"def {function.__name__}(*args, **kwargs):\n    return function(*args, **kwargs)"
    names: dict[str, Any] = {"__builtins__": table, "__name__": module.__name__, "function": function}
    exec(source, names)
    made: FunctionType = names[function.__name__]
    made.__doc__ = function.__doc__
    return made


def changes(module: ModuleType, scope: Callable[[], Scope]) -> Iterator[Change]:
    """The replacements for ``module``'s names by which it finds our torch where there is no other."""
    import pickle

    def __import__(
        name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0
    ) -> ModuleType:
        if not level and modules.is_torch(name) and _found(scope()):
            return importer.import_ours(name, globals, locals, fromlist, level)
        return vars(builtins)["__import__"](name, globals, locals, fromlist, level)

    call = Import(__import__, modules.loaded)
    table = {**vars(builtins), "__import__": call}
    yield module, "__builtins__", table
    yield module, "__import__", call
    for name in ("load", "loads"):  # C's function: its caller is the Python code whose builtins count
        if vars(module).get(name) is getattr(pickle, name):
            yield module, name, _called_from(getattr(pickle, name), module, table)
    if vars(module).get("sys") is sys:
        yield module, "sys", stand_ins.CallersSys(lambda: _found(scope()))
