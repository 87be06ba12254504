"""What is in force, and the layers that change the interpreter for it, each with its undo on an ExitStack."""

from __future__ import annotations

import os
import sys
from _thread import RLock  # threading's own, without the rest of it
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from importlib import import_module
from types import ModuleType

from shim_torch_proxy import adapters, child, hiding, importer, lookups, metadata, modules, pickling, reports, tools
from shim_torch_proxy.changes import set_all, set_for_a_while
from shim_torch_proxy.finder import ScopeFinder
from shim_torch_proxy.main_module import install_running, take_in
from shim_torch_proxy.scope import Scope

TYPE_CHECKING = False  # typing takes long to import, and only type checkers need it
if TYPE_CHECKING:
    from typing import Any


class Token:
    """One ``enable_torch_proxy`` call; gives back exactly that."""

    def __init__(self, scope: Scope, version: str | None = None, hidden: frozenset[str] = frozenset()) -> None:
        self.scope, self.hidden = scope, hidden
        self.version = version
        self.later = True  # for the whole process: nothing is loaded until torch, or what has an adapter, is imported

    def __repr__(self) -> str:
        return f"Token(scope={self.scope!r}, version={self.version!r}, hidden={self.hidden!r})"


_lock = RLock()
_entries: list[Token] = []
_layers: dict[str, ExitStack] = {}  # in the order of installation
_scope = Scope()  # immutable snapshot, replaced whole: readers take no lock
_exposed = 0
_displaced: dict[str, ModuleType] = {}  # by all that expose
_finder: ScopeFinder
_reported: set[str] = set()
_joined: set[str] = set()  # packages that code in scope imported and that cannot do without torch
_languages: set[str] = set()  # families of adapters whose language something in scope has begun to import
_running: set[str] = set()  # modules that were taken in while they were imported


def scope() -> Scope:
    """The union of what is enabled now."""
    return _scope


def entries() -> list[Token]:
    """The enable calls in force, oldest first."""
    return list(_entries)


def reported() -> list[str]:
    """Packages that were imported before their scope was enabled."""
    return sorted(_reported)


def enable(entry: Token, check: bool = True) -> Token:
    """Puts ``entry`` in force; ``check``: packages that cannot be found are warned of.

    Errors: RuntimeError when the whole process is asked for and PyTorch is imported, or for a second version of torch.
    """
    with _lock:
        if entry.scope.names is None and not _exposed:
            reports.refuse_beside_pytorch()
        reports.refuse_second_version(entry.version, _entries)
        if any(modules.is_torch(name) for name in list(sys.modules)):
            entry.later = False  # a None, or what a scope of the process put there: the finder would not be asked
        _entries.append(entry)
        try:
            _running.update(take_in(entry.scope.names or frozenset()))
            _reported.update(reports.imported(entry.scope, _scope))
            if check:
                reports.absent(entry.scope)
            _apply()
        except BaseException:
            _entries.remove(entry)
            _apply()
            raise
        return entry


def disable(entry: Token) -> None:
    """Takes ``entry`` back; one that is gone already is ignored."""
    with _lock:
        if entry in _entries:
            _entries.remove(entry)
            _apply()


def disable_name(name: str) -> None:
    """Takes one package out of the latest call that named it, whose token stands for what is left from now on."""
    with _lock:
        for entry in reversed(_entries):
            names = entry.scope.names
            if names is None or name not in names:
                continue
            if names == {name}:
                _entries.remove(entry)
            else:
                entry.scope = Scope(names - {name}, entry.scope.blocked)
            _apply()
            return


def join(package: str) -> None:
    """Takes a package into the scope, for as long as anything is enabled."""
    with _lock:
        if _entries and package not in _joined:
            _joined.add(package)
            _apply()


def _apply() -> None:
    global _scope
    total = Scope()
    for entry in _entries:
        total = total | entry.scope
    if not _entries:
        for remembered in (_joined, _languages, _running):
            remembered.clear()
    importer.whole_process = bool(_entries) and total.names is None
    names = None if total.names is None else adapters.closure(total.names | _joined)
    total = Scope(names, total.blocked)
    _scope = total
    wanted: dict[str, Callable[[ExitStack], None]] = {}
    if _entries:
        wanted["base"] = _install_base
        versions = [entry.version for entry in _entries if entry.version is not None]  # all the same
        if versions:
            wanted[f"version {versions[-1]}"] = lambda stack: _install_version(stack, versions[-1])
        wanted.update(hiding.layer(_entries, total.names is None, _caller_in_scope))
        if total.names is None and not _waiting():
            wanted["process"] = lambda stack: stack.enter_context(expose())
        main = total.names is not None and "__main__" in total.names
        if main or _running:
            wanted[f"running {main}"] = lambda stack: install_running(stack, main)
        for family in () if _waiting() else adapters.wanted(total.names):
            if family not in _languages and family not in sys.modules:
                continue
            wanted[f"adapter {family}"] = lambda stack, family=family: _install_adapter(stack, family)  # type: ignore[misc]
    for key in [key for key in reversed(_layers) if key not in wanted]:
        _layers.pop(key).close()
    for key, install in wanted.items():
        if key not in _layers:
            stack = ExitStack()  # the layer's own: what modules that come later get is taken back with it, too
            try:
                install(stack)
            except BaseException:
                stack.close()
                raise
            _layers[key] = stack


