"""The command line, each command as a user calls it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import zipfile
from importlib.machinery import PathFinder
from pathlib import Path

import packaging
import pytest

import shim_torch_proxy


def test_run_is_as_python_runs(tmp_path, python):
    script = tmp_path / "script.py"
    (tmp_path / "beside.py").write_text("import torch\nOURS = torch.OURS\n")
    script.write_text(
        "import sys, torch, beside, scoped_lib\n"
        "print(torch.OURS, beside.OURS, sys.argv[1:], __file__ == sys.argv[0], __name__,"
        " sys.modules['__main__'].sys is sys)\n"
        "sys.exit(7)\n"
    )
    done = python(["-m", "compat", "run", str(script), "a", "--b"], "shim", "libs")
    assert done.stdout.strip() == "True True ['a', '--b'] True __main__ True" and done.returncode == 7, done.stderr


def test_run_with_scope_and_module(tmp_path, python):
    script = tmp_path / "script.py"
    script.write_text(
        "import torch, outsider, scoped_lib\nprint(torch.OURS, outsider.torch, scoped_lib.statement().OURS)\n"
    )
    done = python(["-m", "compat", "run", "--scope", "scoped_lib", str(script)], "shim", "libs")
    assert done.stdout.strip() == "True None True", done.stderr
    for scope in ([], ["--scope", "scoped_lib"]):
        done = python(["-m", "compat", "run", *scope, "-m", "scoped_lib"], "shim", "libs")
        assert done.stdout.strip() == "main True", done.stderr
    done = python(["-m", "compat", "run"], "shim")
    assert done.returncode == 2 and done.stderr.rstrip().endswith("required: target")
    done = python(["-m", "compat", "run", "nowhere.py"], "shim")
    assert done.returncode == 2 and "nowhere.py" in done.stderr


@pytest.fixture
def run(tmp_path, python):
    """``run(*arguments)``: a finished ``python -m compat run`` in a folder with one of each kind of program."""
    (tmp_path / "script.py").write_text(
        "'Doc.'\nimport sys, torch\nnumber: int = 3\n"
        "print(torch.OURS, sys.argv, __annotations__, __doc__, __builtins__ == sys.modules['builtins'])\n"
        "if 'fail' in sys.argv:\n    raise ValueError('of the script')\n"
    )
    (tmp_path / "package" / "empty").mkdir(parents=True)
    (tmp_path / "package" / "__init__.py").write_text("")
    (tmp_path / "package" / "empty" / "__init__.py").write_text("")
    (tmp_path / "package" / "__main__.py").write_text("import torch, sys\nprint(torch.OURS, __name__, sys.argv[1:])\n")
    with zipfile.ZipFile(tmp_path / "program.pyz", "w") as archive:
        archive.writestr("__main__.py", "import torch, sys\nprint(torch.OURS, __name__, sys.argv)\n")

    def call(*arguments: str) -> subprocess.CompletedProcess[str]:
        return python(["-m", "compat", "run", *arguments], "shim", "libs", cwd=tmp_path)

    return call


@pytest.mark.parametrize("scope", [(), ("--scope", "scoped_lib")])
def test_run_takes_what_python_takes(run, scope):
    done = run(*scope, "script.py", "--version", "-m")
    assert done.stdout.strip() == "True ['script.py', '--version', '-m'] {'number': <class 'int'>} Doc. True", (
        done.stderr
    )
    assert run(*scope, "-m", "package", "-c").stdout.strip() == "True __main__ ['-c']"
    assert run(*scope, "package", "x").stdout.strip() == "True __main__ ['x']"
    assert run(*scope, "program.pyz", "x").stdout.strip() == "True __main__ ['program.pyz', 'x']"
    done = run(*scope, "-c", "import torch, sys; print(torch.OURS, sys.argv)", "-m", "x")
    assert done.stdout.strip() == "True ['-c', '-m', 'x']", done.stderr


def test_run_fails_as_python_fails(run):
    done = run("script.py", "fail")
    assert done.returncode == 1 and done.stderr.startswith("Traceback (most recent call last):\n")
    assert "compat" not in done.stderr and 'script.py", line 6, in <module>' in done.stderr
    for arguments, text in [
        (("-m", "nothing"), "No module named nothing"),
        (("-m", "package.empty"), "'package.empty' is a package and cannot be directly executed"),
        (("package/empty",), "can't find '__main__' module in 'package/empty'"),
        (("-c", "def f(:"), "SyntaxError: invalid syntax"),
    ]:
        done = run(*arguments)
        assert done.returncode == 1 and text in done.stderr and "compat/" not in done.stderr, done.stderr
    done = run("-c", "import sys; sys.exit('words')")
    assert done.returncode == 1 and done.stderr == "words\n"


@pytest.mark.parametrize("scope", [(), ("--scope", "test_one,test_two")])
def test_run_pytest_with_workers(tmp_path, python, scope):
    pytest.importorskip("xdist")
    for name in ("one", "two"):
        (tmp_path / f"test_{name}.py").write_text(
            "import os, torch\ndef test_ours():\n    assert torch.OURS and os.environ['PYTEST_XDIST_WORKER']\n"
        )
    (tmp_path / "conftest.py").write_text("" if scope else "import torch\nassert torch.OURS\n")
    arguments = ["-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider", str(tmp_path)]
    done = python(["-m", "compat", "run", *scope, *arguments], "shim", cwd=tmp_path)
    assert done.returncode == 0 and "2 passed" in done.stdout, done.stdout + done.stderr


def test_run_reads_standard_input():
    done = subprocess.run(
        [sys.executable, "-m", "compat", "run", "-", "x"], input="import torch, sys\nprint(sys.argv, torch.__version__)\n",
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.stdout.strip() == "['-', 'x'] 2.13.0+shim", done.stderr


def test_run_a_module_of_torch():
    done = subprocess.run(
        [sys.executable, "-m", "compat", "run", "-m", "torch.utils.collect_env"], capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0 and "numpy" in done.stdout, done.stderr


def test_scan_takes_distributions_and_parts_of_packages(tmp_path, python):
    package, info = tmp_path / "site" / "part_of", tmp_path / "site" / "dist_of_it-1.0.dist-info"
    (package / "inner").mkdir(parents=True)
    info.mkdir()
    (package / "__init__.py").write_text("raise RuntimeError('imported')\n")
    (package / "inner" / "__init__.py").write_text("import torch\ntorch.gone\n")
    (package / "broken.py").write_text("import torch\ndef f(:\n")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: dist-of.it\nVersion: 1.0\n")
    (info / "top_level.txt").write_text("part_of\n")
    for target, files, unread in [("dist_of-it", 3, 1), ("part_of", 3, 1), ("part_of.inner", 1, 0)]:
        done = python(["-m", "compat", "scan", target, "--json"], "shim", str(tmp_path / "site"))
        result = json.loads(done.stdout)
        assert (result["files"], result["unreadable"], result["missing"]) == (files, unread, ["torch.gone"]), (
            done.stderr
        )
    done = python(["-m", "compat", "scan", "part_of.nothing"], "shim", str(tmp_path / "site"))
    assert done.returncode == 2 and "install it" in done.stderr


def test_scan_names_what_is_missing(tmp_path, python):
    (tmp_path / "m.py").write_text(
        "import torch\nimport torch.nn.functional as F\nfrom torch import nn\nfrom torch.utils import nothing\n"
        "torch.Tensor\nF.linear()\nF.gone()\nnn.Module\ntorch.ops.a.b()\n"
    )
    done = python(["-m", "compat", "scan", str(tmp_path), "--json"], "shim")
    assert json.loads(done.stdout)["missing"] == [
        "torch.nn.Module",
        "torch.nn.functional.gone",
        "torch.utils.nothing",
    ]
    assert done.returncode == 1
    done = python(["-m", "compat", "scan", "not_installed_anywhere"], "shim")
    assert done.returncode == 2 and "install it" in done.stderr


def test_scan_of_one_file(tmp_path, python):
    import tarfile

    for name, text in [
        ("page.txt", "no Python"), ("data.json", '{"a": 1}'), ("empty", ""), ("program", "import torch\ntorch.gone"),
        ("script.sh", "#!/usr/bin/env python3\nimport torch\ntorch.gone"), ("other.sh", "#!/bin/sh\nls"),
    ]:  # fmt: skip
        (tmp_path / name).write_text(text)
    (tmp_path / "image.png").write_bytes(b"\x89PNG\r\n\x00\x00")
    with tarfile.open(tmp_path / "source.tar.gz", "w:gz") as archive:
        (tmp_path / "m.py").write_text("import torch\ntorch.gone")
        archive.add(tmp_path / "m.py", "source-1/m.py")
    targets = [str(tmp_path / name) for name in sorted(p.name for p in tmp_path.iterdir())]
    code = "import sys\nfrom shim_torch_proxy.cli import scan\nprint([scan.main(target, False) for target in sys.argv[1:]])"
    done = python(["-c", code, *targets], "shim")
    found = dict(zip([t.rpartition("/")[2] for t in targets], json.loads(done.stdout.splitlines()[-1]), strict=True))
    assert [name for name, status in found.items() if status == 1] == ["m.py", "program", "script.sh", "source.tar.gz"]
    assert {status for name, status in found.items() if status != 1} == {2} and done.stderr.count("neither Python") == 5


def test_doctor(python):
    done = python(["-m", "compat", "doctor", "--json"], "shim")
    assert json.loads(done.stdout)["shim_torch"] == "ok, torch.__version__ 2.13.0+shim" and done.returncode == 0


def test_doctor_where_something_is_missing_or_broken(tmp_path, python):
    for name, text in [("numpy", "raise ImportError('broken')"), ("torch", "raise RuntimeError('imported')")]:
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(text)
    (tmp_path / "torch" / "version.py").write_text("")  # a PyTorch, then
    (tmp_path / "numpy-2.0.dist-info").mkdir()  # a broken NumPy, and no folder of the user's
    info = tmp_path / "shim_torch-0.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: shim-torch\nVersion: 0.1\nRequires-Dist: packaging<2\nRequires-Dist: gone_x>=3\n"
        "Requires-Dist: gone_y; extra == 'test'\nRequires-Dist: pytest>=1\n"
    )
    done = python(["-m", "compat", "doctor"], str(tmp_path))
    assert done.returncode == 1 and "does not import: ImportError" in done.stdout, done.stderr
    for line in [
        "numpy ml_dtypes",
        "pip install 'gone_x>=3'\n",
        "pip install 'packaging<2', not ",
        "PyTorch is installed",
    ]:
        assert line in done.stdout, done.stdout
    assert "gone_y" not in done.stdout and "pytest" not in done.stdout


def test_provide_satisfies_pip_and_is_never_importable(tmp_path):
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
    binary = str(venv / "bin" / "python")
    installed = Path(shim_torch_proxy.__file__).parents[1]  # what lies beside is not to be seen: pip would list it
    for package in (installed / "compat", installed / "shim_torch_proxy", Path(packaging.__file__).parent):
        shutil.copytree(package, tmp_path / "ours" / package.name)

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [binary, *arguments], capture_output=True, text=True, cwd=tmp_path,
            env={"PYTHONPATH": str(tmp_path / "ours"), "PATH": "/usr/bin:/bin", "PIP_NO_INDEX": "1", "PYTHONDONTWRITEBYTECODE": "1"},
        )  # fmt: skip

    code = "import sys; from shim_torch_proxy.cli import provide; from pathlib import Path; import sysconfig; "
    code += "provide.write(Path(sysconfig.get_path('purelib')), '2.13.0+shim')"
    done = run("-c", code)
    assert done.returncode == 0, done.stderr
    assert "torch" in run("-m", "pip", "list").stdout
    done = run("-m", "pip", "install", "--dry-run", "torch>=2.1.2")
    assert done.returncode == 0 and "already satisfied" in done.stdout, done.stderr
    assert run("-m", "pip", "check").returncode == 0
    done = run("-c", "import torch")
    assert done.returncode == 1 and "No module named 'torch'" in done.stderr
    assert run("-c", code).returncode == 0  # again is harmless
    vision = next(venv.glob("lib/python3*/site-packages")) / "vision-1.0.dist-info"
    vision.mkdir()
    (vision / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: vision\nVersion: 1.0\nRequires-Dist: torch==2.14.0\n"
    )
    assert "vision 1.0 has requirement torch==2.14.0" in run("-m", "pip", "check").stdout
    assert (
        "provide --version 2.14.0 (pip check: vision asks for torch==2.14.0)" in run("-m", "compat", "provide").stdout
    )
    done = run("-m", "compat", "provide", "--version", "2.14.0")
    assert done.returncode == 0 and "vision" not in done.stdout, done.stderr
    assert run("-m", "pip", "check").returncode == 0
    assert run("-m", "compat", "provide", "--remove").returncode == 0
    assert run("-m", "pip", "install", "--dry-run", "torch").returncode != 0
    assert run("-c", code).returncode == 0 and run("-m", "pip", "uninstall", "-y", "torch").returncode == 0
    assert "torch" not in run("-m", "pip", "list").stdout


def test_provide_leaves_a_real_one_alone(tmp_path):
    from shim_torch_proxy.cli import provide

    info = tmp_path / "torch-2.0.0.dist-info"
    info.mkdir()
    (info / "INSTALLER").write_text("pip\n")
    with pytest.raises(FileExistsError, match="left alone"):
        provide.write(tmp_path, "2.13.0")
    assert provide.remove(tmp_path) == [] and info.is_dir()


def test_provide_leaves_an_importable_one_alone_and_nothing_half_done(tmp_path, monkeypatch):
    from shim_torch_proxy.cli import provide

    source, folder = tmp_path / "source", tmp_path / "site"
    source.mkdir()
    folder.mkdir()
    (source / "torch.py").write_text("")
    with monkeypatch.context() as patch:
        patch.syspath_prepend(source)
        patch.setattr(sys, "meta_path", [PathFinder])  # the tests' own finder refuses torch
        with pytest.raises(FileExistsError, match="a module torch is importable here .*torch.py.*left alone"):
            provide.write(folder, "2.13.0")
    assert list(folder.iterdir()) == []
    first = provide.write(folder, "2.6.0")
    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", lambda *_: (_ for _ in ()).throw(PermissionError(13, "Permission denied")))
        with pytest.raises(PermissionError):
            provide.write(folder, "2.13.0")
    assert list(folder.iterdir()) == [first] and (first / "RECORD").exists()
    second = provide.write(folder, "2.13.0+shim")
    assert list(folder.iterdir()) == [second] == provide.remove(folder) and list(folder.iterdir()) == []


def test_provide_says_who_may_write(monkeypatch, capsys):
    from shim_torch_proxy.cli import provide

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied", "site-packages")

    monkeypatch.setattr(provide, "write", refuse)
    assert provide.main(False, None) == 1
    assert "Permission denied: 'site-packages'; use a virtual environment" in capsys.readouterr().err
