"""``torch.jit``: TorchScript's decorators. Functions stay Python functions; nothing is compiled."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar, get_args, get_origin

T = TypeVar("T")
_isinstance = isinstance
from typing import Final  # noqa: E402


class _NoScript:
    """A type of TorchScript, without instances; ``_named`` is what making one refuses."""

    _named = ""

    def __init__(self, *_: Any, **__: Any) -> None:
        _refuse(self._named)


class ScriptModule(_NoScript):
    """The type of TorchScript modules; there are none."""

    _named = "ScriptModule"


class ScriptFunction(_NoScript):
    """The type of TorchScript functions; there are none."""

    _named = "ScriptFunction"


class ScriptMethod(_NoScript):
    """The type of TorchScript modules' methods; there are none."""

    _named = "ScriptMethod"


class ScriptDict(_NoScript):
    """The type of TorchScript dicts; there are none."""

    _named = "ScriptDict"


class ScriptList(_NoScript):
    """The type of TorchScript lists; there are none."""

    _named = "ScriptList"


RecursiveScriptModule = ScriptModule


class TracerWarning(Warning):
    """What tracing warns of; nothing is traced."""

    @staticmethod
    def ignore_lib_warnings() -> None:
        """There are none."""


class Error(RuntimeError):
    """What TorchScript functions raise."""


_enabled = os.environ.get("PYTORCH_JIT", "1") == "1"


def _refuse(name: str) -> None:
    raise NotImplementedError(f"torch.jit.{name} is not supported by shim-torch: there is no TorchScript")


def script(obj: T, optimize: Any = None, _frames_up: int = 0, _rcb: Any = None, example_inputs: Any = None) -> T:
    """The function, class or module itself: it runs as Python, with ``is_scripting()`` False.

    Errors:  RuntimeError for a lambda, and for a module whose parameters or buffers have no shape yet; TypeError for a value
    """
    if _enabled and not callable(obj) and not hasattr(obj, "__dict__"):
        raise TypeError(f"{type(obj)} is a built-in class")
    if _enabled and getattr(obj, "__name__", "") == "<lambda>":
        given: Any = obj
        code = given.__code__
        raise RuntimeError(f"Expected a single top-level function: {code.co_filename}:{code.co_firstlineno}")
    if not _isinstance(obj, type) and hasattr(obj, "_parameters") and hasattr(obj, "_modules"):
        _refuse_lazy(obj)
    return obj


def _refuse_lazy(module: Any) -> None:
    import shim_torch
    from shim_torch.nn.parameter import is_lazy

    for part in module.modules():
        for what, held in (("parameters", part._parameters), ("buffers", part._buffers)):
            for name, value in held.items():
                if is_lazy(value):
                    raise RuntimeError(
                        f"'{shim_torch.typename(type(part))}' has uninitialized {what} {name}. Did you forget to run a forward pass?"
                    )


def script_if_tracing(fn: T) -> T:
    """The function itself."""
    return fn


def _marked(fn: T, how: str) -> T:
    from shim_torch._jit_internal import FunctionModifiers

    marked: Any = fn
    for part in (marked.fget, marked.fset) if _isinstance(fn, property) else (marked,):
        if part is not None:
            part._torchscript_modifier = getattr(FunctionModifiers, how)
    return fn


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """Marks what TorchScript would leave to Python: everything is."""
    if callable(drop):
        return _marked(drop, "IGNORE")
    if not _isinstance(drop, bool):
        raise RuntimeError(f"Argument to @torch.jit.ignore must be a bool or a function but got {drop}")
    return lambda fn: _marked(fn, "UNUSED" if drop else "IGNORE")


def unused(fn: T) -> T:
    """Marks what TorchScript would not compile; the function or property itself."""
    return _marked(fn, "UNUSED")


def export(fn: T) -> T:
    """Marks what TorchScript would compile too; the function itself."""
    return _marked(fn, "EXPORT")


def interface(obj: T) -> T:
    """The class itself."""
    return obj


def _overload(func: T) -> T:
    return func