def _waiting() -> bool:
    """Whether the whole process is to get our torch once it asks for it."""
    return _scope.names is None and bool(_entries) and all(e.later for e in _entries if e.scope.names is None)


def _begin() -> None:
    """It asked."""
    with _lock:
        for entry in _entries:
            entry.later = False
        _apply()


def _language(family: str) -> None:
    """Something in scope begins to import Triton or its like: our torch is there before, with what it needs of it."""
    with _lock:
        _languages.add(family)
        if _waiting():
            _begin()
        else:
            _apply()


# A child forked while another thread enables would wait for that thread for ever.
os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)


def _caller_in_scope(depth: int = 2) -> bool:
    frame = importer.asking_frame(depth)
    if _scope.names is None:
        return frame is None or not _scope.blocks(frame.f_globals.get("__name__", ""))
    return frame is not None and (
        importer.frame_has_torch(frame)
        or ("__main__" in _scope.names and frame.f_globals.get("__name__") in ("__main__", "__mp_main__"))
    )


def _install_base(stack: ExitStack) -> None:
    global _finder
    _finder = own = ScopeFinder(scope, lambda: _exposed > 0, join, _waiting, _begin, _language)
    sys.meta_path.insert(0, own)  # type: ignore[arg-type]
    stack.callback(lambda: sys.meta_path.remove(own) if own in sys.meta_path else None)  # type: ignore[arg-type]
    importer.follow_builtins(stack)
    for owner, name, value in lookups.changes(scope, lambda depth: _caller_in_scope(depth + 1)):
        set_for_a_while(stack, owner, name, value)
    later = {
        **{name: lambda m, give=give: set_all(stack, give(m, scope, _ask)) for name, give in tools.CHANGES.items()},
        "inspect": lambda m: set_all(stack, lookups.inspecting(m)),
        **dict.fromkeys(
            ("importlib.metadata", "importlib_metadata"), lambda m: set_all(stack, metadata.answers(m, _ask))
        ),
        modules.ROOT: lambda m: modules.install_names(stack),
    }
    for name, install in later.items():
        if name in sys.modules:
            install(sys.modules[name])
        else:
            own.after[name] = install
    pickles = lambda module: set_all(stack, _of_processes(module))
    own.after_of = lambda name: pickles if pickling.is_one(name) else None
    for module in [
        module for name, module in list(sys.modules.items()) if module is not None and pickling.is_one(name)
    ]:
        pickles(module)


def _of_processes(module: ModuleType) -> Iterator[tuple[Any, str, Any]]:
    yield from pickling.changes(module, scope)
    yield from child.changes(module, for_children)


def for_children() -> list[tuple[Any, ...]]:
    """(names, blocked names, version, hidden names) of each call in force, as another process is to repeat it."""
    return [
        (None if e.scope.names is None else sorted(e.scope.names), sorted(e.scope.blocked), e.version, sorted(e.hidden))
        for e in list(_entries)
    ]


def _ask() -> bool:
    return _caller_in_scope(3)


def _install_version(stack: ExitStack, version: str) -> None:
    """Once our torch is loaded, which is not done for it."""

    def set_now() -> None:
        _version = import_module(f"{modules.ROOT}._impl.surface.torch_version")
        stack.callback(_version.set_version, _version.set_version(version))

    if modules.ROOT in sys.modules:
        return set_now()
    names = _finder.after[modules.ROOT]

    def loaded(module: ModuleType) -> None:
        names(module)
        set_now()

    _finder.after[modules.ROOT] = loaded
    stack.callback(_finder.after.__setitem__, modules.ROOT, names)
    return None


def _install_adapter(stack: ExitStack, family: str) -> None:
    adapter = adapters.load(family)
    if adapter is not None:
        _finder.after.update(getattr(adapter, "AFTER", {}))
        adapter.install(stack)


class expose:
    """Our torch in ``sys.modules``; what was there before is put back, the same objects.

    A class and no generator: a whole process's proxy is often never left, and a generator that the interpreter
    finalizes at its end, when the modules are gone, prints an error.
    """

    def __enter__(self) -> None:
        global _exposed
        with _lock:
            torch = modules.get("torch")
            there = {name: module for name, module in sys.modules.items() if modules.is_torch(name)}
            _displaced.update({n: module for n, module in there.items() if modules.loaded.get(n) is not module})
            for name in there:
                del sys.modules[name]
            sys.modules.update(modules.tree())
            sys.modules["torch"] = torch
            _exposed += 1

    def __exit__(self, *error: object) -> None:
        global _exposed
        with _lock:
            _exposed -= 1
            if _exposed:  # another one's modules stay
                return
            for name in [name for name in sys.modules if modules.is_torch(name)]:
                del sys.modules[name]
            sys.modules.update(_displaced)
            _displaced.clear()
