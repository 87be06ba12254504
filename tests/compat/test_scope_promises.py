"""What docs/scope.md promises of scopes, each as a program that once went wrong."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import compat

ROOT = Path(compat.__file__).parents[1]


def test_a_second_version_is_refused(probe):
    probe(
        """
        from compat import *
        token = enable_torch_proxy("scoped_lib", version="2.9.1")
        again = enable_torch_proxy("outsider", version="2.9.1")
        enable_torch_proxy("blocked_lib")
        before = torch_proxy_status()["enabled"]
        try:
            enable_torch_proxy("late_lib", version="2.5.0")
        except RuntimeError as error:
            assert "version='2.5.0'" in str(error) and "'2.9.1' for scoped_lib" in str(error), error
        else:
            raise AssertionError
        assert torch_proxy_status()["enabled"] == before
        import scoped_lib
        assert scoped_lib.statement().__version__ == "2.9.1"
        disable_torch_proxy(token); disable_torch_proxy(again)
        enable_torch_proxy("late_lib", version="2.5.0")
        assert scoped_lib.statement().__version__ == "2.5.0"
        """
    )


def test_a_mistyped_scope_warns(probe):
    probe(
        """
        import warnings
        from compat import TorchProxyWarning, enable_torch_proxy
        for name, wrong in [("scoped_libb", True), ("scoped_lib", False), ("scoped_lib.lazzy", True), ("scoped_lib.lazy", False),
                            ("scoped_libb.lazy", True), ("__main__", False), ("json", False), ("_pickle", False)]:
            with warnings.catch_warnings(record=True) as seen:
                warnings.simplefilter("always")
                enable_torch_proxy(name)
            found = [w for w in seen if "no module" in str(w.message)]
            assert [repr(name) in str(w.message) and w.category is TorchProxyWarning for w in found] == [True] * wrong, (name, seen)
            assert all(w.filename == "<string>" for w in found), found[0].filename
        import sys
        assert not [n for n in sys.modules if n.startswith("scoped_lib")]
        """
    )


def test_names_added_to_builtins_are_seen_at_once(probe):
    dict_too = sys.version_info >= (3, 12)
    probe(
        f"""
        import builtins, gettext
        from compat import disable_torch_proxy, enable_torch_proxy
        enable_torch_proxy("scoped_lib")
        import scoped_lib
        exec("def look(name):\\n    return eval(name)\\ndef length():\\n    return len([])", space := vars(scoped_lib))
        builtins.display = 1
        assert space["look"]("display") == 1
        del builtins.display
        try:
            space["look"]("display")
        except NameError:
            pass
        else:
            raise AssertionError
        gettext.NullTranslations().install()
        assert space["look"]("_('text')") == "text"
        if {dict_too}:
            vars(builtins)["shown"] = 2
            assert space["look"]("shown") == 2
        import unittest.mock
        with unittest.mock.patch("builtins.len", lambda value: 7):
            assert space["length"]() == 7
        assert space["length"]() == 0
        disable_torch_proxy()
        assert type(builtins) is type(gettext) and gettext.NullTranslations.install.__code__.co_filename == gettext.__file__
        """
    )


WAYS = """
import importlib, pkgutil
def ways():
    yield importlib.import_module("torch.nn.extra")
    yield importlib.__import__("torch.nn.extra", {}, {}, ("WHOSE",), 0)
    yield pkgutil.resolve_name("torch.nn.extra")
"""


def test_finders_before_ours_are_asked_in_the_whole_process(probe, tmp_path):
    (tmp_path / "extra.py").write_text("WHOSE = 'theirs'")
    probe(
        f"""
        import importlib.util, sys
        from compat import enable_torch_proxy
        class Finder:
            def find_spec(self, name, path=None, target=None):
                if name == "torch.nn.extra":
                    return importlib.util.spec_from_file_location(name, {str(tmp_path / "extra.py")!r})
        enable_torch_proxy()
        sys.meta_path.insert(0, Finder())
        import scoped_lib
        exec({WAYS!r}, vars(scoped_lib))
        assert [module.WHOSE for module in scoped_lib.ways()] == ["theirs"] * 3
        """
    )


LOOKUPS = """
import pkgutil, unittest.mock, unittest
from unittest import mock
from unittest.mock import patch
def check():
    import torch
    assert pkgutil.resolve_name("torch.nn.functional") is torch.nn.functional is pkgutil.resolve_name("torch:nn.functional")
    assert pkgutil.resolve_name("json.loads") and unittest.TestCase
    for way in (patch, mock.patch, unittest.mock.patch):
        with way("torch.OURS", 5):
            assert torch.OURS == 5
        with way("torch.nn.functional.added", 6, create=True) as added:
            assert torch.nn.functional.added == added == 6
        with way("json.loads", None):
            pass
        with way.object(torch, "OURS", 7):
            assert torch.OURS == 7
    assert torch.OURS is True and not hasattr(torch.nn.functional, "added")
