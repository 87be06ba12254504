"""No test uses a real PyTorch: where one is installed, importing it outside a scope of the proxy fails as if it were not."""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from typing import Any


class NoTorch:
    """A meta path finder that finds no torch."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name == "torch" or name.startswith("torch."):
            raise ModuleNotFoundError(f"No module named {name!r} (the tests run without PyTorch)", name=name)
        return None


sys.meta_path.insert(0, NoTorch())  # type: ignore[arg-type]
