"""``torch.package``: archives of code, which are not supported."""

from __future__ import annotations

from typing import Any


def is_from_package(obj: Any) -> bool:
    """Whether something came from a package: no."""
    return False


class PackageImporter:
    """Reads an archive: NotImplementedError."""

    def __init__(self, *_: Any, **__: Any) -> None:
        raise NotImplementedError("torch.package.PackageImporter is not supported by shim-torch")


class PackageExporter:
    """Writes an archive: NotImplementedError."""

    def __init__(self, *_: Any, **__: Any) -> None:
        raise NotImplementedError("torch.package.PackageExporter is not supported by shim-torch")