"""


@pytest.mark.parametrize("scope", ['"scoped_lib"', "None"])
def test_lookups_by_name_after_the_scope(probe, scope):
    probe(
        f"""
        from compat import disable_torch_proxy, enable_torch_proxy
        enable_torch_proxy({scope})
        import scoped_lib
        exec({LOOKUPS!r}, vars(scoped_lib))
        scoped_lib.check()
        disable_torch_proxy()
        scoped_lib.check()
        import pkgutil
        try:
            pkgutil.resolve_name("torch.nn")
        except ImportError:
            pass
        else:
            raise AssertionError
        """
    )


def test_a_library_that_enables_itself(probe, tmp_path):
    folder = tmp_path / "own_lib"
    folder.mkdir()
    (folder / "__init__.py").write_text(
        "from own_lib import _enable\nimport torch\nfrom torch import nn\nfrom own_lib import part\n"
        "def lazy():\n    import torch\n    return torch\ndef by_name():\n    import importlib\n    return importlib.import_module('torch')\n"
    )
    (folder / "_enable.py").write_text(
        "from compat import enable_torch_proxy\nTOKEN = enable_torch_proxy('own_lib')\nimport torch\n"
    )
    (folder / "part.py").write_text("import torch\n")
    for real in (False, True):
        probe(
            f"""
            import sys, warnings
            warnings.simplefilter("error")
            sys.path.insert(0, {str(tmp_path)!r})
            import own_lib, outsider
            from compat import disable_torch_proxy, torch_proxy_status
            assert own_lib.torch.OURS and own_lib.nn is own_lib.torch.nn and own_lib.part.torch.OURS and own_lib._enable.torch.OURS
            assert (outsider.torch is None) is {not real} and torch_proxy_status()["bypassed"] == []
            for _ in range(2):
                assert own_lib.lazy() is own_lib.by_name() is own_lib.torch
                disable_torch_proxy()
            import builtins
            assert type(builtins.__import__).__name__ == "builtin_function_or_method"
            """,
            real=real,
        )


def test_what_goes_past_the_finder_is_served_or_listed(probe, tmp_path):
    program = """
        import importlib.machinery, importlib.util, runpy, sys
        from compat import enable_torch_proxy, torch_proxy_status
        enable_torch_proxy({"scoped_lib", "late_lib", "outsider"})
        place = importlib.util.find_spec("scoped_lib").submodule_search_locations[0]
        assert runpy.run_module("scoped_lib.helper")["__builtins__"] is not __builtins__
        spec = importlib.util.spec_from_file_location("any_name", place + "/__init__.py")
        import scoped_lib
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        assert module.statement().OURS
        spec = importlib.util.spec_from_file_location("late_lib", place + "/../late_lib/__init__.py")
        late = sys.modules["late_lib"] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(late)
        assert late.torch.OURS and torch_proxy_status()["bypassed"] == []
        class First:
            @staticmethod
            def find_spec(name, path=None, target=None):
                return importlib.machinery.PathFinder.find_spec(name, path) if name == "outsider" else None
        del sys.modules["outsider"]
        sys.meta_path.insert(0, First)
        import outsider
        assert outsider.torch is None and torch_proxy_status()["bypassed"] == ["outsider"]
    """
    probe(program)


@pytest.mark.parametrize(
    "call", ["enable_torch_proxy()", "enable_torch_proxy('triton')", "enable_torch_proxy('json', version='2.5')"]
)
def test_enabling_loads_nothing(python, call):
    code = f"""
    import sys
    from compat import enable_torch_proxy
    {call}
    assert not [n for n in sys.modules if n.startswith(("shim_torch.", "numpy"))] and "shim_torch" not in sys.modules
    if "triton" not in {call!r}:
        space = {{"__name__": "json"}}
        import json, importlib
        importlib.reload(json)
        exec("import torch", vars(json))
        assert json.torch.__version__ == ("2.5" if "2.5" in {call!r} else "2.13.0+shim")
    """
    done = python(["-W", "ignore", "-c", textwrap.dedent(code)])
    assert done.returncode == 0, done.stderr


def test_kernel_languages_come_with_what_requires_or_imports_them(probe, tmp_path):
    for name, requires in (("declares", "Requires-Dist: triton>=3\n"), ("imports", "")):
        (tmp_path / f"{name}.py").write_text("import torch\nimport triton\n")
        (tmp_path / f"{name}-1.0.dist-info").mkdir()
        (tmp_path / f"{name}-1.0.dist-info" / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {name}\n{requires}\n"
        )
    (tmp_path / "triton.py").write_text("import torch\n")
    for real in (False, True):
        probe(
            f"""
            import sys
            sys.path.insert(0, {str(tmp_path)!r})
            from compat import disable_torch_proxy, enable_torch_proxy, torch_proxy_status
            from shim_torch_proxy import adapters
            adapters.load = lambda family: None
            enable_torch_proxy("declares")
            assert torch_proxy_status()["scope"] == ["declares", "triton"]
            disable_torch_proxy()
            enable_torch_proxy("imports")
            assert torch_proxy_status()["scope"] == ["imports"]
            import imports
            assert imports.triton.torch.OURS and torch_proxy_status()["scope"] == ["imports", "triton"]
            """,
            real=real,
        )


def test_importing_compat_is_light():
    """What programs pay that never enable anything: 7 ms; typing alone takes as long."""
    heavy = {"typing", "re", "enum", "json", "inspect", "importlib.metadata", "shim_torch", "numpy", "packaging"}
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); import compat; print(*sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-S", "-E", "-c", code], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout.strip()) == (0, ""), done
