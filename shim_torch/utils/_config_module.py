"""``torch.utils._config_module``: modules of settings that can be patched, copied and set back.

The compiler's settings (``torch._dynamo.config``, ``torch._inductor.config``, ``torch._functorch.config``) have PyTorch's
names and defaults (a data file of the package) and steer nothing: there is no compiler. Libraries and test suites set them.
"""

from __future__ import annotations

import contextlib
import copy
import importlib
import json
import os
import pickle
import warnings
from collections.abc import Callable
from functools import lru_cache
from hashlib import md5
from types import ModuleType
from typing import Any

from shim_torch._impl import data
from shim_torch._impl.surface.own import in_torch


@lru_cache(maxsize=1)
def _defaults() -> dict[str, dict[str, Any]]:
    return json.loads(data.read("compile_settings.json"))  # type: ignore[no-any-return]


_UNSET: Any = object()


class Config:
    """One setting with more than its default: what environment variables say, another setting it stands for.

    ``env_name_default``: variables ("0", "1" or a text) that give the default. ``env_name_force``: variables that win over
    everything. ``alias``: the dotted name of the setting that is read and written instead. ``deprecated``: reading or writing
    it warns once. ``justknob`` says nothing outside Meta.
    """

    def __init__(
        self,
        default: Any = _UNSET,
        justknob: str | None = None,
        env_name_default: str | list[str] | None = None,
        env_name_force: str | list[str] | None = None,
        value_type: type | None = None,
        alias: str | None = None,
        deprecated: bool = False,
        deprecation_message: str | None = None,
    ) -> None:
        if alias is not None and (default is not _UNSET or justknob or env_name_default or env_name_force):
            raise AssertionError(
                "if alias is set, none of {default, justknob, env_name_default and env_name_force} can be set"
            )
        self.default, self.justknob, self.value_type, self.alias = default, justknob, value_type, alias
        self.env_name_default, self.env_name_force = _names(env_name_default), _names(env_name_force)
        self.deprecated, self.deprecation_message = deprecated, deprecation_message

    def first_value(self) -> Any:
        """The default, or what the variables for it say."""
        found = _of_environment(self.env_name_default)
        return self.default if found is _UNSET else found

    def forced(self) -> Any:
        """What the variables that win say, else ``_UNSET``."""
        return _of_environment(self.env_name_force)


def _names(given: str | list[str] | None) -> list[str]:
    if given is None or isinstance(given, list):
        return given or []
    return [given]


def _of_environment(names: list[str]) -> Any:
    for name in names:
        if name in os.environ:
            return {"1": True, "0": False}.get(os.environ[name], os.environ[name])
    return _UNSET


class SubConfigProxy:
    """``config.triton.cudagraphs``: the settings whose names begin with ``triton.``"""

    def __init__(self, config: ConfigModule, prefix: str) -> None:
        super().__setattr__("_config", config)
        super().__setattr__("_prefix", prefix)

    def __setattr__(self, name: str, value: Any) -> None:
        self._config.__setattr__(self._prefix + name, value)

    def __getattr__(self, name: str) -> Any:
        return self._config.__getattr__(self._prefix + name)


