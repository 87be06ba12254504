"""Gives named packages a module called ``torch`` where PyTorch is not installed (or beside it).

    from shim_torch_proxy import enable_torch_proxy
    enable_torch_proxy(scope={"liger_kernel"})       # before the first import of the package

Which torch a module gets is decided by the importing module. A module loaded in a scope keeps our torch after the scope
is disabled, in lazy imports too; modules loaded later do not get it.

Import statements, ``__import__``, importlib, pkgutil, pickle, unittest.mock, pytest's ``importorskip`` and the metadata of
distributions all give code in scope our torch, and give all other code what it would get without us. Extension modules in
scope import ours from C, too.

Where no PyTorch is installed, a scope also covers the requirements of its packages that use torch, and packages that
their code imports and that need torch (transformers imports torchao if installed); ``blocked`` keeps a package out.
"""

from __future__ import annotations

import sys
from contextlib import ContextDecorator

from shim_torch_proxy import finder, hook, importer, modules, reports
from shim_torch_proxy.hook import Token
from shim_torch_proxy.reports import TorchProxyWarning
from shim_torch_proxy.scope import ScopeLike, parse, parse_names, parse_version

TYPE_CHECKING = False  # typing takes long to import, and only type checkers need it
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "Token",
    "TorchProxyWarning",
    "disable_torch_proxy",
    "enable_torch_proxy",
    "torch_proxy",
    "torch_proxy_status",
]


def enable_torch_proxy(
    scope: ScopeLike = None, *, blocked: ScopeLike = (), version: str | None = None, hidden: ScopeLike = ()
) -> Token:
    """Gives the packages of ``scope`` our torch from their next import on.

    ``scope``: None for the whole process; a package name or a set of them (sub-modules are included; ``"__main__"`` is
    the running script). ``blocked``: packages or sub-modules kept out. ``version``: what ``torch.__version__`` and the
    metadata of torch say (default ``2.13.0+shim``). ``hidden``: packages that are absent for code in scope, as if they were
    not installed (a torchvision that was built for PyTorch's C++ ABI). Calls add up: each needs its own ``disable_torch_proxy(scope)``.

    Returns a token, which ``disable_torch_proxy`` takes too.
    Errors: TypeError and ValueError for what names no package or version; RuntimeError for the whole process when PyTorch is
    imported already, and for a second version. Warns (TorchProxyWarning) for a package that was imported before, or that is not found.
    """
    return hook.enable(Token(parse(scope, blocked), parse_version(version), parse_names(hidden, "hidden")))


def disable_torch_proxy(scope: ScopeLike | Token = None) -> None:
    """Undoes ``enable_torch_proxy``: of one token, of one call for each name of ``scope``, or (None) of all calls.

    With the last one gone, the interpreter is as it was before. Names that are not enabled are ignored.
    """
    if isinstance(scope, Token):
        return hook.disable(scope)
    if scope is None:
        for entry in reversed(hook.entries()):
            hook.disable(entry)
        return None
    for name in parse_names(scope, "scope"):
        hook.disable_name(name)
    return None


class torch_proxy(ContextDecorator):
    """``with torch_proxy(scope): …`` or ``@torch_proxy(scope)``; arguments as ``enable_torch_proxy``."""

    def __init__(
        self, scope: ScopeLike = None, *, blocked: ScopeLike = (), version: str | None = None, hidden: ScopeLike = ()
    ) -> None:
        self._scope, self._version = parse(scope, blocked), parse_version(version)
        self._hidden = parse_names(hidden, "hidden")
        self._tokens: list[Token] = []

    def __enter__(self) -> Token:
        self._tokens.append(hook.enable(Token(self._scope, self._version, self._hidden)))
        return self._tokens[-1]

    def __exit__(self, *exc: object) -> None:
        hook.disable(self._tokens.pop())


def torch_proxy_status() -> dict[str, Any]:
    """What is enabled and what was asked for.

    Keys: ``enabled`` (a list of scopes, None: the process), ``scope`` (their union with what they imply), ``blocked``, ``hidden``,
    ``already_imported``, ``modules`` (torch module -> loads), ``missing`` ((name, requester) -> count), ``unsupported``
    (the same, for names that PyTorch has), ``native_importers`` (extension modules
    whose imports from C are answered with ours), ``bypassed`` (modules in scope that were loaded past us and have no torch of ours), ``slow``
    (counters of slow paths), ``declined`` (operator -> {why its native kernel left a call to the slower body: how often}),
    ``compile`` (of functions given to torch.compile: calls, operators deferred and run at once and why, graph breaks),
    ``failed_kernels`` (CUDA kernels that could not be compiled or loaded: ``kernel``, ``macros``, ``architecture``, ``log``),
    ``native`` (whether the C++ core is loaded).
    """
    total = hook.scope()
    names = sys.modules.get("shim_torch._impl.surface.missing")
    backends = sys.modules.get("shim_torch._impl.arrays")
    core = sys.modules.get("shim_torch._impl.native._core")
    compiled = sys.modules.get("shim_torch._impl.compile.calls")
    return {
        "enabled": [None if e.scope.names is None else sorted(e.scope.names) for e in hook.entries()],
        "scope": None if total.names is None else sorted(total.names),
        "blocked": sorted(total.blocked),
        "hidden": sorted(importer.hidden),
        "already_imported": hook.reported(),
        "modules": dict(modules.requests),
        "missing": {**modules.missing, **dict(getattr(names, "absent", {}))},
        "unsupported": dict(getattr(names, "unsupported", {})),
        "native_importers": sorted(finder.native_importers),
        "bypassed": reports.bypassed(total, hook.reported()),
        "slow": dict(getattr(backends, "counters", {}) or {}),
        "compile": compiled.status() if compiled else {},
        "declined": core.operator_declines() if core else {},
        "failed_kernels": core.failed_kernels() if core else [],
        "native": core is not None,
    }
