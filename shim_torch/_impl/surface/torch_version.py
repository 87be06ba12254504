"""``torch.__version__`` and its type."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.serialization.class_pickling import reduce_ex

DEFAULT = "2.13.0+shim"
_current = DEFAULT


class TorchVersion(str):
    """A version string ordered by PEP 440 among strings, sequences and Versions; equal to the same string alone.

    (torch.torch_version.TorchVersion.)
    """

    def _compare(self, other: Any, method: str) -> Any:
        from packaging.version import InvalidVersion, Version

        try:
            if isinstance(other, Version):
                converted = other
            elif isinstance(other, str):
                converted = Version(other)
            else:
                converted = Version(".".join(str(part) for part in other))
        except InvalidVersion:
            return getattr(str, method)(self, other)
        except TypeError:
            return NotImplemented
        return getattr(Version(str(self)), method)(converted)

    def __lt__(self, other: Any) -> Any:
        return self._compare(other, "__lt__")

    def __le__(self, other: Any) -> Any:
        return self._compare(other, "__le__")

    def __gt__(self, other: Any) -> Any:
        return self._compare(other, "__gt__")

    def __ge__(self, other: Any) -> Any:
        return self._compare(other, "__ge__")


TorchVersion.__module__ = "torch.torch_version"
TorchVersion.__reduce_ex__ = reduce_ex  # type: ignore[assignment, method-assign]


def current() -> TorchVersion:
    """What ``torch.__version__`` says."""
    return TorchVersion(_current)


def set_version(version: str | None) -> str:
    """Sets what ``torch.__version__`` says (None: the default); returns what it said before.

    Errors: ValueError for a version that is not PEP 440.
    """
    from packaging.version import InvalidVersion, Version

    global _current
    before = _current
    if version is not None:
        try:
            Version(version)
        except InvalidVersion:
            raise ValueError(f"version={version!r} is not a PEP 440 version, such as '2.13.0'") from None
    _current = version or DEFAULT
    import sys

    top = sys.modules.get("shim_torch")
    if top is not None and hasattr(top, "__version__"):
        top.__version__ = current()  # type: ignore[attr-defined]
    for name in ("shim_torch.version", "shim_torch.torch_version"):
        module = sys.modules.get(name)
        if module is not None:
            module.__version__ = current()  # type: ignore[attr-defined]
    return before
