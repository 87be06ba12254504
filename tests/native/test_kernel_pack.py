"""Packs of compiled CUDA kernels: what is written is found again, and what is wrong with a pack is said and harms nothing."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from kernel_runs import line

from shim_torch._impl.extensions import kernel_pack
from shim_torch._impl.extensions.cuda_libraries import candidates
from shim_torch._impl.native import _core

ROOT = Path(__file__).resolve().parents[2]
HEAD, ENTRY = 64, 48
HOPPER = "attention_hopper ELEMENT=Half D=64 HOPPER=1"
CODES = [
    (line("sum"), 90, b"code of sum" * 100),
    (line("sum"), 80, b"code of sum on sm_80"),
    (line("prod"), 90, b"code of prod"),
    (HOPPER, 90, b"code for Hopper alone"),
]


@pytest.fixture
def pack(tmp_path):
    path = tmp_path / "kernels.pack"
    _core.kernel_pack_write(str(path), CODES)
    return path


def code(path, text, architecture):
    return _core.kernel_pack_code(str(path), text, architecture)


def test_what_is_written_is_found(pack):
    assert _core.kernel_pack_state(str(pack)) == ("", {80: 1, 90: 3})
    for text, architecture, bytes_ in CODES:
        assert code(pack, text, architecture) == bytes_
    assert code(pack, line("amax"), 90) == code(pack, line("prod"), 80) == b""


def test_code_runs_on_later_architectures_of_its_generation(pack):
    assert code(pack, line("sum"), 86) == code(pack, line("sum"), 89) == CODES[1][2]
    assert code(pack, line("sum"), 100) == code(pack, line("sum"), 75) == b""
    assert code(pack, HOPPER, 91) == b""


def test_no_pack(tmp_path):
    assert _core.kernel_pack_state("") == ("", {})
    assert "No such file" in _core.kernel_pack_state(str(tmp_path / "none"))[0]
    assert _core.kernel_pack_state(str(tmp_path))[0]
    with pytest.raises(RuntimeError, match="No such file"):
        _core.kernel_pack_write(str(tmp_path / "nowhere" / "kernels.pack"), CODES)


def test_an_empty_pack(tmp_path):
    _core.kernel_pack_write(str(tmp_path / "empty"), [])
    assert _core.kernel_pack_state(str(tmp_path / "empty")) == ("", {})
    assert code(tmp_path / "empty", line("sum"), 90) == b""


def test_every_changed_byte_is_seen(pack):
    good = pack.read_bytes()
    index = range(HEAD + ENTRY * len(CODES))
    for at in [*index, *range(len(index), len(good), 7)]:
        pack.write_bytes(good[:at] + bytes([good[at] ^ 0x41]) + good[at + 1 :])
        why, numbers = _core.kernel_pack_state(str(pack))
        assert bool(why) == (numbers == {}), at
        assert why or at not in index or HEAD - 24 <= at < HEAD, f"byte {at} was changed and nothing said"
        for text, architecture, bytes_ in CODES:
            assert code(pack, text, architecture) in (b"", bytes_)


@pytest.mark.parametrize("size", [0, 1, HEAD - 1, HEAD, HEAD + 1, HEAD + ENTRY, HEAD + 4 * ENTRY, -1])
def test_a_cut_pack(pack, size):
    pack.write_bytes(pack.read_bytes()[:size])
    assert _core.kernel_pack_state(str(pack))[0] and code(pack, *CODES[0][:2]) == b""


def fnv(data: bytes) -> int:
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value


@pytest.mark.parametrize(
    ("field", "value"), [(16, 2**63), (24, 2**63), (24, 2**64 - 1), (16, 0), (24, 10**6)]
)  # an entry's offset, its size
def test_an_index_that_leads_outside(pack, field, value):
    """With a checksum that is right: it was written so."""
    data = bytearray(pack.read_bytes())
    struct.pack_into("<Q", data, HEAD + ENTRY + field, value)
    struct.pack_into("<Q", data, 32, fnv(data[HEAD : HEAD + ENTRY * len(CODES)]))
    pack.write_bytes(data)
    assert "out of bounds" in _core.kernel_pack_state(str(pack))[0] and code(pack, *CODES[0][:2]) == b""


@pytest.mark.parametrize("count", [5, 2**32 - 1])
def test_a_number_of_entries_that_is_too_large(pack, count):
    data = bytearray(pack.read_bytes())
    struct.pack_into("<I", data, 12, count)
    pack.write_bytes(data)
    assert "damaged" in _core.kernel_pack_state(str(pack))[0]


def test_a_pack_of_other_sources(pack, monkeypatch):
    data = bytearray(pack.read_bytes())
    data[16] ^= 1
    pack.write_bytes(data)
    monkeypatch.setenv("SHIM_TORCH_KERNEL_PACK", str(pack))
    state = kernel_pack.pack_state()
    assert "other sources" in state["why"] and state["architectures"] == {} and state["path"] == str(pack)


RUN = "assert load(line('sum')) and load(line('prod')); say(_core.kernel_counts())"


def test_kernels_come_from_the_pack(store):
    path = str(store.folder / "kernels.pack")
    made = [(line(op), 90, f"code {op}".encode() + b"\0") for op in ("sum", "prod")]
    _core.kernel_pack_write(path, made)
    counts = store.run(RUN, SHIM_TORCH_KERNEL_PACK=path, SHIM_NVRTC_PATH="/nowhere")
    assert counts == {"pack": 2, "kept": 0, "compiled": 0, "ahead": 0} and not store.log()
    assert not list(store.cache.glob("kernels/*"))


def test_what_is_wrong_with_the_pack_is_compiled(store):
    path = store.folder / "kernels.pack"
    _core.kernel_pack_write(str(path), [(line("sum"), 90, b"for another driver"), (line("prod"), 90, b"code prod\0")])
    data = path.read_bytes()
    path.write_bytes(data.replace(b"code prod", b"code?prod"))
    counts = store.run(RUN, SHIM_TORCH_KERNEL_PACK=str(path))
    assert counts["compiled"] == 2
    path.write_bytes(data[:-1])
    assert store.run(RUN, SHIM_TORCH_KERNEL_PACK=str(path))["kept"] == 2


def test_the_installed_pack_is_found(tmp_path, monkeypatch):
    monkeypatch.delenv("SHIM_TORCH_KERNEL_PACK", raising=False)
    package = tmp_path / "shim_torch_kernels"
    package.mkdir()
    (package / "__init__.py").write_text("raise AssertionError('nothing is to be imported')")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert kernel_pack.pack() == ""
    (package / "kernels.pack").write_bytes(b"")
    assert kernel_pack.pack() == str(package / "kernels.pack")
    assert kernel_pack.places() == (str(package / "kernels.pack"), str(kernel_pack.TABLE))


@pytest.fixture
def nvrtc():
    found = [p for p in candidates("nvrtc") if os.path.exists(p)]
    if not found:
        pytest.skip("libnvrtc is not installed")
    return found[0]


@pytest.mark.slow
def test_the_tool_packs_what_nvrtc_compiles(nvrtc, tmp_path):
    """Each line of a table for each architecture, what is Hopper's for sm_90 alone; and the wheel holds the pack."""
    tool = ROOT / "tools" / "kernel_pack.py"
    if not tool.exists():
        pytest.skip("there is no source tree")
    hopper = "attention_hopper ELEMENT=Half KIND_HALF=1 D=64 TILES=1 CAUSAL=1 MASK=0 PAIRS=0 DROPS=0 HOPPER=1"
    table, path = tmp_path / "kernels.txt", tmp_path / "kernels.pack"
    table.write_text(f"# a table\n{hopper}\tone:0\n{line('sum')}\tone:1\n{line('prod')}\tone:2\n")
    command = [sys.executable, str(tool), "pack", str(path), "--table", str(table), "--architectures", "80", "90"]
    environment = {**os.environ, "SHIM_NVRTC_PATH": nvrtc, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert _core.kernel_pack_state(str(path)) == ("", {80: 2, 90: 3})
    for text in (line("sum"), line("prod"), hopper):
        compiled, log = _core.kernel_compile(text, 90, nvrtc)
        assert code(path, text, 90) == compiled and compiled.startswith(b"\x7fELF"), log
    table.write_text(f"{line('no_such_operation')}\tone:0\n")
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode != 0 and "no_such_operation" in done.stderr and "error" in done.stderr
