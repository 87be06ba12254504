"""A core that is missing, or built for another Python, says so."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from shim_torch._impl import native

SOURCE = Path(native.__file__)
PLACE = SOURCE.parents[3]


# As a Python started by this name calls itself: since 3.12 without the ".." that a relative path leaves in ours.
NAME = subprocess.run(
    [sys.executable, "-c", "import sys; print(sys.executable)"], capture_output=True, text=True, check=True
).stdout.strip()


def load(folder: Path, before: str = "") -> str:
    done = subprocess.run([sys.executable, "-c", f"{before}import native"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 1
    return done.stderr.strip().splitlines()[-1]


def test_no_core_for_this_python(tmp_path):
    (tmp_path / "native").mkdir()
    shutil.copy(SOURCE, tmp_path / "native")
    text = load(tmp_path)
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    assert text.startswith("ImportError: shim-torch's C++ core is not built for cpython " + version)
    assert "(there is none in " in text and f"{NAME} -m pip install shim-torch" in text
    (tmp_path / "native" / "_core.cpython-39-x86_64-linux-gnu.so").write_bytes(b"")
    assert "found only _core.cpython-39-x86_64-linux-gnu.so" in load(tmp_path)


def test_free_threaded_python_is_refused(tmp_path):
    (tmp_path / "native").mkdir()
    shutil.copy(SOURCE, tmp_path / "native")
    text = load(tmp_path, "import sys; sys.abiflags = 't'; ")  # what such a build says of itself
    assert text.startswith("ImportError: shim-torch needs a Python with a global interpreter lock, and ")
    assert f"{NAME} is free-threaded" in text

    sources = Path(__file__).parents[2] / "native" / "src"  # an installed package has none
    command = [shutil.which("c++") or "g++", "-E", "-std=c++20", "-DPy_GIL_DISABLED", f"-I{sources}"]
    command += [f"-I{sysconfig.get_paths()['include']}", str(sources / "python" / "module.cpp"), "-o", os.devnull]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode and "shim-torch needs a Python with a global interpreter lock" in done.stderr


def test_a_core_that_does_not_load_says_why(tmp_path):
    import importlib.machinery

    (tmp_path / "native").mkdir()
    shutil.copy(SOURCE, tmp_path / "native")
    (tmp_path / "native" / f"_core{importlib.machinery.EXTENSION_SUFFIXES[0]}").write_bytes(b"no shared object")
    text = load(tmp_path)
    assert text.startswith("ImportError: ") and "_core" in text and "not built" not in text


# A library that says it needs an x86-64 level that no processor has, as the linker notes it down.
NOTE = r"""
__asm__(".section .note.gnu.property,\"a\",@note\n.p2align 3\n"
        ".long 4, 16, 5\n.asciz \"GNU\"\n.long 0xc0008002, 4, 0x40000000, 0\n.previous\n");
"""


@pytest.mark.skipif(platform.machine() != "x86_64" or not sys.platform.startswith("linux"), reason="levels of x86-64")
def test_a_core_for_better_processors_says_what_to_do(tmp_path):
    import importlib.machinery

    (tmp_path / "native").mkdir()
    shutil.copy(SOURCE, tmp_path / "native")
    core = tmp_path / "native" / f"_core{importlib.machinery.EXTENSION_SUFFIXES[0]}"
    (tmp_path / "note.c").write_text(NOTE)
    subprocess.run([shutil.which("cc") or "gcc", "-shared", "-o", core, tmp_path / "note.c"], check=True)
    text = load(tmp_path)
    if "does not define module export function" in text:
        pytest.skip("this C library does not look at levels")
    assert text.startswith("ImportError: shim-torch's C++ core in ") and "x86-64-v3" in text
    assert "--config-settings=cmake.define.SHIM_X86_64_LEVEL=1" in text


@pytest.mark.parametrize("loaded", [True, False])
def test_a_subinterpreter_is_refused(loaded):
    """Its threads and types would be the main interpreter's: using torch there came to a standstill."""
    name = "_interpreters" if sys.version_info >= (3, 13) else "_xxsubinterpreters"
    pytest.importorskip(name)
    program = f"""
import {name} as interpreters
{"import shim_torch" if loaded else ""}
inner = '''
import sys
sys.path.insert(0, {str(PLACE)!r})
try:
    import shim_torch
except ImportError as error:
    print("refused:", error, flush=True)
'''
interpreters.run_string(interpreters.create(), inner)
import shim_torch
print((shim_torch.ones(1) + 1).item())
"""
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, cwd=PLACE)
    assert found.stdout.splitlines()[-1:] == ["2.0"], found.stderr
    assert "refused:" in found.stdout and (
        "main interpreter" in found.stdout or "loading in subinterpreters" in found.stdout
    )
