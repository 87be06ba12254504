"""tools/kernel_pack.py: recordings become the table of what the pack holds."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

TOOL = Path(__file__).resolve().parents[1] / "tools" / "kernel_pack.py"


@pytest.fixture(scope="module")
def tool():
    if not TOOL.exists():
        pytest.skip("there is no source tree")
    spec = importlib.util.spec_from_file_location("kernel_pack_tool", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def recording(folder, name, *lines):
    path = folder / f"{name}.txt"
    path.write_text("".join(line + "\n" for line in lines))
    return path


def test_recordings_are_merged_in_order(tool, tmp_path):
    first = recording(tmp_path, "one-float32", "sort KEYS=16", "cat", "sort KEYS=16", "add V=4")
    second = recording(tmp_path, "two-float32", "add V=4")
    table = tool.merged({}, [first, second])
    assert table == {
        "add V=4": {"one-float32": 2, "two-float32": 0},
        "cat": {"one-float32": 1},
        "sort KEYS=16": {"one-float32": 0},
    }
    assert list(table) == sorted(table)


def test_a_new_recording_replaces_the_workloads_old_one(tool, tmp_path):
    old = {"add V=4": {"one": 0}, "cat": {"one": 1, "two": 0}}
    table = tool.merged(old, [recording(tmp_path, "one", "sort KEYS=16")])
    assert table == {"cat": {"two": 0}, "sort KEYS=16": {"one": 0}}


def test_the_table_is_read_as_it_was_written(tool, tmp_path):
    table, path = {"add V=4": {"one-x": 2, "two": 0}, "cat": {"one-x": 1}}, tmp_path / "kernels.txt"
    tool.write(table, path)
    assert tool.read(path) == table and path.read_text().startswith("# ")
    assert tool.read(tmp_path / "none") == {}
    assert tool.read(tool.TABLE), "the committed table is empty"


@pytest.mark.parametrize(("size", "tiles"), [(64, 2), (128, 1)])
def test_what_hopper_has_is_recorded_for_the_others_too(tool, tmp_path, size, tiles):
    text = f"attention_hopper ELEMENT=Bf16 KIND_HALF=0 D={size} TILES=1 CAUSAL=1 MASK=0 PAIRS=0 DROPS=1 HOPPER=1"
    plain = f"attention ELEMENT=Bf16 D={size} TILES={tiles} CAUSAL=1 MASK=0 DROPS=1"
    table = tool.merged({}, [recording(tmp_path, "one", "cat", text)])
    assert table == {plain: {"one": 1}, text: {"one": 1}, "cat": {"one": 0}}
    assert tool.elsewhere(plain) is None
