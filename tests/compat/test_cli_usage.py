"""What the commands say of themselves, of parts of PyTorch, and at a program's end."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import compat
import shim_torch
import shim_torch_proxy
from shim_torch_proxy import cli
from shim_torch_proxy.__main__ import parser
from shim_torch_proxy.cli import coverage, run


@pytest.mark.parametrize("command", ["doctor", "run", "scan", "coverage", "provide"])
def test_help_says_what_a_command_does(command, capsys):
    with pytest.raises(SystemExit) as end:
        parser().parse_args([command, "--help"])
    text = capsys.readouterr().out
    first = text.split("\n\n")[1]
    assert (
        end.value.code == 0
        and text.startswith(f"usage: python -m compat {command}")
        and first.endswith(".")
        and len(first) > 40
    )
    for line in text.split("options:\n")[1].splitlines():
        assert not line.startswith("  -") or len(line.split()) > 1, f"{line}: what for?"


def test_usage_of_run(python):
    done = python(["-m", "compat", "run"], "shim")
    assert done.returncode == 2
    for line in (
        "run [options] script.py [arguments]",
        "run [options] -m module [arguments]",
        "run [options] -c program [arguments]",
    ):
        assert f"python -m compat {line}\n" in done.stderr
    for wrong, reason in [([], "required: target"), (["one", "two", "--three"], "unrecognized arguments: two --three")]:
        done = python(["-m", "compat", "scan", *wrong], "shim")
        assert (
            done.returncode == 2
            and "usage: python -m compat scan [-h] [--json] target\n" in done.stderr
            and reason in done.stderr
        )


@pytest.mark.parametrize(
    "called, name",
    [
        ("/x/bin/shim-torch", "shim-torch"),
        ("/x/compat/__main__.py", "python -m compat"),
        ("/x/shim_torch_proxy/__main__.py", "python -m shim_torch_proxy"),
    ],
)
def test_usage_is_of_the_name_that_was_typed(called, name, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", [called])
    assert cli.program() == name
    with pytest.raises(SystemExit):
        parser().parse_args(["scan"])
    assert f"usage: {name} scan" in capsys.readouterr().err


def test_scan_ends_with_its_summary(tmp_path, python):
    (tmp_path / "m.py").write_text("import torch\ntorch.gone\ntorch.Tensor\n")
    done = python(["-m", "compat", "scan", str(tmp_path)], "shim")
    assert done.stdout.splitlines()[-1] == "1 files, 3 names, 1 missing" and done.returncode == 1


def test_run_ends_with_its_summary_where_it_is_asked_for(tmp_path, python):
    (tmp_path / "program.py").write_text(
        "import torch\ntry:\n    from torch import gone\nexcept ImportError:\n    print('without')\n"
    )
    quiet = python(["-m", "compat", "run", "program.py"], "shim", cwd=tmp_path)
    done = python(["-m", "compat", "run", "--summary", "program.py"], "shim", cwd=tmp_path)
    assert quiet.stdout == done.stdout == "without\n" and quiet.stderr == ""
    assert done.stderr.startswith("shim-torch: modules of torch loaded: ")


def test_the_summary_of_run_names_what_was_missing():
    status = {
        "modules": {"torch": 1, "torch.nn": 1},
        "missing": {("torch.x", "lib:3"): 2},
        "native": True,
        "slow": {"host": 4, "no": 0},
    }
    text = run.report({**status, "unsupported": {("torch.cuda.y", "lib.z:1"): 1}})
    assert text.splitlines() == [
        "shim-torch: modules of torch loaded: 2; names missing: 2",
        "  torch.x: missing, asked for by lib:3 (2 times)",
        "  torch.cuda.y: unsupported, asked for by lib.z:1",
        "  slow: host, 4 times",
    ]


def test_missing_takes_parts_with_and_without_torch():
    table = {
        "torch": (["torch.add"], ["torch.gone"]),
        "torch.nn": (["torch.nn.Linear", "torch.nn.utils.rnn.pad"], ["torch.nn.utils.rnn.lost", "torch.nn.utilities"]),
        "torch.fft": (["torch.fft.fft"], []),
    }
    assert coverage.missing_of("nn", table) == coverage.missing_of("torch.nn", table) == table["torch.nn"][1]
    assert coverage.missing_of("torch", table) == ["torch.gone"] and coverage.missing_of("fft", table) == []
    assert (
        coverage.missing_of("nn.utils", table)
        == coverage.missing_of("torch.nn.utils.rnn", table)
        == ["torch.nn.utils.rnn.lost"]
    )
    assert coverage.missing_of("nm", table) is None and coverage.missing_of("nn.util", table) is None


def test_coverage_of_no_part_proposes_one(monkeypatch, capsys):
    monkeypatch.setattr(
        coverage, "coverage", lambda: {"torch.optim": (["torch.optim.SGD"], ["torch.optim.Gone"]), "torch.nn": ([], [])}
    )
    assert coverage.main("optin") == 2 and "did you mean optim?" in capsys.readouterr().err
    assert coverage.main("zzz") == 2 and "the parts are torch.nn, torch.optim" in capsys.readouterr().err
    assert coverage.main("optim") == 0
    said = capsys.readouterr()
    assert said.out == "torch.optim.Gone\n" and said.err == "1 of optim missing\n"


def test_run_in_a_source_tree_finds_torch(tmp_path):
    """``python -m compat`` there finds us by its working folder, in whose place on sys.path the program's folder stands."""
    tree = tmp_path / "tree"
    tree.mkdir()
    for package in (compat, shim_torch, shim_torch_proxy):
        (tree / package.__name__).symlink_to(Path(package.__file__).parent)
    (tmp_path / "program").mkdir()
    told = f"print(torch.ones(2).sum().item(), {str(tree)!r} in sys.path)"
    for name in ("script.py", "program/__main__.py"):
        (tmp_path / name).write_text(f"import sys, torch\n{told}\n")
    code = f"import sys, torch, os; os.chdir('/'); import torch.nn.functional; {told}"
    clean = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    for target in (["script.py"], ["program"], ["-c", code]):
        arguments = [str(tmp_path / target[0])] if len(target) == 1 else target
        command = [sys.executable, "-W", "ignore", "-m", "compat", "run", *arguments]
        done = subprocess.run(command, cwd=tree, env=clean, capture_output=True, text=True)
        assert done.stdout == "2.0 True\n", (target, done.stderr)
