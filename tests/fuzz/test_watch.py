"""What the fuzz target for files sees of a load: side effects, and tensors that hold what their file does not."""

import io
import os
import subprocess
import sys
from pathlib import Path

import file_contents
import pytest

import shim_torch as torch

HERE = Path(__file__).resolve().parent
PROGRAM = """
import ctypes, os, subprocess, sys
sys.path.insert(0, {here!r})
import file_contents
watch = file_contents.Watch({path!r})
open({path!r}, "wb").close()
watch.armed = True
try:
    {does}
except (ImportError, OSError):
    pass
watch.armed = False
print(*(seen.split()[0] for seen in watch.seen))
"""


@pytest.mark.parametrize(
    "does, seen",
    [
        ("os.system('true')", "os.system"),
        ("subprocess.run(['true'])", "subprocess.Popen"),
        ("open({path!r} + '2', 'w')", "open"),
        ("open({path!r}, 'r+b')", "open"),
        ("os.open({path!r} + '3', os.O_CREAT | os.O_WRONLY)", "open"),
        ("open('/etc/passwd')", "open"),
        ("import antigravity", "import"),
        ("eval('1 + 1')", "compile"),
        ("os.remove({path!r})", "os.remove"),
        ("ctypes.CDLL(None)", "ctypes.dlopen"),
        ("open({path!r}, 'rb')", None),
        ("pow(2, 3)", None),
    ],
)
def test_side_effects(tmp_path, does, seen):
    path = str(tmp_path / "file")
    program = PROGRAM.format(here=str(HERE), path=path, does=does.format(path=path))
    environment = {**os.environ, "BROWSER": "true"}  # antigravity opens a page
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment)
    assert seen in done.stdout.split() if seen else done.stdout == "\n"


def test_bytes_of_elsewhere():
    file = io.BytesIO()
    torch.save(torch.arange(100), file)
    data = file.getvalue()
    loaded = torch.load(io.BytesIO(data))
    assert file_contents.fault(loaded, data, torch) is None
    assert "not in the file" in file_contents.fault(loaded + 1, data, torch)
    freed = torch.arange(100)
    freed.untyped_storage().resize_(80)
    assert "past its storage" in file_contents.fault(freed, data, torch)


def test_valid_files_are_read():
    found = file_contents.files(torch)
    assert len(found) > 25
    for name, data in found:
        for t in file_contents.tensors_in(torch.load(io.BytesIO(data)), torch):
            assert file_contents.fault(t, data, torch) is None, name
            file_contents.read(t, torch)


def test_nested_values_are_found():
    a, b = torch.ones(1), torch.zeros(2)
    value = {"x": [a, (b, a)], a: torch.nn.Parameter(b)}
    value["self"] = value
    assert len(list(file_contents.tensors_in(value, torch))) == 3
