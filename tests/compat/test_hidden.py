"""``hidden=``: a package that is installed is absent for code in scope, and for no other code."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import shim_torch_proxy
from compat import disable_torch_proxy, enable_torch_proxy, torch_proxy_status

ROOT = Path(shim_torch_proxy.__file__).resolve().parents[1]  # where it is installed, or the source tree
ABSENT = """
import importlib, importlib.metadata, importlib.util, pkgutil
def refused(f, error):
    try: f()
    except error as e: return e
    raise AssertionError("found")
def look():
    def plain():
        import seen_pkg
    def child():
        from seen_pkg import part
    def dotted():
        import seen_pkg.part
    for f in (plain, child, dotted, lambda: importlib.import_module("seen_pkg.part"), lambda: __import__("seen_pkg")):
        assert refused(f, ModuleNotFoundError).name.startswith("seen_pkg")
    assert importlib.util.find_spec("seen_pkg") is None
    for f in (importlib.metadata.version, importlib.metadata.distribution, importlib.metadata.Distribution.from_name):
        refused(lambda: f("seen-dist"), importlib.metadata.PackageNotFoundError)
    assert "seen_pkg" not in importlib.metadata.packages_distributions()
    names = [d.metadata["Name"] for d in importlib.metadata.distributions()]
    assert "seen-dist" not in names and "torch" in names
    assert not list(importlib.metadata.distributions(name="seen-dist"))
    return "absent"
"""


@pytest.fixture
def site(tmp_path):
    (tmp_path / "seen_pkg").mkdir()
    (tmp_path / "seen_pkg" / "__init__.py").write_text("")
    (tmp_path / "seen_pkg" / "part.py").write_text("")
    info = tmp_path / "seen_dist-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: seen-dist\nVersion: 1.0\n")
    (info / "RECORD").write_text("seen_pkg/__init__.py,,\nseen_pkg/part.py,,\n")
    (tmp_path / "asker.py").write_text(ABSENT)
    (tmp_path / "child.py").write_text("import asker; print(asker.look())")
    return tmp_path


def outcome(site: Path, *arguments: str) -> str:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(site), str(ROOT)]), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, cwd=site, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("loaded", [False, True])
def test_in_a_scope_of_packages(site, loaded):
    code = f"""
    import importlib.metadata, importlib.util, sys
    before = importlib.import_module, importlib.util.find_spec
    from compat import disable_torch_proxy, enable_torch_proxy, torch_proxy_status
    if {loaded}: import seen_pkg.part
    enable_torch_proxy("asker", hidden={{"seen_pkg"}})
    import asker
    print(asker.look())
    assert torch_proxy_status()["hidden"] == ["seen_pkg"]
    import seen_pkg.part  # not in scope
    assert importlib.util.find_spec("seen_pkg") and importlib.metadata.version("seen-dist") == "1.0"
    disable_torch_proxy()
    assert (importlib.import_module, importlib.util.find_spec) == before
    assert not [finder for finder in sys.meta_path if type(finder).__module__.startswith("shim_torch_proxy")]
    """
    assert outcome(site, "-c", textwrap.dedent(code)) == "absent"


def test_in_the_main_module(site):
    code = """
    import sys
    from compat import disable_torch_proxy, enable_torch_proxy
    import seen_pkg.part
    enable_torch_proxy("__main__", hidden="seen_pkg")
    for line in ("import seen_pkg", "import seen_pkg.part", "from seen_pkg import part"):
        try:
            exec(line)
        except ModuleNotFoundError as error:
            assert error.name.startswith("seen_pkg")
        else:
            raise AssertionError(line)
    disable_torch_proxy()
    import seen_pkg.part
    """
    outcome(site, "-c", textwrap.dedent(code))


def test_in_the_whole_process(site):
    code = """
    import sys, seen_pkg
    from compat import disable_torch_proxy, enable_torch_proxy
    enable_torch_proxy(hidden="seen_pkg")
    import asker
    print(asker.look())
    disable_torch_proxy()
    assert sys.modules["seen_pkg"] is seen_pkg
    import seen_pkg.part
    """
    assert outcome(site, "-c", textwrap.dedent(code)) == "absent"


def test_run_and_the_programs_that_it_starts(site):
    code = "import subprocess, sys; print(subprocess.run([sys.executable, 'child.py'], text=True, capture_output=True).stdout)"
    (site / "parent.py").write_text(f"import asker; print(asker.look())\n{code}")
    run = ("-m", "compat", "run", "--hidden", "other,seen_pkg")
    assert outcome(site, *run, "parent.py").split() == ["absent", "absent"]
    assert outcome(site, *run, "--scope", "asker", "child.py") == "absent"


def test_nothing_is_hidden_by_itself_and_names_are_checked():
    token = enable_torch_proxy({"asker"})
    assert torch_proxy_status()["hidden"] == []
    disable_torch_proxy(token)
    with pytest.raises(ValueError, match="hidden: 'seen-pkg' is not a module name"):
        enable_torch_proxy({"asker"}, hidden={"seen-pkg"})
    with pytest.raises(ValueError, match="hidden: 'torch' cannot be named"):
        enable_torch_proxy({"asker"}, hidden="torch")
