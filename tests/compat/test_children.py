"""Programs that a program of ``compat run`` starts: the same Python has the same torch, and no other has."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

import compat

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(compat.__file__)))  # installed, or the source tree
ASKED = "try:\n    import torch; print(torch.OURS, torch.__version__)\nexcept ImportError:\n    print(None)"
START = (
    f"import os, subprocess, sys\nASKED = {ASKED!r}\n"
    + """
def child(*arguments, **options):
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, **options)
    return done.stdout.strip() or done.stderr
"""
)


@pytest.fixture
def run(tmp_path, python):
    """``run(code, *options)``: what a program that has ``child`` prints under ``compat run``."""

    def call(code: str, *options: str) -> str:
        (tmp_path / "program.py").write_text(START + textwrap.dedent(code))
        done = python(["-m", "compat", "run", *options, "program.py"], "shim", "libs", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    return call


def test_children_have_the_same_torch(run, tmp_path):
    (tmp_path / "started.py").write_text(ASKED)
    code = """
    print(child("-c", ASKED), child("-m", "started"), child("started.py"), child("-c", ASKED, cwd="/"))
    print(child("-c", "import subprocess, sys; subprocess.run([sys.executable, 'started.py'])"))
    print(child("-c", "import importlib.metadata as m, importlib.util as u; print(m.version('torch'), bool(u.find_spec('torch')))"))
    """
    one = "True 2.13.0+shim"
    assert run(code).splitlines() == [" ".join([one] * 4), one, "2.13.0+shim True"]
    assert run("print(child('-c', ASKED))", "--version", "2.9.1") == "True 2.9.1"


def test_children_load_nothing_before_they_ask(run):
    code = """
    print(child("-c", "import sys; print(sorted({'torch', 'shim_torch', 'shim_torch_proxy'} & set(sys.modules)))"))
    print(child("-c", '''
    import torch.nn.functional as F, sys, torch
    print(torch.nn.functional is F, sys.modules["torch.nn"] is torch.nn, torch.__spec__.name)
    from compat import disable_torch_proxy
    disable_torch_proxy()
    print([name for name in sys.modules if name.startswith("torch")])'''.replace("\\n    ", "\\n")))
    """
    assert run(code).splitlines() == ["['shim_torch_proxy']", "True True shim_torch", "[]"]


def test_a_scope_is_the_children_s_too(run):
    code = """
    print(child("-c", ASKED))
    print(child("-c", "import outsider, scoped_lib; print(outsider.torch, scoped_lib.statement().OURS)"))
    """
    assert run(code, "--scope", "scoped_lib").splitlines() == ["True 2.13.0+shim", "None True"]


def test_children_that_get_none(run, tmp_path):
    assert (
        run("print(child('-c', ASKED), child('-m', 'compat', 'run', '-c', ASKED))", "--no-children")
        == "None True 2.13.0+shim"
    )
    code = """
    print(child("-I", "-c", ASKED), child("-c", ASKED, env={}))
    print(child("-m", "compat", "run", "--version", "2.9.1", "--scope", "scoped_lib", "-c", "import torch, outsider; "
                "print(torch.__version__, outsider.torch)"))
    print(child("-m", "compat", "run", "--no-children", "-c", START + "print(child('-c', ASKED))"))
    """
    seen = run(f"START = {START!r}\n" + textwrap.dedent(code))
    assert seen.splitlines() == ["None None", "2.9.1 None", "None"]
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "other")], check=True)
    other = next((tmp_path / "other").glob("*/python"))  # another environment of the same Python
    assert run(f"sys.executable = {str(other)!r}\nprint(child('-c', ASKED))") == "None"


def test_another_sitecustomize_runs_as_ever(run, tmp_path):
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "sitecustomize.py").write_text("import sys\nsys.theirs = __file__\n")
    code = """
    os.environ["PYTHONPATH"] += os.pathsep + "theirs"
    print(child("-c", "import sys, sitecustomize as s; print(sys.theirs == s.__file__, any('child_site' in p for p in sys.path))"))
    print(child("-c", ASKED))
    """
    assert run(code).splitlines() == ["True False", "True 2.13.0+shim"]
    (tmp_path / "theirs" / "sitecustomize.py").write_text("raise RuntimeError('of theirs')\n")
    code = "done = subprocess.run([sys.executable, '-c', ASKED], capture_output=True, text=True); print(done.stdout, done.stderr)"
    done = run("os.environ['PYTHONPATH'] += os.pathsep + 'theirs'\n" + code)
    assert "of theirs" in done and "True 2.13.0+shim" in done


def test_spawned_processes_of_torch(tmp_path):
    (tmp_path / "program.py").write_text(
        textwrap.dedent("""
        import subprocess, sys
        import torch
        import torch.multiprocessing as mp

        def work(rank, total):
            text = subprocess.run([sys.executable, "-c", "import torch; print(torch.ones(3).sum().item())"],
                                  capture_output=True, text=True).stdout
            total[rank] = float(text) + rank

        if __name__ == "__main__":
            total = torch.zeros(2).share_memory_()
            mp.spawn(work, args=(total,), nprocs=2)
            print(total)
    """)
    )
    done = subprocess.run(
        [sys.executable, "-m", "compat", "run", "program.py"], capture_output=True, text=True, cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([ROOT, os.environ.get("PYTHONPATH", "")])},
    )  # fmt: skip
    assert done.stdout == "tensor([3., 4.])\n", done.stderr
