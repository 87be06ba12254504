"""What weak references give while another thread lets go of the last reference is whole, or nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("last_references.py")


@pytest.mark.parametrize("what", ["an_object", "an_object_of_a_storage", "a_storage", "a_ctx", "a_leaf"])
def test_a_last_reference_goes_while_another_is_taken(what):
    done = subprocess.run([sys.executable, PROGRAM, what, "1.5"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    assert int(done.stdout)  # the threads did meet
