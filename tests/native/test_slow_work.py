"""Compilations and loads that take longer than two seconds say so on a terminal, and nowhere else."""

from __future__ import annotations

import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import shim_torch

pytestmark = pytest.mark.slow
INSTALLED = str(Path(shim_torch.__file__).parents[1])
SLOW_NVRTC = """
#include <stddef.h>
#include <string.h>
#include <unistd.h>
int nvrtcVersion(int* major, int* minor) { *major = 13; *minor = 0; return 0; }
int nvrtcCreateProgram(void** p, const char* s, const char* n, int h, const char* const* a, const char* const* b) { *p = p; return 0; }
int nvrtcCompileProgram(void* p, int n, const char* const* options) { usleep(SLEEP * 1000); return 0; }
int nvrtcGetCUBINSize(void* p, size_t* n) { *n = 5; return 0; }
int nvrtcGetCUBIN(void* p, char* to) { strcpy(to, "code"); return 0; }
int nvrtcGetProgramLogSize(void* p, size_t* n) { *n = 0; return 0; }
int nvrtcGetProgramLog(void* p, char* to) { return 0; }
int nvrtcDestroyProgram(void** p) { return 0; }
"""


@pytest.fixture
def compiler():
    found = shutil.which("cc") or shutil.which("gcc")
    if found is None:
        pytest.skip("needs a C compiler")
    return found


def shown(code: str, terminal: bool = True, **variables: str) -> str:
    """What a program writes to its stderr, a terminal or a pipe."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([INSTALLED, os.environ.get("PYTHONPATH", "")]),
        "TERM": "xterm",
        **variables,
    }
    if not terminal:
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stderr
    ours, theirs = pty.openpty()
    process = subprocess.Popen([sys.executable, "-c", code], env=environment, stderr=theirs)
    os.close(theirs)
    text = b""
    try:
        while block := os.read(ours, 4096):
            text += block
    except OSError:  # how a pseudo-terminal says that its other end is closed
        pass
    os.close(ours)
    assert process.wait() == 0, text
    return text.decode()


WORK = """
import time
from shim_torch._impl.extensions.slow_work import slow_work
with slow_work("compiling x") as say:
    time.sleep({first})
    say("compiling x: part 2 of 2")
    time.sleep({second})
"""


def test_work_of_two_seconds_is_said_on_a_terminal():
    assert shown(WORK.format(first=2.4, second=0.3)) == (
        "\r\x1b[Kshim-torch: compiling x...\r\x1b[Kshim-torch: compiling x: part 2 of 2...\r\x1b[K"
    )
    assert shown(WORK.format(first=1.2, second=1.2)) == "\r\x1b[Kshim-torch: compiling x: part 2 of 2...\r\x1b[K"


def test_short_work_and_other_outputs_are_left_alone():
    assert shown(WORK.format(first=0.1, second=0.1)) == ""
    assert shown(WORK.format(first=2.4, second=0.1), terminal=False) == ""


def test_a_terminal_that_takes_no_line_back():
    assert shown(WORK.format(first=2.3, second=0.1), TERM="dumb").splitlines() == [
        "shim-torch: compiling x...", "shim-torch: compiling x: part 2 of 2..."
    ]  # fmt: skip


def test_a_child_that_is_forked_meanwhile_ends():
    code = """
import os, signal
from shim_torch._impl.extensions.slow_work import slow_work
with slow_work("x") as say:
    child = os.fork()
    if not child:
        signal.alarm(20)  # a child that waits for a thread which it does not have
    say("y")
if not child:
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
"""
    assert shown(code) == ""


def test_kernels(tmp_path, compiler):
    """One long program; and short programs, which take long together. They are counted."""
    code = "from shim_torch._impl.native import _core\nfor op in {ops}:\n    assert _core.cuda_compile_pointwise({path!r}, op, _core.float32, _core.float32, _core.float32, 1, True, 90) == ''\n"
    for sleep in (600, 2300):
        path = tmp_path / f"libnvrtc_{sleep}.so"
        (tmp_path / "nvrtc.c").write_text(SLOW_NVRTC)
        subprocess.run(
            [compiler, "-w", f"-DSLEEP={sleep}", "-shared", "-fPIC", str(tmp_path / "nvrtc.c"), "-o", str(path)],
            check=True,
        )
    text = shown(code.format(ops=["exp", "log", "neg", "sin"], path=str(tmp_path / "libnvrtc_600.so")))
    assert "programs done" not in text.partition("3 programs done")[0]
    assert "compiling CUDA kernels: elementwise, 3 programs done..." in text
    text = shown(code.format(ops=["exp"], path=str(tmp_path / "libnvrtc_2300.so")))
    assert text == "\r\x1b[Kshim-torch: compiling CUDA kernels: elementwise...\r\x1b[K"


def test_a_library_that_loads_slowly(tmp_path, compiler):
    (tmp_path / "slow.c").write_text(
        "#include <unistd.h>\n__attribute__((constructor)) static void wait(void) { usleep(2300000); }\n"
    )
    library = tmp_path / "slow_library.so"
    subprocess.run([compiler, "-shared", "-fPIC", str(tmp_path / "slow.c"), "-o", str(library)], check=True)
    text = shown(f"import shim_torch\nshim_torch.ops.load_library({str(library)!r})")
    assert "shim-torch: loading slow_library.so..." in text


def test_an_extension_that_builds_slowly(tmp_path, compiler):
    slow = tmp_path / "slow-c++"
    slow.write_text(f'#!/bin/sh\nsleep 2.3\nexec {shutil.which("c++")} "$@"\n')
    slow.chmod(0o755)
    (tmp_path / "main.cpp").write_text('extern "C" int f() { return 1; }\n')
    code = (
        "from shim_torch.utils import cpp_extension\n"
        f"cpp_extension.load('ext', [{str(tmp_path / 'main.cpp')!r}], build_directory={str(tmp_path)!r}, is_python_module=False)\n"
    )
    assert "shim-torch: compiling extension 'ext' (1 source)..." in shown(code, CXX=str(slow))


def test_triton_kernels():
    """Triton's compiler, over a backend that takes long; it compiles one kernel, then another, which fails."""
    pytest.importorskip("triton")
    code = """
import time
from shim_torch_proxy import enable_torch_proxy
enable_torch_proxy({"triton"})
import triton, triton.language as tl
from triton.compiler import compiler
assert triton.compile is compiler.compile
plain = triton.compile.__wrapped__.__globals__
class Source:
    name = "first"
def slow(target):
    time.sleep(2.3)
    raise RuntimeError("of the backend")
plain["make_backend"] = slow
for name in ("first", "second"):
    Source.name = name
    try:
        triton.compile(Source(), target=triton.backends.compiler.GPUTarget("cuda", 90, 32))
    except RuntimeError as error:
        assert str(error) == "of the backend", error
    else:
        raise AssertionError
    from shim_torch_proxy.adapters.triton import compiling
    compiling._done += 1
"""
    text = shown(code)
    assert (
        "shim-torch: compiling Triton kernels: first..." in text
        and "shim-torch: compiling Triton kernels: second, 1 done..." in text
    )