class ConfigModule(ModuleType):
    """A module whose attributes are the settings in ``_config``; names that it lacks are an AttributeError."""

    _config: dict[str, Any]
    _default: dict[str, Any]

    def __getattr__(self, name: str) -> Any:
        settings = self.__dict__["_config"]
        if name in self.__dict__["_special"]:
            return self._read(name)
        if name in settings:
            return settings[name]
        if not name.startswith("__") and any(k.startswith(name + ".") for k in settings):
            return SubConfigProxy(self, name + ".")
        raise AttributeError(f"{self._public()}.{name} does not exist")

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self.__dict__.get("_special", ()):
            module, attribute = self._meant(name)
            if (module, attribute) != (self, name):
                return setattr(module, attribute, value)
            self._config[name] = value
        elif name in self.__dict__.get("_config", ()):
            self._config[name] = value
        elif name.startswith("_") or isinstance(value, ModuleType):
            super().__setattr__(name, value)
        else:
            raise AttributeError(f"{self._public()}.{name} does not exist")

    def __delattr__(self, name: str) -> None:
        if name in self._config:
            self._config[name] = copy.deepcopy(self._default[name])  # as in PyTorch: the default is back
        else:
            super().__delattr__(name)

    def _meant(self, name: str) -> tuple[Any, str]:
        """The module and name of the setting that one of the special ones stands for; itself, mostly."""
        special: Config = self.__dict__["_special"][name]
        if special.deprecated and name not in self.__dict__.setdefault("_warned", set()):
            self.__dict__["_warned"].add(name)
            reason = special.deprecation_message
            warnings.warn(
                f"{self._public()}.{name} is deprecated" + (f" and {reason}" if reason else ""),
                FutureWarning,
                stacklevel=4,
            )
        if special.alias is None:
            return self, name
        module, _, attribute = special.alias.rpartition(".")
        return importlib.import_module(module), attribute

    def _read(self, name: str) -> Any:
        module, attribute = self._meant(name)
        if (module, attribute) != (self, name):
            return getattr(module, attribute)
        forced = self.__dict__["_special"][name].forced()
        return self._config[name] if forced is _UNSET else forced

    def _public(self) -> str:
        return in_torch(self.__name__)

    def get_config_copy(self) -> dict[str, Any]:
        """A deep copy of all settings."""
        return copy.deepcopy(self._config)

    shallow_copy_dict = to_dict = get_serializable_config_copy = get_config_copy

    def save_config(self) -> bytes:
        """The settings as a pickle, for :meth:`load_config`."""
        return pickle.dumps(self._config, protocol=2)

    def save_config_portable(self, *, ignore_private_configs: bool = True) -> dict[str, Any]:
        """A copy of the settings, without those whose names start with an underscore unless asked for."""
        return {k: v for k, v in self.get_config_copy().items() if not (ignore_private_configs and k.startswith("_"))}

    def load_config(self, maybe_pickled_config: bytes | dict[str, Any]) -> None:
        """Sets the settings that a dict or a pickle of :meth:`save_config` holds."""
        given = maybe_pickled_config
        self._config.update(given if isinstance(given, dict) else pickle.loads(given))

    def codegen_config(self) -> str:
        """Python lines that set what differs from the defaults."""
        changed = {k: v for k, v in self._config.items() if k in self._default and v != self._default[k]}
        return "\n".join(f"{self._public()}.{k} = {v!r}" for k, v in changed.items())

    def get_hash(self) -> bytes:
        """MD5 of all names and values (16 bytes)."""
        return md5(repr(sorted(self._config.items())).encode(), usedforsecurity=False).digest()

    def _is_default(self, name: str) -> bool:
        return bool(self._config[name] == self._default[name])

    def patch(
        self, arg1: str | dict[str, Any] | None = None, arg2: Any = None, **kwargs: Any
    ) -> contextlib.AbstractContextManager[None]:
        """Settings for a ``with`` block or a decorated function: ``patch("debug", True)``, a dict, or keywords."""
        changes = dict(arg1) if isinstance(arg1, dict) else {arg1: arg2} if arg1 is not None else kwargs
        return ConfigPatch(self, changes)

    def _make_closure_patcher(self, **changes: Any) -> Callable[[], Callable[[], None]]:
        """A function that makes the changes and gives the one that takes them back."""

        def change() -> Callable[[], None]:
            old = {k: self._config[k] for k in changes}
            self._config.update(changes)
            return lambda: self._config.update(old)

        return change


class ConfigPatch(contextlib.ContextDecorator):
    """What ``config.patch`` gives: a context manager that may be entered again, and a decorator of functions and classes."""

    def __init__(self, config: ConfigModule, changes: dict[Any, Any]) -> None:
        self.config, self.changes = config, changes
        self.old: list[dict[str, Any]] = []

    def __enter__(self) -> None:
        self.old.append(
            {k: getattr(self.config, k) for k in self.changes}
        )  # an unknown name is an error before any change
        for name, value in self.changes.items():
            setattr(self.config, name, value)

    def __exit__(self, *_: object) -> None:
        for name, value in self.old.pop().items():
            setattr(self.config, name, value)

    def __call__(self, func: Any) -> Any:
        import unittest

        tests = isinstance(func, type) and issubclass(func, unittest.TestCase)
        return _patched_tests(self, func) if tests else super().__call__(func)


def _patched_tests(patch: ConfigPatch, tests: Any) -> Any:
    """A subclass of a test case whose settings are changed from before its setUpClass until after its tearDownClass."""

    def set_up(cls: Any) -> None:
        with contextlib.ExitStack() as stack:
            stack.enter_context(patch)
            super(made, cls).setUpClass()
            stack.pop_all()  # it went well: the settings stay

    def tear_down(cls: Any) -> None:
        with contextlib.ExitStack() as stack:
            stack.push(patch)
            super(made, cls).tearDownClass()

    names = {"__module__": tests.__module__, "__qualname__": tests.__qualname__}
    methods = {"setUpClass": classmethod(set_up), "tearDownClass": classmethod(tear_down)}
    made: Any = type(tests)(tests.__name__, (tests,), names | methods)
    return made


def install_config_module(module: ModuleType) -> None:
    """Makes the module one of settings: its values, those of its classes as ``class.name``, and PyTorch's defaults where the data
    file names the module."""
    served = _defaults().get(in_torch(module.__name__), {})
    own = {
        k: v
        for k, v in vars(module).items()
        if not k.startswith("__") and not callable(v) and not isinstance(v, ModuleType) and k != "annotations"
    }
    for group in [k for k, v in vars(module).items() if isinstance(v, type) and v.__module__ == module.__name__]:
        own.update({f"{group}.{k}": v for k, v in vars(getattr(module, group)).items() if not k.startswith("__")})
        delattr(module, group)
    for name in own:
        if "." not in name:
            delattr(module, name)
    special = {k: v for k, v in own.items() if isinstance(v, Config)}
    own.update({k: v.first_value() for k, v in special.items() if v.alias is None})
    own = {k: v for k, v in own.items() if not isinstance(v, Config)}
    module.__dict__["_special"] = special
    module.__dict__["_config"] = {**copy.deepcopy(served), **own}
    module.__dict__["_default"] = copy.deepcopy(module.__dict__["_config"])
    module.__class__ = ConfigModule
