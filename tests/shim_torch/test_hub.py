"""torch.hub: folders, files over HTTP from a server of this process, repositories as GitHub serves them."""

from __future__ import annotations

import hashlib
import http.server
import io
import json
import os
import sys
import threading
import zipfile
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request

import pytest

import shim_torch as torch
from shim_torch import hub

HUBCONF = '''
dependencies = ["json"]
import beside

def scale(by=2.0, *, bias=0.0):
    """Multiplies."""
    return lambda x: x * by + bias + beside.nothing

def _hidden():
    pass

number = 3
'''


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(hub, "_hub_dir", str(tmp_path / "hub"))
    return tmp_path / "hub"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "repository"
    root.mkdir()
    (root / "hubconf.py").write_text(HUBCONF)
    (root / "beside.py").write_text("nothing = 0.0\n")
    return root


class Served(http.server.BaseHTTPRequestHandler):
    files: dict[str, bytes] = {}
    asked: list[str] = []

    def do_GET(self) -> None:
        type(self).asked.append(self.path)
        body = self.files.get(self.path.removesuffix("?x=1"))
        self.send_response(404 if body is None else 200)
        self.send_header("Content-Length", str(len(body or b"")))
        self.end_headers()
        self.wfile.write(body or b"")

    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture
def server() -> Any:
    Served.files, Served.asked = {}, []
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Served) as served:
        threading.Thread(target=served.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{served.server_port}"
        served.shutdown()


def test_folders(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(hub, "_hub_dir", None)
    for name in ("TORCH_HOME", "XDG_CACHE_HOME", "TORCH_HUB"):
        monkeypatch.delenv(name, raising=False)
    assert hub.get_dir() == os.path.expanduser("~/.cache/torch/hub")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert hub.get_dir() == str(tmp_path / "torch" / "hub")
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "home"))
    assert hub.get_dir() == str(tmp_path / "home" / "hub")
    hub.set_dir("~/elsewhere")
    assert hub.get_dir() == os.path.expanduser("~/elsewhere")
    monkeypatch.setenv("TORCH_HUB", "x")
    with pytest.warns(UserWarning, match="TORCH_HUB is deprecated"):
        hub.get_dir()


def test_names_that_timm_imports() -> None:
    from shim_torch.hub import HASH_REGEX, download_url_to_file, urlparse

    assert HASH_REGEX.search("resnet18-5c106cde.pth").group(1) == "5c106cde"
    assert callable(download_url_to_file) and urlparse("http://a/b").path == "/b"


def test_local(repository: Path) -> None:
    before = list(sys.path)
    model = hub.load(repository, "scale", 3.0, source="local", bias=1.0)
    assert torch.equal(model(torch.tensor([1.0, 2.0])), torch.tensor([4.0, 7.0]))
    assert sys.path == before


def test_local_errors(repository: Path) -> None:
    with pytest.raises(ValueError, match='Unknown source: "elsewhere"'):
        hub.load(str(repository), "scale", source="elsewhere")
    with pytest.raises(RuntimeError, match="Cannot find callable number in hubconf"):
        hub.load(str(repository), "number", source="local")
    with pytest.raises(ValueError, match="model should be a string of function name"):
        hub.load(str(repository), 3, source="local")
    (repository / "hubconf.py").write_text("dependencies = ['json', 'surely_not_here']\n")
    with pytest.raises(RuntimeError, match="Missing dependencies: surely_not_here"):
        hub.load(str(repository), "scale", source="local")
    with pytest.raises(FileNotFoundError):
        hub.load(str(repository / "nowhere"), "scale", source="local")


