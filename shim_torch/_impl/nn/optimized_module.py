"""``OptimizedModule``: what ``torch.compile`` gives for a module."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.compile.calls import Compiled, paused
from shim_torch.nn import Module


class OptimizedModule(Module):
    """What ``torch.compile`` gives for a module: the module under ``_orig_mod``, whose calls are compiled.

    ``dynamo_ctx``: the settings; None where ``torch.compiler.disable`` made it, whose operators run as they are called.
    Attributes are the module's, read, set and deleted; parameters' names begin with ``_orig_mod.``.
    """

    _orig_mod: Module
    _opt_mod_attributes = {"_orig_mod", "dynamo_ctx", "forward", "_forward", "__dict__"}

    def __init__(self, mod: Module, dynamo_ctx: Any = None) -> None:
        super().__init__()
        self.__dict__["dynamo_ctx"] = dynamo_ctx
        self._modules["_orig_mod"] = mod
        self.__dict__["_compiled"] = None if dynamo_ctx is None else Compiled(mod, dynamo_ctx)
        self.__dict__.pop("training", None)  # the module's

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the module gives for these arguments."""
        compiled = self.__dict__["_compiled"]
        return paused(self._orig_mod)(*args, **kwargs) if compiled is None else compiled.caller(*args, **kwargs)

    def __len__(self) -> int:
        try:
            return len(self._orig_mod)  # type: ignore[arg-type]
        except TypeError:
            raise TypeError(f"{type(self._orig_mod).__name__} does not support len()") from None

    @property
    def training(self) -> bool:  # type: ignore[override]
        """The module's."""
        return self._orig_mod.training

    @training.setter
    def training(self, value: bool) -> None:
        if "_modules" in self.__dict__ and "_orig_mod" in self._modules:
            self._orig_mod.training = value

    def __getattr__(self, name: str) -> Any:
        inner = self.__dict__.get("_modules", {}).get("_orig_mod")
        if inner is None:  # before __init__, or while it is copied
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return inner if name == "_orig_mod" else getattr(inner, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if (
            name in self.__dict__
            or name in self._opt_mod_attributes
            or "_orig_mod" not in self.__dict__.get("_modules", {})
        ):
            super().__setattr__(name, value)
        elif name == "training":
            self._orig_mod.training = value
        else:
            setattr(self._orig_mod, name, value)

    def __delattr__(self, name: str) -> None:
        if name in self.__dict__ or name in self._opt_mod_attributes:
            super().__delattr__(name)
        else:
            delattr(self._orig_mod, name)

    def __dir__(self) -> list[str]:
        return [*self.__dict__, *(n for n in dir(self._orig_mod) if n not in self.__dict__)]


OptimizedModule.__module__ = "torch._dynamo.eval_frame"
