"""Which modules get our torch, decided by their names alone."""

from __future__ import annotations

TYPE_CHECKING = False  # typing takes long to import, and only type checkers need it
if TYPE_CHECKING:
    from typing import TypeAlias


ScopeLike: TypeAlias = "None | str | frozenset[str] | set[str] | list[str] | tuple[str, ...]"

OURS = frozenset({"torch", "functorch", "shim_torch", "shim_torch_linear", "shim_torch_proxy", "compat"})


class Scope:
    """The modules that get our torch. ``names`` None: every module of the process."""

    __slots__ = ("blocked", "names")

    def __init__(self, names: frozenset[str] | None = frozenset(), blocked: frozenset[str] = frozenset()) -> None:
        self.names, self.blocked = names, blocked

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Scope) and (self.names, self.blocked) == (other.names, other.blocked)

    def __hash__(self) -> int:
        return hash((self.names, self.blocked))

    def __repr__(self) -> str:
        return f"Scope(names={self.names!r}, blocked={self.blocked!r})"

    def covers(self, module: str) -> bool:
        """Whether ``module`` gets our torch: its closest named parent decides; blocked wins a tie."""
        while module:
            if module in self.blocked:
                return False
            if self.names is not None and module in self.names:
                return True
            module = module.rpartition(".")[0]
        return self.names is None

    def blocks(self, module: str) -> bool:
        """Whether ``module`` is kept out by name."""
        while module:
            if module in self.blocked:
                return True
            if self.names is not None and module in self.names:
                return False
            module = module.rpartition(".")[0]
        return False

    def __or__(self, other: Scope) -> Scope:
        names = None if self.names is None or other.names is None else self.names | other.names
        return Scope(names, self.blocked | other.blocked)


def parse_names(value: ScopeLike, what: str) -> frozenset[str]:
    """The names of a ``scope=`` or ``blocked=`` argument.

    Errors: TypeError for what is neither a name nor a collection of names; ValueError for a name that is no module's.
    """
    names = (value,) if isinstance(value, str) else value
    if not isinstance(names, (tuple, list, set, frozenset)):
        raise TypeError(f"{what}: expected None, a package name or a set of names, got {type(value).__name__}")
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"{what}: expected package names, got {name!r} of type {type(name).__name__}")
        if not name or not all(part.isidentifier() for part in name.split(".")):
            raise ValueError(f"{what}: {name!r} is not a module name; use the import name, such as 'liger_kernel'")
        if name.partition(".")[0] in OURS:
            raise ValueError(f"{what}: {name!r} cannot be named; name the package that imports torch")
    return frozenset(names)


def parse_version(value: str | None) -> str | None:
    """A ``version=`` argument. Errors: TypeError for no string; ValueError for one that is not PEP 440."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise TypeError(f"version: expected None or a string such as '2.13.0', got {type(value).__name__}")
    from packaging.version import InvalidVersion, Version

    try:
        Version(value)
    except InvalidVersion:
        raise ValueError(f"version={value!r} is not a PEP 440 version, such as '2.13.0'") from None
    return value


def parse(scope: ScopeLike, blocked: ScopeLike = ()) -> Scope:
    """The Scope that the public functions' arguments describe. Errors: as ``parse_names``; ValueError if empty."""
    names = None if scope is None else parse_names(scope, "scope")
    if names is not None and not names:
        raise ValueError("scope: the set is empty; name the packages that should get torch, or pass None for all")
    return Scope(names, parse_names(blocked, "blocked"))
