"""What the records say whose modules are imported late: asked of the records themselves (``tools/records.py``)."""

import os
import subprocess
from pathlib import Path

TOOL = Path(__file__).resolve().parents[1] / "records.py"


def rows():
    """The table of rows, as ``tools/records.py`` prints it."""
    command = [os.environ["SHIM_TORCH_PYTHON"], str(TOOL), "--print"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


FILES = {"shim_torch/_impl/data/records.py": rows}
