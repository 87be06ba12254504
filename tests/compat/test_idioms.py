"""Ways of asking for torch beyond the import statement: all of them agree, and none reaches code out of scope."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent / "fixtures" / "libs" / "scoped_lib" / "idioms.py"
IDIOMS = re.findall(r"^def (\w+)", SOURCE.read_text(), re.M)


@pytest.mark.parametrize("real", ["absent", "installed", "imported"])
def test_every_idiom_gets_ours_and_leaves_nothing(probe, real):
    probe(
        f"""
        import sys
        {"import torch" if real == "imported" else ""}
        before = sys.modules.get("torch")
        from compat import enable_torch_proxy
        enable_torch_proxy({{"scoped_lib"}})
        import shim_torch, scoped_lib.idioms as idioms
        wrong = []
        for name in {IDIOMS} * 2:
            try:
                got = getattr(idioms, name)()
            except Exception as error:
                got = error
            if got is not shim_torch or sys.modules.get("torch") is not before or shim_torch.OURS is not True:
                wrong.append((name, got, sys.modules.get("torch")))
                sys.modules.pop("torch", None) if before is None else None
        assert not wrong, wrong
        assert not hasattr(__builtins__, "added_by_scoped_lib")
        """,
        real=real != "absent",
    )


def test_the_same_functions_give_others_what_there_is(probe):
    probe(
        """
        import torch, importlib, importlib.metadata, importlib.util, inspect, pkgutil, pickle, sys
        from compat import enable_torch_proxy
        enable_torch_proxy({"scoped_lib"})
        import scoped_lib.idioms
        assert torch.OURS is False
        assert pkgutil.resolve_name("torch") is torch and importlib.__import__("torch") is torch
        assert importlib.import_module(".nn", "torch") is torch.nn is pickle._loads(b"ctorch\\nnn\\n.")
        assert importlib.util.find_spec("torch").origin == torch.__file__ == inspect.getfile(torch)
        try:
            importlib.metadata.Distribution.from_name("torch")
        except importlib.metadata.PackageNotFoundError:
            pass
        else:
            raise AssertionError
        import pytest
        assert pytest.importorskip("torch") is torch
        """,
        real=True,
    )


def test_a_blocked_module_finds_no_torch_in_the_whole_process(probe):
    probe(
        """
        from compat import torch_proxy
        with torch_proxy(blocked="scoped_lib"):
            import scoped_lib, outsider
            assert outsider.torch.OURS
            for way in (scoped_lib.import_module, scoped_lib.statement):
                try:
                    way()
                except ModuleNotFoundError as error:
                    assert error.name == "torch" and "scoped_lib is blocked" in str(error)
                else:
                    raise AssertionError(way)
            assert scoped_lib.find_spec() is None
        """
    )


def test_patched_builtins_reach_code_in_scope(probe):
    probe(
        """
        import builtins, unittest.mock
        from compat import enable_torch_proxy
        enable_torch_proxy({"scoped_lib"})
        import scoped_lib
        plain = builtins.__import__
        def without_json(name, *rest):
            if name == "json":
                raise ImportError("json is not here")
            return plain(name, *rest)
        space = {"__builtins__": scoped_lib.__builtins__}
        with unittest.mock.patch("builtins.__import__", without_json):
            try:
                exec("import json", space)
            except ImportError as error:
                assert "not here" in str(error)
            else:
                raise AssertionError
            assert scoped_lib.statement().OURS
        exec("import json", space)
        """
    )


def test_pytest_rewrites_test_modules_in_scope(tmp_path, python):
    (tmp_path / "conftest.py").write_text(
        "from compat import enable_torch_proxy\nenable_torch_proxy({'test_inside', 'helped'})\n"
    )
    (tmp_path / "helped.py").write_text("import torch\n")
    (tmp_path / "test_inside.py").write_text(
        "import pytest\ntorch = pytest.importorskip('torch')\nimport helped\n"
        "def test_ours():\n    import torch.nn as nn\n    assert torch.OURS and nn is torch.nn and helped.torch is torch\n"
    )
    (tmp_path / "test_outside.py").write_text(
        "import pytest\ndef test_none():\n    with pytest.raises(ImportError):\n        import torch\n"
    )
    for mode in ("prepend", "importlib"):
        done = python(
            ["-m", "pytest", "-q", "-p", "no:cacheprovider", f"--import-mode={mode}", "-o", f"pythonpath={tmp_path}", str(tmp_path)],
            "shim", "libs", cwd=tmp_path,
        )  # fmt: skip
        assert done.returncode == 0 and "2 passed" in done.stdout, done.stdout + done.stderr


def test_a_none_in_sys_modules_is_no_pytorch(probe):
    probe(
        """
        import sys
        sys.modules["torch"] = None
        from compat import enable_torch_proxy, disable_torch_proxy
        enable_torch_proxy()
        import torch
        assert torch.OURS
        disable_torch_proxy()
        assert sys.modules["torch"] is None
        """
    )


def test_patched_lookups_reach_code_in_scope(probe):
    probe(
        """
        import unittest.mock
        from compat import enable_torch_proxy
        enable_torch_proxy({"scoped_lib"})
        import scoped_lib
        space = {"__builtins__": scoped_lib.__builtins__}
        exec("import importlib, importlib.util, importlib.metadata", space)
        with unittest.mock.patch("importlib.util.find_spec", lambda name, package=None: name):
            assert space["importlib"].util.find_spec("json") == "json"
        with unittest.mock.patch("importlib.metadata.version", lambda name: "9.9"):
            assert space["importlib"].metadata.version("numpy") == "9.9"
        with unittest.mock.patch("importlib.import_module", lambda name, package=None: 5):
            assert space["importlib"].import_module("json") == 5
        with unittest.mock.patch.object(space["importlib"], "import_module", lambda name: 6):
            assert space["importlib"].import_module("torch") == 6
        assert space["importlib"].import_module("torch").OURS and space["importlib"].import_module("json").__name__ == "json"
        """
    )


def test_modules_that_come_later_are_restored_too(probe):
    """What is put into a module imported while the proxy is on is taken back with the rest."""
    theirs = probe(
        """
        import sys
        from compat import disable_torch_proxy, enable_torch_proxy
        assert 'multiprocessing.spawn' not in sys.modules
        enable_torch_proxy()
        from multiprocessing import spawn
        inside = spawn.get_preparation_data
        disable_torch_proxy()
        print(*(f.__code__.co_filename == spawn.__file__ for f in (inside, spawn.get_preparation_data)))
        """
    )
    assert theirs == "False True"


def test_inspect_finds_the_modules_of_functions_and_classes(python):
    code = """if True:
    from compat import torch_proxy
    with torch_proxy("scoped_lib"):
        import scoped_lib, inspect
        torch = scoped_lib.statement()
        for found in (torch.nn.Linear, torch.nn.functional.linear, torch.nn.functional.relu, torch.add):
            module = inspect.getmodule(found)
            assert getattr(module, found.__name__) is found, (found, module)
    """
    done = python(["-W", "ignore", "-c", code], "libs")
    assert done.returncode == 0, done.stderr


def test_warnings_of_an_import_name_who_imports(probe, tmp_path):
    (tmp_path / "old.py").write_text("import warnings\nwarnings.warn('old', DeprecationWarning, stacklevel=2)\n")
    (tmp_path / "user.py").write_text("import old\n")
    for scope in ("'user'", "None"):
        probe(
            f"""
            import sys, warnings
            sys.path.insert(0, {str(tmp_path)!r})
            from compat import enable_torch_proxy
            enable_torch_proxy({scope})
            with warnings.catch_warnings(record=True) as seen:
                warnings.simplefilter("always")
                import user
            assert [w.filename for w in seen] == [user.__file__], seen[0].filename
            """
        )


@pytest.mark.parametrize("real", [False, True])
def test_exposed_within_a_whole_process(probe, real):
    """As Triton's driver is made: the process keeps our torch in sys.modules until it ends itself."""
    probe(
        """
        import sys
        from compat import torch_proxy
        from shim_torch_proxy.hook import expose
        with torch_proxy():
            import torch
            assert sys.modules["torch"] is torch and torch.OURS is True
            with expose():
                assert sys.modules["torch"] is torch
            assert sys.modules["torch"] is torch
            first, second = expose(), expose()
            first.__enter__(), second.__enter__()
            first.__exit__(), second.__exit__()
            assert sys.modules["torch"] is torch
        assert "torch" not in sys.modules
        """,
        real=real,
    )
