"""``torch.version.cuda`` where there is a toolkit and no GPU."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from shim_torch._impl import native

INSTALLED = str(Path(native.__file__).parents[3])  # the source tree may have no compiled core


def test_without_a_gpu_the_toolkit_tells_the_version(tmp_path):
    header = tmp_path / "include" / "cuda.h"
    header.parent.mkdir()
    header.write_text("#define __CUDA_H__\n#define CUDA_VERSION 12090\n")
    code = (
        "import shim_torch as torch; from shim_torch._impl.extensions import cuda_toolkit as t; "
        "print(t.toolkit_version(), torch.version.cuda if not torch.cuda.is_available() else t.toolkit_version())"
    )

    def said():
        environment = {**os.environ, "CUDA_HOME": str(tmp_path), "PYTHONPATH": INSTALLED}
        return subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True
        ).stdout.split()

    assert said() == ["None", "None"]  # headers alone compile nothing
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "nvcc").touch()
    assert said() == ["12.9", "12.9"]
    header.write_text("nothing")
    assert said() == ["None", "None"]
