"""Libraries of PyTorch's C++ ABI that were refused, and what is registered for the operators that they would define.

A package's Python code registers gradients and fake kernels for its library's operators, often outside of the ``try``
that it loads the library in. Such registrations are kept until somebody defines the operator, and do nothing before.
"""

from __future__ import annotations

import mmap
import re
from collections.abc import Callable

_paths: list[str] = []
_answers: dict[tuple[str, int], bool] = {}
_kept: dict[str, list[Callable[[], object]]] = {}


def refuse(path: str) -> None:
    """Notes that a library was refused."""
    if path not in _paths:
        _paths.append(path)


def owns(namespace: str) -> bool:
    """Whether a library that was refused would define operators of a namespace: it holds the name as a string."""
    if not _paths:
        return False
    key = namespace, len(_paths)
    if key not in _answers:
        _answers[key] = any(_holds(path, namespace) for path in _paths)
    return _answers[key]


def _holds(path: str, namespace: str) -> bool:
    pattern = re.compile(rb"(?<![A-Za-z0-9_])" + re.escape(namespace.encode()) + rb"(?:\0|::)")
    try:
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return pattern.search(content) is not None
    except (OSError, ValueError):  # gone, or empty
        return False


def keep(qualified: str, register: Callable[[], object]) -> None:
    """Keeps a registration for ``ns::name`` until the operator is defined."""
    _kept.setdefault(qualified, []).append(register)


def defined(qualified: str) -> None:
    """Does the registrations that were kept for an operator."""
    for register in _kept.pop(qualified, ()):
        register()


def kept(qualified: str) -> int:
    """How many registrations wait for an operator."""
    return len(_kept.get(qualified, ()))
