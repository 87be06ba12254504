"""Code that pickles for others: C looks names up with the builtins of the Python code that called it, in any thread.

multiprocessing's queues pickle in threads of their own, and its children unpickle before any code in scope runs; there
nobody can be asked. Functions and classes of our torch are found there under torch's names where PyTorch is not installed,
and ``sys.modules`` stays as it was.
"""

from __future__ import annotations

import builtins
import pickle
import sys
from collections.abc import Callable, Iterator
from types import FrameType, FunctionType, ModuleType
from typing import Any

from shim_torch_proxy import importer, modules, requirements, stand_ins
from shim_torch_proxy.lookups import Change
from shim_torch_proxy.scope import Scope

_LOKY = ("backend.popen_loky_posix", "backend.queues", "backend.reduction", "process_executor")
_CLOUDPICKLE = "cloudpickle.cloudpickle"
MODULES = (
    *(f"{top}.{part}" for top in ("multiprocessing", "multiprocess") for part in (
        "connection", "managers", "pool", "queues", "reduction", "spawn"
    )),
    "concurrent.futures.process",
    *(f"{top}.{part}" for top in ("loky", "joblib.externals.loky") for part in _LOKY),
    _CLOUDPICKLE,
    f"joblib.externals.{_CLOUDPICKLE}",
    "dill._dill",
    "shim_torch.multiprocessing.spawn",
    "shim_torch.utils.data.dataloader",
    "shim_torch.utils.data._utils.worker",
)  # fmt: skip


def _found(scope: Scope) -> bool:
    """Whether a torch name that is asked for now is one of ours."""
    if scope.names is None:
        return False  # ours is in sys.modules
    if not requirements.is_installed():
        return True
    beside = sys.modules.get("torch") is not None
    frame: FrameType | None = importer.asking_frame(2) if beside else sys._getframe(2)
    while frame is not None and not importer.frame_has_torch(frame):
        frame = None if beside else frame.f_back
    return frame is not None


def _called_from(function: Callable[..., Any], module: ModuleType, table: dict[str, Any]) -> FunctionType:
    """``function`` as code of ``module`` calls it, with these builtins."""
    source = f"def {function.__name__}(*args, **kwargs):\n    return function(*args, **kwargs)"
    names: dict[str, Any] = {"__builtins__": table, "__name__": module.__name__, "function": function}
    exec(source, names)
    made: FunctionType = names[function.__name__]
    made.__doc__ = function.__doc__
    return made


def changes(module: ModuleType, scope: Callable[[], Scope]) -> Iterator[Change]:
    """What ``module`` is given, so that it finds our torch where there is no other."""

    def __import__(
        name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0
    ) -> ModuleType:
        if not level and modules.is_torch(name) and _found(scope()):
            return importer.scoped_import(name, globals, locals, fromlist, level)
        return vars(builtins)["__import__"](name, globals, locals, fromlist, level)

    table = {**vars(builtins), "__import__": __import__}
    yield module, "__builtins__", table
    yield module, "__import__", __import__
    for name in ("load", "loads"):  # C's own, handed on: whoever calls it is the Python code that is asked
        if vars(module).get(name) is getattr(pickle, name):
            yield module, name, _called_from(getattr(pickle, name), module, table)
    if vars(module).get("sys") is sys:
        yield module, "sys", stand_ins.CallersSys(lambda: _found(scope()))
