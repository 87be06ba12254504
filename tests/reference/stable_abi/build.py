"""Run with a Python that has PyTorch: builds the extension with its headers and stores what it prints there.

``python build.py FOLDER`` leaves ``extension.so`` and ``stable_abi.txt`` in FOLDER.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def main(folder: Path) -> None:
    import torch

    home = Path(torch.__file__).parent
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / "extension.so"
    compiler = shutil.which("c++") or shutil.which("g++")
    if compiler is None:
        raise SystemExit("no C++ compiler")
    command = [compiler, "-std=c++20", "-O1", "-shared", "-fPIC", "-fvisibility=hidden", str(HERE / "extension.cpp")]
    command += ["-DTORCH_TARGET_VERSION=0x020d000000000000", f"-I{home}/include", "-o", str(target)]
    subprocess.run([*command, "-Wl,--no-as-needed", f"-L{home}/lib", "-ltorch", "-ltorch_cpu", "-lc10"], check=True)
    done = subprocess.run(
        [sys.executable, str(HERE / "program.py"), str(target)], stdout=subprocess.PIPE, text=True, check=True
    )
    (folder / "stable_abi.txt").write_text(done.stdout)
    print(f"stable ABI: {len(done.stdout.splitlines())} lines")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
