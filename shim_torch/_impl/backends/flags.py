"""Modules whose attributes are settings: they are kept and readable, and a ``flags(...)`` context restores them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType
from typing import Any

from shim_torch._impl.surface.own import in_torch


class FlagModule(ModuleType):
    """A module with settings in ``_settings``; reading and assigning an attribute goes there."""

    _settings: dict[str, Any]

    def __getattr__(self, name: str) -> Any:
        settings = self.__dict__["_settings"]
        if name in settings:
            return settings[name]
        from shim_torch._impl.surface.missing import missing

        return missing(in_torch(self.__name__), name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self.__dict__.get("_settings", ()):
            from shim_torch.backends import flags_frozen

            if flags_frozen() and self.__name__.endswith((".cudnn", ".mkldnn")):  # as in PyTorch, the others stay free
                module = in_torch(self.__name__)
                raise RuntimeError(
                    f"not allowed to set {module} flags after disable_global_flags; please use flags() context manager instead"
                )
            self._settings[name] = value
        else:
            super().__setattr__(name, value)

    def set_flags(self, **values: Any) -> tuple[Any, ...]:
        """Sets the settings given under ``_name`` or ``name``; the old values."""
        values = {k.removeprefix("_"): v for k, v in values.items() if v is not None}
        old = tuple(self._settings[k] for k in values)
        self._settings.update(values)
        return old

    @contextlib.contextmanager
    def flags(self, **values: Any) -> Iterator[None]:
        """Settings within a ``with`` block."""
        old = dict(self._settings)
        self._settings.update({k: v for k, v in values.items() if v is not None})
        try:
            yield
        finally:
            self._settings.update(old)


def has_settings(name: str) -> None:
    """Makes the module that calls this, by its ``__name__``, one with settings."""
    import_module(name).__class__ = FlagModule