def test_download(server: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    content = os.urandom(300_000)
    Served.files["/file-1.bin"] = content
    digest = hashlib.sha256(content).hexdigest()
    hub.download_url_to_file(f"{server}/file-1.bin", str(tmp_path / "file"), digest[:8], progress=False)
    assert (tmp_path / "file").read_bytes() == content and capfd.readouterr().err == ""
    with pytest.raises(RuntimeError, match=r'invalid hash value \(expected "0{8}", got'):
        hub.download_url_to_file(f"{server}/file-1.bin", str(tmp_path / "other"), "0" * 8)
    assert "100" in capfd.readouterr().err
    with pytest.raises(HTTPError):
        hub.download_url_to_file(f"{server}/none", str(tmp_path / "other"), progress=False)
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_state_dict(server: str, folder: Path) -> None:
    state = {"weight": torch.randn(3, 4)}
    file = io.BytesIO()
    torch.save(state, file)
    content = file.getvalue()
    name = f"weights-{hashlib.sha256(content).hexdigest()[:8]}.pth"
    Served.files[f"/{name}"] = content
    for _ in range(2):  # the second time it is kept
        loaded = hub.load_state_dict_from_url(
            f"{server}/{name}?x=1", progress=False, check_hash=False, weights_only=True
        )
        assert torch.equal(loaded["weight"], state["weight"])
        Served.files.clear()
    assert (folder / "checkpoints" / name).exists()
    Served.files["/weights-00000000.pth"] = content
    with pytest.raises(RuntimeError, match="invalid hash value"):
        hub.load_state_dict_from_url(f"{server}/weights-00000000.pth", progress=False, check_hash=True)
    assert not (folder / "checkpoints" / "weights-00000000.pth").exists()


def test_state_dict_under_another_name(
    server: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = io.BytesIO()
    torch.save({"a": torch.ones(2)}, file)
    Served.files["/weights.pth"] = file.getvalue()
    address, place = f"{server}/weights.pth", tmp_path / "some" / "where"
    with pytest.raises(RuntimeError, match='expected "ffff"'):  # the digest is that of the given name
        hub.load_state_dict_from_url(address, str(place), progress=False, check_hash=True, file_name="w-ffff.pth")
    for name in ("w-ffff.pth", None):
        loaded = hub.load_state_dict_from_url(address, str(place), progress=False, check_hash=not name, file_name=name)
        assert loaded["a"].tolist() == [1.0, 1.0]
    assert sorted(p.name for p in place.iterdir()) == ["w-ffff.pth", "weights.pth"]
    assert f'Downloading: "{address}" to {place / "weights.pth"}\n' in capsys.readouterr().out
    monkeypatch.setenv("TORCH_MODEL_ZOO", "x")
    with pytest.warns(UserWarning, match="TORCH_MODEL_ZOO is deprecated") as caught:
        hub.load_state_dict_from_url(address, str(place), progress=False)
    assert caught[0].filename == __file__


def test_downloads_that_fail_leave_nothing(server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Served.files["/file.bin"] = b"x" * 10
    monkeypatch.setenv("HOME", str(tmp_path))
    hub.download_url_to_file(f"{server}/file.bin", "~/file", progress=False)
    with pytest.raises(FileNotFoundError, match="partial"):
        hub.download_url_to_file(f"{server}/file.bin", str(tmp_path / "none" / "file"), progress=False)
    with pytest.raises(RuntimeError, match="invalid hash value"):  # what was there stays
        hub.download_url_to_file(f"{server}/file.bin", str(tmp_path / "file"), "0" * 8, progress=False)
    assert [p.name for p in tmp_path.iterdir()] == ["file"] and (tmp_path / "file").read_bytes() == b"x" * 10


def test_state_dict_in_an_old_archive(server: str, folder: Path) -> None:
    inside, outside = io.BytesIO(), io.BytesIO()
    torch.save({"a": torch.arange(3)}, inside, _use_new_zipfile_serialization=False)
    with zipfile.ZipFile(outside, "w") as archive:
        archive.writestr("inner.pth", inside.getvalue())
    Served.files["/old.zip"] = outside.getvalue()
    with pytest.warns(FutureWarning, match="old format < 1.6"):
        loaded = hub.load_state_dict_from_url(f"{server}/old.zip", progress=False)
    assert loaded["a"].tolist() == [0, 1, 2]


@pytest.fixture
def github(server: str, folder: Path, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The repository someone/models, whose only branch is main, at this process's server instead of GitHub's."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as z:
        z.writestr("someone-models-abc/", "")
        for file in repository.iterdir():
            z.writestr(f"someone-models-abc/{file.name}", file.read_text())
    pages = "?per_page=100&page="
    branch = [{"name": "main", "commit": {"sha": "abc123"}}]
    Served.files.update(
        {
            "/someone/models/tree/main/": b"",
            "/someone/models/zipball/main": archive.getvalue(),
            f"/repos/someone/models/branches{pages}1": json.dumps(branch).encode(),
            f"/repos/someone/models/branches{pages}2": b"[]",
            f"/repos/someone/models/tags{pages}1": b"[]",
        }
    )
    real = hub.urlopen

    def elsewhere(what: Any) -> Any:
        url = what.full_url if isinstance(what, Request) else what
        return real(url.replace("https://api.github.com", server).replace("https://github.com", server))

    monkeypatch.setattr(hub, "urlopen", elsewhere)
    monkeypatch.setattr("builtins.input", lambda _: pytest.fail("was asked"))
    return folder


def test_repository(github: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    answers = iter(["", "maybe", "y"])
    monkeypatch.setattr("builtins.input", lambda text: next(answers) if "someone_models" in text else "")
    with pytest.raises(Exception, match="Untrusted repository"):
        hub.list("someone/models")
    with pytest.raises(ValueError, match="Unrecognized response maybe"):
        hub.list("someone/models")
    assert hub.list("someone/models") == ["scale"]
    assert sorted(p.name for p in github.iterdir()) == ["someone_models_main", "trusted_list"]
    assert "Downloading" in capfd.readouterr().out
    Served.asked.clear()
    assert hub.help("someone/models:main", "scale") == "Multiplies."  # kept and trusted: nothing is asked
    assert Served.asked == [] and "Using cache found in" in capfd.readouterr().err
    assert hub.load("someone/models:main", "scale", 5.0, verbose=False)(torch.ones(1)).item() == 5.0
    hub.load("someone/models", "scale", force_reload=True, skip_validation=True, trust_repo=True)
    assert "/someone/models/zipball/main" in Served.asked and not any("repos" in path for path in Served.asked)


def test_ref_of_a_fork(github: Path) -> None:
    with pytest.raises(ValueError, match="Cannot find deadbeef in https://github.com/someone/models"):
        hub.load("someone/models:deadbeef", "scale", trust_repo=True)


def test_archive_that_leaves_its_folder(github: Path, tmp_path: Path) -> None:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as z:
        z.writestr("someone-models-abc/hubconf.py", HUBCONF)
        z.writestr("../../out.py", "")
    Served.files["/someone/models/zipball/main"] = archive.getvalue()
    with pytest.raises(ValueError, match=r"'\.\./\.\./out.py' would be written outside"):
        hub.load("someone/models", "scale", trust_repo=True)
    assert not (tmp_path / "out.py").exists()
