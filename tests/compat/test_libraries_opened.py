"""``ctypes.CDLL`` of a library that links to libtorch, which PyTorch's import would have loaded."""

import shutil
import subprocess
import sys

import pytest

from shim_torch._impl.native import stand_ins

COMPILER = shutil.which("c++")
OPENS = "import ctypes\n\n\ndef answer(path):\n    return ctypes.CDLL(str(path)).answer()\n"
START = """
import os, sys
from compat import enable_torch_proxy
path = sys.argv[1]
sys.path.append(os.path.dirname(path))
"""
PROGRAM = """
enable_torch_proxy({"opens_in_scope"})
import opens_in_scope, opens_outside
try:
    opens_outside.answer(path)
except OSError as error:
    print(str(error).split(":")[0])
print(opens_in_scope.answer(path))
"""

pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler")


@pytest.fixture(scope="module")
def linked(tmp_path_factory):
    folder = tmp_path_factory.mktemp("linked")
    (folder / "answer.cpp").write_text('extern "C" int answer() { return 42; }\n')
    for name in ("opens_in_scope", "opens_outside"):
        (folder / f"{name}.py").write_text(OPENS)
    path = folder / "libanswer.so"
    options = ["-shared", "-fPIC", "-Wl,--no-as-needed", f"-L{stand_ins.folder()}", "-lc10", "-ltorch_cpu"]
    subprocess.run([COMPILER, str(folder / "answer.cpp"), "-o", str(path), *options], check=True)
    return path


def run(program, path):
    command = [sys.executable, "-c", START + program, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_code_in_scope_opens_it(linked):
    assert run(PROGRAM, linked) == ["libc10.so", "42"]


def test_the_whole_process_opens_it(linked):
    program = "enable_torch_proxy()\nimport opens_outside\nprint(opens_outside.answer(path))"
    assert run(program, linked) == ["42"]


GIVEN_BACK = """
import ctypes
from compat import disable_torch_proxy
before = ctypes._dlopen
token = enable_torch_proxy()
import opens_outside
try:
    print(ctypes._dlopen is before)
    opens_outside.answer(path + ".absent")
except OSError as error:
    print("absent: cannot open" in str(error))
finally:
    disable_torch_proxy(token)
print(ctypes._dlopen is before)
"""


def test_other_failures_stay_and_ctypes_is_given_back(linked):
    assert run(GIVEN_BACK, linked) == ["False", "True", "True"]
