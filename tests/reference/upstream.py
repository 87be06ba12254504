"""``python -m pytest -p upstream FILE``: PyTorch's own test files, unmodified, with this package as their torch.

PyTorch's wheels bring what its tests share, ``torch/testing/_internal``, and ``torchgen``. Both are served from the PyTorch
of the reference environment (``make test-reference`` makes it) or from the folder ``SHIM_TORCH_UPSTREAM_TESTING``, its
``torch/testing``: nothing else of that PyTorch is read. Test files must be of that PyTorch's version. Run it with ``tests/reference`` on ``PYTHONPATH``; ``expecttest`` must be installed.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

from compat import enable_torch_proxy

PREFIX = "torch.testing._internal"
ROOT = Path(__file__).resolve().parents[2]


def testing_folder() -> Path:
    """The folder ``torch/testing`` of a PyTorch: of the variable, else of the reference environment."""
    given = os.environ.get("SHIM_TORCH_UPSTREAM_TESTING")
    if given:
        return Path(given)
    python = os.environ.get("SHIM_TORCH_REFERENCE_PYTHON", str(ROOT / ".venv-reference" / "bin" / "python"))
    if not Path(python).exists():
        raise FileNotFoundError(f"there is no {python} (SHIM_TORCH_REFERENCE_PYTHON): make test-reference makes one")
    code = "import importlib.util as u; print(u.find_spec('torch').submodule_search_locations[0])"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True)
    return Path(done.stdout.strip()) / "testing"


class Finder:
    """Finds ``torch.testing._internal`` and its modules in that folder, ``torchgen`` beside its torch."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name == PREFIX or name.startswith(PREFIX + "."):
            file = self.folder.joinpath(*name.split(".")[2:])
        elif name == "torchgen" or name.startswith("torchgen."):
            file = self.folder.parents[1].joinpath(*name.split("."))
        else:
            return None
        if file.is_dir():
            return importlib.util.spec_from_file_location(
                name, file / "__init__.py", submodule_search_locations=[str(file)]
            )
        file = file.with_suffix(".py")
        return importlib.util.spec_from_file_location(name, file) if file.exists() else None


def serve(folder: Path) -> None:
    """From now on ``import torch`` is this package, with that PyTorch's ``torch.testing._internal``."""
    enable_torch_proxy()
    for name in [n for n in sys.modules if n == PREFIX or n.startswith(PREFIX + ".")]:
        del sys.modules[name]
    sys.meta_path.insert(0, Finder(folder))


serve(testing_folder())