_overload_method = _script_if_tracing = _overload


def annotate(the_type: Any, the_value: T) -> T:
    """The value."""
    return the_value


class Attribute:
    """A module attribute with its type."""

    def __init__(self, value: Any, type: Any) -> None:
        self.value, self.type = value, type


def is_scripting() -> bool:
    """Whether this is TorchScript: no."""
    return False


def is_tracing() -> bool:
    """Whether the function is being traced: no."""
    return False


def isinstance(obj: Any, target_type: Any) -> bool:
    """``isinstance`` that looks into List[int], Dict[str, int], Tuple[...] and Optional[...]."""
    from types import UnionType
    from typing import Union

    if _isinstance(target_type, tuple):
        return any(isinstance(obj, t) for t in target_type)
    origin, args = get_origin(target_type), get_args(target_type)
    if origin is None:
        return obj is None if target_type is None else _isinstance(obj, target_type)
    if origin in (Union, UnionType):
        return any(isinstance(obj, a) for a in args)
    if not _isinstance(obj, origin):
        return False
    if origin is list:
        return all(isinstance(x, args[0]) for x in obj)
    if origin is dict:
        return all(isinstance(k, args[0]) and isinstance(v, args[1]) for k, v in obj.items())
    if origin is tuple:
        return len(obj) == len(args) and all(isinstance(x, a) for x, a in zip(obj, args, strict=True))
    return True


def fork(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Runs the function now; a future of its result."""
    from shim_torch.futures import Future

    found: Future[Any] = Future()
    found.set_result(func(*args, **kwargs))
    return found


def wait(future: Any) -> Any:
    """The value of a future."""
    if future is None:
        raise RuntimeError("Future can't be None")
    if not hasattr(future, "wait"):
        raise TypeError(
            "wait(): incompatible function arguments. The following argument types are supported:\n"
            f"    1. (arg0: torch._C.Future) -> object\n\nInvoked with: {future!r}"
        )
    return future.wait()


_fork, _wait = fork, wait


def trace(func: T, example_inputs: Any = None, *_: Any, **__: Any) -> T:
    """The function or module itself where TorchScript is switched off (PYTORCH_JIT=0), as in PyTorch; else refused."""
    return _untraced("trace", func)


def trace_module(mod: T, inputs: Any = None, *_: Any, **__: Any) -> T:
    """The module itself, as ``trace``."""
    return _untraced("trace_module", mod)


def _untraced(name: str, target: T) -> T:
    if _enabled:
        raise NotImplementedError(
            f"torch.jit.{name} is not supported by shim-torch: nothing records a run, and conditions would not be fixed as there. "
            "Call the function itself, or set PYTORCH_JIT=0, with which it is returned"
        )
    return target


def _get_trace_graph(*_: Any, **__: Any) -> None:
    _refuse("_get_trace_graph")


def freeze(*_: Any, **__: Any) -> None:
    """Raises NotImplementedError."""
    _refuse("freeze")


def optimize_for_inference(*_: Any, **__: Any) -> None:
    """Raises NotImplementedError."""
    _refuse("optimize_for_inference")


def save(*_: Any, **__: Any) -> None:
    """Raises NotImplementedError."""
    _refuse("save")


def load(*_: Any, **__: Any) -> None:
    """Raises NotImplementedError."""
    _refuse("load")


def set_fusion_strategy(strategy: Any) -> list[Any]:
    """There is nothing to fuse; the old strategy."""
    return []


class fuser:
    """A context that chooses a fuser: there is none."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        pass


def enable_onednn_fusion(enabled: bool) -> None:
    """There is no fuser."""


def onednn_fusion_enabled() -> bool:
    """False."""
    return False


def __getattr__(name: str) -> Any:
    if name == "Future":
        from shim_torch.futures import Future

        return Future
    if name in ("_recursive", "_state"):
        from importlib import import_module

        return import_module(f"shim_torch.jit.{name}")
    from shim_torch._impl.surface.missing import missing

    return missing("torch.jit", name)
