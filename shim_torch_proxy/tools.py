"""Modules that look names up, or run source text, for their caller: pickle, mock, pytest, pydoc, timeit, ctypes and others."""

from __future__ import annotations

import builtins
import functools
import importlib
import os
import sys
from collections.abc import Callable, Iterator
from types import ModuleType

from shim_torch_proxy import importer, metadata, modules, stand_ins
from shim_torch_proxy.lookups import Change
from shim_torch_proxy.scope import Scope

TYPE_CHECKING = False  # typing takes long to import, and only type checkers need it
if TYPE_CHECKING:
    from typing import Any

Give = Callable[[ModuleType, Callable[[], Scope], Callable[[], bool]], Iterator[Change]]


def _imports(module: ModuleType, scope: Callable[[], Scope], in_scope: Callable[[], bool]) -> Iterator[Change]:
    """A module that calls ``__import__`` and reads ``sys.modules`` for its caller gets what the caller would."""

    def __import__(
        name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0
    ) -> ModuleType:
        if not level and modules.is_torch(name) and scope().names is not None and in_scope():
            return importer.import_ours(name, globals, locals, tuple(fromlist or ()), level)
        if name == "sys" and scope().names is not None and in_scope():  # "sys.modules", to be patched
            return stand_ins.get(name)
        return vars(sys.modules["builtins"])["__import__"](name, globals, locals, fromlist, level)

    yield module, "__import__", __import__
    if vars(module).get("sys") is sys:
        yield module, "sys", stand_ins.CallersSys(lambda: scope().names is not None and in_scope())


def _rewriting(module: ModuleType, scope: Callable[[], Scope], in_scope: Callable[[], bool]) -> Iterator[Change]:
    """pytest's hook, which stands first on ``sys.meta_path`` and loads test modules itself."""
    hook = module.AssertionRewritingHook
    original = hook.exec_module

    @functools.wraps(original)
    def exec_module(self: Any, module: ModuleType) -> None:
        total = scope()
        if total.names is not None and total.covers(module.__name__):
            importer.refresh()
            vars(module).setdefault("__builtins__", importer.SCOPED)
        original(self, module)

    yield hook, "exec_module", exec_module


def _resources(module: ModuleType, scope: Callable[[], Scope], in_scope: Callable[[], bool]) -> Iterator[Change]:
    """``pkg_resources.get_distribution`` and ``require``."""
    get_distribution, require = module.get_distribution, module.require

    def ours() -> Any:
        return module.Distribution(project_name="torch", version=metadata.version(), location=None)

    @functools.wraps(get_distribution)
    def find(dist: Any) -> Any:
        if isinstance(dist, str) and metadata.is_torch(module.Requirement.parse(dist).project_name) and in_scope():
            return ours()
        return get_distribution(dist)

    @functools.wraps(require)
    def need(*requirements: Any) -> Any:
        if not in_scope():
            return require(*requirements)
        wanted = list(module.parse_requirements(requirements))
        torch = [r for r in wanted if metadata.is_torch(r.project_name)]
        for requirement in torch:
            if ours() not in requirement:
                raise module.VersionConflict(ours(), requirement)
        return [*(ours() for _ in torch[:1]), *require(*(str(r) for r in wanted if r not in torch))]

    yield module, "get_distribution", find
    yield module, "require", need


def _runs(module: ModuleType, scope: Callable[[], Scope], in_scope: Callable[[], bool]) -> Iterator[Change]:
    """timeit, doctest and interactive consoles run source text for their caller."""

    def exec(source: Any, space: dict[str, Any], local: Any = None) -> None:
        if scope().names is not None and in_scope():
            if space is vars(module):
                space = {**space, "__builtins__": importer.SCOPED}
            space.setdefault("__builtins__", importer.SCOPED)
        builtins.exec(source, space, local)

    yield module, "exec", exec


def _puts_names(module: ModuleType, scope: Callable[[], Scope], in_scope: Callable[[], bool]) -> Iterator[Change]:
    """gettext puts ``_`` into the dict of ``builtins``."""
    install = module.NullTranslations.install

    @functools.wraps(install)
    def call(self: Any, names: Any = None) -> None:
        install(self, names)
        importer.refresh()

    yield module.NullTranslations, "install", call


def _loads(module: ModuleType, scope: Callable[[], Scope], in_scope: Callable[[], bool]) -> Iterator[Change]:
    """``ctypes`` opens libraries that link to libtorch, as after an import of PyTorch: what they lack is loaded once one fails."""
    plain = vars(module).get("_dlopen")
    if plain is None:
        return

    def _dlopen(name: Any, *flags: Any) -> Any:
        try:
            return plain(name, *flags)
        except OSError as error:
            lacks = str(error).partition(":")[0]
            if not lacks.startswith(("libtorch", "libc10")) or not os.path.exists(name) or not in_scope():
                raise
        importlib.import_module(f"{modules.ROOT}._impl.extensions.load").prepare(os.fspath(name))
        return plain(name, *flags)

    yield module, "_dlopen", functools.wraps(plain)(_dlopen)


CHANGES: dict[str, Give] = {
    **({"gettext": _puts_names} if sys.version_info < (3, 12) else {}),
    "pickle": _imports,
    **({"unittest.mock": _imports} if sys.version_info < (3, 11) else {}),
    "_pytest.outcomes": _imports,
    "_pytest.monkeypatch": _imports,
    "_pytest.assertion.rewrite": _rewriting,
    "pkg_resources": _resources,
    "pydoc": _imports,
    "lazy_loader": _imports,
    "timeit": _runs,
    "code": _runs,
    "ctypes": _loads,
    "doctest": _runs,
}
importer.for_callers.update(CHANGES)
