"""The command line, each command as a user calls it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


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
    done = python(["-m", "compat", "run", "nowhere.py"], "shim")
    assert done.returncode == 2 and "nowhere.py" in done.stderr


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


def test_doctor(python):
    done = python(["-m", "compat", "doctor", "--json"], "shim")
    assert json.loads(done.stdout)["shim_torch"] == "ok, torch.__version__ 2.13.0+shim" and done.returncode == 0


def test_provide_satisfies_pip_and_is_never_importable(tmp_path):
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
    binary = str(venv / "bin" / "python")
    wheels = tmp_path / "wheel"
    (wheels / "needs").mkdir(parents=True)

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [binary, *arguments], capture_output=True, text=True, cwd=tmp_path,
            env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "PIP_NO_INDEX": "1", "PYTHONDONTWRITEBYTECODE": "1"},
        )  # fmt: skip

    code = "import sys; from compat.cli import provide; from pathlib import Path; import sysconfig; "
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
    assert run("-m", "compat", "provide", "--remove").returncode == 0
    assert run("-m", "pip", "install", "--dry-run", "torch").returncode != 0
    assert run("-c", code).returncode == 0 and run("-m", "pip", "uninstall", "-y", "torch").returncode == 0
    assert "torch" not in run("-m", "pip", "list").stdout


def test_provide_leaves_a_real_one_alone(tmp_path):
    from compat.cli import provide

    info = tmp_path / "torch-2.0.0.dist-info"
    info.mkdir()
    (info / "INSTALLER").write_text("pip\n")
    with pytest.raises(FileExistsError, match="left alone"):
        provide.write(tmp_path, "2.13.0")
    assert provide.remove(tmp_path) == [] and info.is_dir()
