"""``torch.export``: whole programs as graphs, which are not built here."""

from __future__ import annotations

from typing import Any

__all__ = ["Dim", "ExportedProgram", "dims", "export", "load", "register_dataclass", "save", "unflatten"]


class Dim:
    """A name for a dim that may vary."""

    AUTO, STATIC, DYNAMIC = "AUTO", "STATIC", "DYNAMIC"

    def __init__(self, name: str, *, min: int | None = None, max: int | None = None) -> None:
        if not name.isidentifier():
            raise ValueError(f"Dim name must be a valid identifier, got {name}")
        self.__name__, self.min, self.max = name, 0 if min is None else min, max
        if max is not None and max <= self.min:
            raise ValueError(f"Cannot create Dim with inconsistent min={min}, max={max}")


def dims(*names: str, min: int | None = None, max: int | None = None) -> tuple[Dim, ...]:
    """Several Dims."""
    return tuple(Dim(n, min=min, max=max) for n in names)


class ExportedProgram:
    """The type of exported programs; there are none."""

    def __init__(self, *_: Any, **__: Any) -> None:
        _refuse("ExportedProgram")


def _refuse(name: str) -> Any:
    raise NotImplementedError(f"torch.export.{name} is not supported by shim-torch: programs are not traced")


def export(mod: Any, args: Any, kwargs: Any = None, **_: Any) -> ExportedProgram:
    """Raises NotImplementedError."""
    return _refuse("export")


def draft_export(*_: Any, **__: Any) -> Any:
    """Raises NotImplementedError."""
    return _refuse("draft_export")


def save(*_: Any, **__: Any) -> None:
    """Raises NotImplementedError."""
    _refuse("save")


def load(*_: Any, **__: Any) -> Any:
    """Raises NotImplementedError."""
    return _refuse("load")


def unflatten(*_: Any, **__: Any) -> Any:
    """Raises NotImplementedError."""
    return _refuse("unflatten")


def register_dataclass(cls: type, *, serialized_type_name: str | None = None) -> None:
    """Makes a dataclass a container of its fields."""
    from shim_torch.utils import _pytree

    _pytree.register_dataclass(cls, serialized_type_name=serialized_type_name)
