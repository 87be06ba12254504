"""Wrong arguments, calls in any order, and threads: clear errors, and an interpreter that is as it was."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import shim_torch_proxy
from compat import disable_torch_proxy, enable_torch_proxy, torch_proxy, torch_proxy_status
from shim_torch_proxy import hook


@pytest.fixture(autouse=True)
def nothing_stays():
    before = hook.entries()
    yield
    left = [e for e in hook.entries() if e not in before]
    for entry in left:
        hook.disable(entry)
    assert not left


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        (({"scope": 3}), TypeError, "scope: expected None, a package name or a set of names, got int"),
        (({"scope": True}), TypeError, "scope: expected None, a package name or a set of names, got bool"),
        (({"scope": b"some_lib"}), TypeError, "scope: expected None, a package name or a set of names, got bytes"),
        (({"scope": {"some_lib": 1}}), TypeError, "scope: expected None, a package name or a set of names, got dict"),
        (({"scope": sys}), TypeError, "scope: expected None, a package name or a set of names, got module"),
        (({"scope": ["some_lib", 3]}), TypeError, "scope: expected package names, got 3 of type int"),
        (({"scope": ""}), ValueError, "scope: '' is not a module name"),
        (({"scope": "some-lib"}), ValueError, "scope: 'some-lib' is not a module name; use the import name"),
        (({"scope": "some_lib."}), ValueError, "scope: 'some_lib.' is not a module name"),
        (({"scope": "some lib"}), ValueError, "scope: 'some lib' is not a module name"),
        (({"scope": set()}), ValueError, "scope: the set is empty"),
        (({"scope": "torch"}), ValueError, "scope: 'torch' cannot be named"),
        (({"scope": {"shim_torch_proxy.hook"}}), ValueError, "scope: 'shim_torch_proxy.hook' cannot be named"),
        (({"scope": "some_lib", "blocked": 1}), TypeError, "blocked: expected None, a package name or a set of names"),
        (({"scope": "some_lib", "blocked": "a-b"}), ValueError, "blocked: 'a-b' is not a module name"),
        (({"scope": "some_lib", "version": 2.13}), TypeError, "version: expected None or a string such as '2.13.0'"),
        (({"scope": "some_lib", "version": "two"}), ValueError, "version='two' is not a PEP 440 version"),
    ],
)
@pytest.mark.parametrize("call", [enable_torch_proxy, torch_proxy])
def test_wrong_arguments_change_nothing(call, arguments, error, text):
    finders, entries = list(sys.meta_path), hook.entries()
    with pytest.raises(error) as raised:
        call(**arguments)
    assert str(raised.value).startswith(text)
    assert sys.meta_path == finders and hook.entries() == entries


@pytest.mark.parametrize(
    ("scope", "error"), [(3, TypeError), ({"a": 1}, TypeError), ("a-b", ValueError), ("torch", ValueError)]
)
def test_disable_of_what_is_no_scope(scope, error):
    with pytest.raises(error):
        disable_torch_proxy(scope)


def test_twice_and_unknown_is_no_error():
    token = enable_torch_proxy("some_lib")
    disable_torch_proxy(token)
    disable_torch_proxy(token)
    disable_torch_proxy("some_lib")
    disable_torch_proxy({"never_enabled"})
    assert "some_lib" not in (torch_proxy_status()["scope"] or [])


def test_a_token_stands_for_what_is_left_of_its_scope():
    token = enable_torch_proxy({"some_lib", "other_lib"})
    disable_torch_proxy("some_lib")
    assert torch_proxy_status()["enabled"][-1] == ["other_lib"]
    disable_torch_proxy(token)
    assert token not in hook.entries()


def test_a_context_ends_what_is_left_of_its_scope():
    with torch_proxy({"some_lib", "other_lib"}) as token:
        disable_torch_proxy("other_lib")
        assert torch_proxy_status()["enabled"][-1] == ["some_lib"]
    assert token not in hook.entries()


def test_contexts_in_one_another_and_again():
    proxy = torch_proxy("some_lib")
    with proxy as first, proxy as second, torch_proxy("other_lib") as third:
        assert len({id(t) for t in (first, second, third)}) == 3
        assert torch_proxy_status()["enabled"][-3:] == [["some_lib"], ["some_lib"], ["other_lib"]]
    with pytest.raises(ZeroDivisionError), proxy:
        raise ZeroDivisionError
    assert "some_lib" not in str(torch_proxy_status()["enabled"])


def test_a_decorated_function_that_calls_itself():
    @torch_proxy("some_lib")
    def depth(n):
        return 1 + depth(n - 1) if n else len([e for e in torch_proxy_status()["enabled"] if e == ["some_lib"]])

    assert depth(3) == 3 + 4


def test_threads_that_take_names_from_one_another():
    """Every thread takes back what any of them put in; in the end the interpreter is as it was."""
    code = """
import sys, threading
import shim_torch_proxy
from compat import disable_torch_proxy, enable_torch_proxy, torch_proxy, torch_proxy_status
import builtins, importlib
before = (list(sys.meta_path), builtins.__import__, importlib.import_module)
errors = []
def work(n):
    try:
        for i in range(60):
            token = enable_torch_proxy({"shared", f"own{n}"})
            disable_torch_proxy("shared")
            with torch_proxy({"shared", "__main__"}):
                torch_proxy_status()
            disable_torch_proxy({"shared", f"own{n}"})
            disable_torch_proxy(token)
    except BaseException as error:
        errors.append(error)
threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
[t.start() for t in threads]; [t.join() for t in threads]
assert not errors, errors
assert torch_proxy_status()["enabled"] == [], torch_proxy_status()
assert before == (list(sys.meta_path), builtins.__import__, importlib.import_module)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_without_the_part_in_c_the_error_says_what_to_do():
    code = "import sys; sys.modules['shim_torch_proxy._imports'] = None; import compat"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert "ImportError: shim_torch_proxy._imports is not built for cpython" in done.stderr
    assert f"{sys.executable} -m pip install shim-torch" in done.stderr


def test_sources_that_hide_an_installation_are_named(tmp_path):
    """As in a clone after ``pip install .``: Python's first folder is the one that it was started in."""
    source = Path(shim_torch_proxy.__file__).parent
    ignored = shutil.ignore_patterns("*.so", "__pycache__")
    shutil.copytree(source, tmp_path / source.name, ignore=ignored)
    command = [sys.executable, "-c", "import shim_torch_proxy"]
    text = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120).stderr
    assert text.strip().endswith("-m pip install shim-torch"), text
    (tmp_path / "pyproject.toml").touch()
    text = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120).stderr
    assert f"start Python in another folder than {tmp_path}, whose sources hide it" in text


def test_status_has_the_documented_keys():
    text = torch_proxy_status.__doc__
    status = torch_proxy_status()
    assert all(f"``{key}``" in text for key in status)
    assert set(status) == {
        "enabled", "scope", "blocked", "hidden", "already_imported", "modules", "missing", "unsupported",
        "native_importers", "bypassed", "slow", "declined", "failed_kernels", "native", "compile",
    }  # fmt: skip
    status["modules"]["torch"] = -1
    assert torch_proxy_status()["modules"].get("torch") != -1
