"""What is said about a call that cannot do all it says, and about modules that it does not reach."""

from __future__ import annotations

import importlib.machinery
import sys
import warnings
from collections.abc import Iterable
from types import ModuleType

from shim_torch_proxy import adapters, finder, importer, requirements
from shim_torch_proxy.main_module import MAIN
from shim_torch_proxy.scope import Scope

TYPE_CHECKING = False  # typing takes long to import, and only type checkers need it
if TYPE_CHECKING:
    from typing import Any


class TorchProxyWarning(UserWarning):
    """A scope that cannot do all it says."""


def refuse_beside_pytorch() -> None:
    """Errors: RuntimeError where PyTorch is imported, and the whole process is asked for."""
    if requirements.is_pytorch(sys.modules.get("torch")):
        raise RuntimeError(
            "enable_torch_proxy(scope=None): PyTorch is already imported in this process; name the packages that "
            "should get ours (scope={'package'}), or enable before anything imports torch"
        )


def refuse_second_version(version: str | None, entries: Iterable[Any]) -> None:
    """Errors: RuntimeError where one of the calls in force gave torch another version."""
    for other in entries:
        if version is not None and other.version not in (None, version):
            names = "the whole process" if other.scope.names is None else ", ".join(sorted(other.scope.names))
            raise RuntimeError(
                f"enable_torch_proxy(version={version!r}): torch has version {other.version!r} for {names}, and there is one "
                f"torch in a process; give both the same version, or disable the other scope first"
            )


def bypassed(scope: Scope, reported: Iterable[str]) -> list[str]:
    """Modules in scope that were loaded past us (by a finder before ours, or a loader called by hand) and have no torch of ours."""
    found = []
    for name, module in list(sys.modules.items()):
        known = name in MAIN or any(
            name == p or name.startswith(f"{p}.") for p in (*reported, *finder.native_importers)
        )
        if known or scope.names is None or not scope.covers(name) or not isinstance(module, ModuleType):
            continue
        if (
            str(getattr(module, "__file__", None)).endswith(".py")
            and vars(module).get("__builtins__") is not importer.SCOPED
        ):
            found.append(name)
    return sorted(found)


def imported(asked: Scope, present: Scope) -> list[str]:
    """The packages that ``asked`` adds to ``present`` too late, because they were imported before. Warns of those named."""
    found = []
    for name in sorted(adapters.closure(asked.names) or ()):
        module = sys.modules.get(name)
        if module is None or name in MAIN or vars(module).get("__builtins__") is importer.SCOPED:
            continue
        if present.names is not None and present.covers(name):
            continue
        found.append(name)
        if asked.names is not None and name not in asked.names and "torch" not in vars(module):
            continue  # implied only: status lists it, its adapter says what is too late
        warnings.warn(
            f"{name} was imported before enable_torch_proxy named it: the code it has already loaded keeps the torch "
            f"it found (or none). Call enable_torch_proxy before the first import of {name}.",
            TorchProxyWarning,
            stacklevel=4,
        )
    return found


def absent(asked: Scope) -> None:
    """Warns of names for which there is no package or module: most likely they are mistyped."""
    for name in sorted(asked.names or ()):
        if name not in MAIN and not _is_found(name):
            warnings.warn(
                f"enable_torch_proxy(scope={name!r}): there is no module {name!r} on sys.path; it gets our torch once there is. "
                f"Use the import name of the package (liger_kernel, not liger-kernel)",
                TorchProxyWarning,
                stacklevel=4,
            )


def _is_found(name: str) -> bool:
    """Whether a module can be found; no package is imported for it."""
    if name in sys.modules:
        return True
    parent, _, _ = name.rpartition(".")
    if not parent:
        finders = [f for f in list(sys.meta_path) if hasattr(f, "find_spec") and not isinstance(f, finder.ScopeFinder)]
        return any(f.find_spec(name, None) is not None for f in finders)
    if not _is_found(parent):
        return False
    if parent in sys.modules:
        path = getattr(sys.modules[parent], "__path__", None)
    else:
        spec = importlib.machinery.PathFinder.find_spec(parent)
        if spec is None or "." in parent:
            return True  # not looked for any deeper
        path = spec.submodule_search_locations
    return path is not None and importlib.machinery.PathFinder.find_spec(name, path) is not None
