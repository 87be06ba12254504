"""Compiled kernels are kept in folders of the user's own; what is damaged, or another user's, is not used."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from shim_torch._impl import native
from shim_torch._impl.native import _core

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make what is another user's")
SOMEBODY = 12345
OLD_UMASK = 0o022


@pytest.fixture(autouse=True)
def umask():
    old = os.umask(OLD_UMASK)
    yield
    os.umask(old)


def mode(path):
    return os.stat(path).st_mode & 0o7777


def test_folders_are_made_for_the_user_alone(tmp_path):
    folder = tmp_path / "a" / "b"
    assert _core.private_folder(str(folder)) == ""
    assert mode(folder) == mode(folder.parent) == 0o700


@pytest.mark.parametrize("before", [0o777, 0o770, 0o755, 0o710, 0o704])
def test_others_lose_every_right(tmp_path, before):
    os.chmod(tmp_path, before)
    assert _core.private_folder(str(tmp_path)) == "" and mode(tmp_path) == 0o700


def test_a_named_folder_may_be_read_by_others(tmp_path, monkeypatch):
    """SHIM_CACHE_DIR can be a folder for other things too; what is made in it is for the user alone."""
    monkeypatch.setenv("SHIM_CACHE_DIR", str(tmp_path))
    below = tmp_path / "kernels"
    below.mkdir(0o755)
    for folder, before, after in ((tmp_path, 0o755, 0o755), (tmp_path, 0o775, 0o700), (below, 0o755, 0o700)):
        os.chmod(folder, before)
        assert _core.private_folder(str(folder)) == "" and mode(folder) == after


def test_a_folder_for_everybody_stays_one(tmp_path):
    os.chmod(tmp_path, 0o1777)
    assert "everybody" in _core.private_folder(str(tmp_path)) and mode(tmp_path) == 0o1777


@as_root
def test_a_folder_of_another_user(tmp_path):
    os.chown(tmp_path, SOMEBODY, SOMEBODY)
    assert "another user's" in _core.private_folder(str(tmp_path))


@as_root
@pytest.mark.parametrize("below", ["", "kernels"])
def test_a_link_of_another_user(tmp_path, below):
    (tmp_path / "real").mkdir()
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "real")
    assert _core.private_folder(str(link / below)) == ""  # one's own link is followed
    os.chown(link, SOMEBODY, SOMEBODY, follow_symlinks=False)
    assert "link of another user's" in _core.private_folder(str(link / below))


def test_no_folder(tmp_path):
    (tmp_path / "file").write_text("")
    assert "file" in _core.private_folder(str(tmp_path / "file" / "below"))
    assert "file" in _core.private_folder(str(tmp_path / "file"))


def test_kept_and_found(tmp_path):
    folder = str(tmp_path / "kernels")
    assert _core.cache_kept(folder, "one", b"key") == b""
    _core.cache_keep(folder, "one", b"key", b"code\0" * 100_000)
    assert _core.cache_kept(folder, "one", b"key") == b"code\0" * 100_000
    assert mode(tmp_path / "kernels" / "one") == 0o600


def test_an_entry_for_something_else(tmp_path):
    _core.cache_keep(str(tmp_path), "one", b"key", b"code")
    assert _core.cache_kept(str(tmp_path), "one", b"another key") == b""
    assert not (tmp_path / "one").exists()


@pytest.mark.parametrize(
    "damage",
    [
        lambda d: d[:-1],
        lambda d: d[:10],
        lambda d: b"",
        lambda d: d + b"x",
        lambda d: d[:-1] + b"x",
        lambda d: b"\x7fELF" + d,
    ],
)
def test_a_damaged_entry_is_made_again(tmp_path, damage):
    entry = tmp_path / "one"
    _core.cache_keep(str(tmp_path), "one", b"key", b"code")
    good = entry.read_bytes()
    entry.write_bytes(damage(good))
    assert _core.cache_kept(str(tmp_path), "one", b"key") == b""
    assert not entry.exists() or entry.stat().st_size == 0
    _core.cache_keep(str(tmp_path), "one", b"key", b"code")
    assert entry.read_bytes() == good


def test_an_entry_that_is_a_link(tmp_path):
    elsewhere, folder = tmp_path / "elsewhere", tmp_path / "cache"
    _core.cache_keep(str(elsewhere), "one", b"key", b"code")
    folder.mkdir(0o700)
    (folder / "one").symlink_to(elsewhere / "one")
    assert _core.cache_kept(str(folder), "one", b"key") == b"" and not (folder / "one").is_symlink()
    (folder / "one").symlink_to(elsewhere / "two")
    _core.cache_keep(str(folder), "one", b"key", b"code")
    assert not (elsewhere / "two").exists() and _core.cache_kept(str(folder), "one", b"key") == b"code"


def test_an_entry_that_others_may_write_to(tmp_path):
    _core.cache_keep(str(tmp_path), "one", b"key", b"code")
    os.chmod(tmp_path / "one", 0o666)
    assert _core.cache_kept(str(tmp_path), "one", b"key") == b"" and not (tmp_path / "one").exists()


def test_what_a_killed_writer_left_is_removed(tmp_path):
    left = [tmp_path / name for name in ("old.tmp", "new.tmp", "old.cubin")]
    for path in left:
        path.write_text("")
        if "old" in path.name:
            os.utime(path, (0, 0))
    (tmp_path / "folder.tmp").mkdir()
    os.utime(tmp_path / "folder.tmp", (0, 0))
    _core.cache_sweep(str(tmp_path))
    assert sorted(f.name for f in tmp_path.iterdir()) == ["folder.tmp", "new.tmp", "old.cubin"]


WRITER = """
import sys
from shim_torch._impl.native import _core
for _ in range(200):
    _core.cache_keep(sys.argv[1], 'one', b'key', sys.argv[2].encode() * 10000)
    found = _core.cache_kept(sys.argv[1], 'one', b'key')
    assert len(found) == 10000 and len(set(found)) == 1, len(found)
"""


def python(code, *arguments):
    environment = {**os.environ, "PYTHONPATH": str(Path(native.__file__).parents[3])}
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_processes_write_the_same(tmp_path):
    for process in [python(WRITER, str(tmp_path), name) for name in "abc"]:
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors
    assert [f.name for f in tmp_path.iterdir()] == ["one"]


@as_root
def test_it_is_said_once(tmp_path):
    os.chown(tmp_path, SOMEBODY, SOMEBODY)
    code = f"from shim_torch._impl.native import _core\nfor i in range(3): _core.cache_keep({str(tmp_path)!r}, 'one', b'k', b'c'); print(_core.cache_kept({str(tmp_path)!r}, 'one', b'k'))"
    out, errors = python(code).communicate(timeout=60)
    assert out.split() == ["b''"] * 3
    assert errors.count("another user's") == 1 and not list(tmp_path.iterdir())
