"""The commands of ``python -m compat``, one module each."""

from __future__ import annotations

import os
import sys


def program() -> str:
    """What the user typed to get here, for usage and error messages: ``shim-torch`` or ``python -m compat``."""
    called = sys.argv[0] if sys.argv else ""
    if os.path.basename(called) in ("shim-torch", "shim-torch.exe"):
        return "shim-torch"
    if os.path.join("shim_torch_proxy", "__main__.py") in called:
        return "python -m shim_torch_proxy"
    return "python -m compat"
