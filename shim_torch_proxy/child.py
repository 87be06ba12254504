"""Child processes get the scopes of their parent: multiprocessing's always, others where ``compat run`` announces them.

The announcement is in the environment. A child reads it in ``child_site/sitecustomize.py``, which ``site`` imports.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import ModuleType

from shim_torch_proxy.scope import Scope

TYPE_CHECKING = False  # typing takes long to import, and only type checkers need it
if TYPE_CHECKING:
    from typing import Any

    from shim_torch_proxy.hook import Token

VARIABLE = "SHIM_TORCH_SCOPES"
_OWN = os.path.dirname(os.path.abspath(__file__))
FOLDER = os.path.dirname(_OWN)  # what sys.path has to name for us to be found
SITE = os.path.join(_OWN, "child_site")
KEY = "shim_torch_scopes"


class Scopes:
    """Travels in multiprocessing's preparation data; unpickling it in the child enables the scopes there."""

    def __init__(self, entries: list[tuple[Any, ...]]) -> None:
        self.entries = entries

    def __reduce__(self) -> tuple[Any, ...]:
        # The child's sys.path is not set up yet when it reads this.
        source = (
            f"import sys\nif {FOLDER!r} not in sys.path: sys.path.append({FOLDER!r})\n"
            f"from shim_torch_proxy.child import adopt\nadopt({self.entries!r})\n"
        )
        return exec, (source,)


def adopt(entries: Iterable[Sequence[Any]]) -> list[Token]:
    """Enables the parent's scopes that are not enabled here."""
    from shim_torch_proxy import hook

    here, made = hook.for_children(), []
    for names, blocked, version, hidden in entries:
        if (names, blocked, version, hidden) not in here:
            scope = Scope(None if names is None else frozenset(names), frozenset(blocked))
            made.append(hook.enable(hook.Token(scope, version, frozenset(hidden)), check=False))
    return made


_inherited: list[Token] = []


def _other_places() -> list[str]:
    """The entries of PYTHONPATH other than ours."""
    return [place for place in os.environ.get("PYTHONPATH", "").split(os.pathsep) if place and place != SITE]


def announce() -> None:
    """Writes the enabled scopes into the environment, for Python programs that this one starts."""
    import json

    from shim_torch_proxy import hook

    state = {
        "python": [sys.implementation.cache_tag, os.path.realpath(sys.prefix)],
        "folder": FOLDER,
        "scopes": hook.for_children(),
    }
    os.environ[VARIABLE] = json.dumps(state)
    os.environ["PYTHONPATH"] = os.pathsep.join([SITE, *_other_places()])


def inherit(entries: Iterable[Sequence[Any]]) -> None:
    """Enables what the environment announces."""
    _inherited.extend(adopt(entries))


def leave() -> None:
    """Disables the inherited scopes, and removes the announcement from the environment."""
    from shim_torch_proxy import hook

    while _inherited:
        hook.disable(_inherited.pop())
    if os.environ.pop(VARIABLE, None) is not None:
        if places := _other_places():
            os.environ["PYTHONPATH"] = os.pathsep.join(places)
        else:
            os.environ.pop("PYTHONPATH", None)


def changes(module: ModuleType, entries: Callable[[], list[tuple[Any, ...]]]) -> Iterator[tuple[Any, str, Any]]:
    """``get_preparation_data`` with the scopes added, where a module (multiprocessing.spawn, loky's) defines it."""
    import functools

    original: Any = vars(module).get("get_preparation_data")
    if original is None or original.__module__ != module.__name__:
        return

    @functools.wraps(original)
    def get_preparation_data(*args: Any, **kwargs: Any) -> dict[str, Any]:
        data = original(*args, **kwargs)
        found = entries()
        # Unpickled first, before the child imports its main module.
        return {KEY: Scopes(found), **data} if found else data

    yield module, "get_preparation_data", get_preparation_data
