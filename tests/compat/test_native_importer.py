"""Extension modules import from C, past any ``__import__`` (as Cython's do): those in scope get ours, and no one else does."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import sysconfig

import pytest


@pytest.mark.parametrize("options", [["-DSINGLE=0"], ["-DSINGLE=1", "-Wl,-z,relro,-z,now"], ["-DSINGLE=1", "-fno-plt"]])
@pytest.mark.parametrize("real", [False, True])
def test_extension_in_scope(probe, build, options, real):
    probe(
        build("native_user", *options)
        + f"""
if {real}:
    import torch
before = sys.modules.get("torch")
from compat import enable_torch_proxy, disable_torch_proxy, torch_proxy_status
enable_torch_proxy("native_user")
import native_user
assert native_user.torch.OURS and native_user.in_run.OURS, native_user.torch
assert sys.modules.get("torch") is before
assert torch_proxy_status()["native_importers"] == ["native_user"]
for _ in range(2):  # a lazy import of Cython's, after the module started, and after the scope
    for way in (native_user.level, native_user.get, native_user.run):
        assert way() is native_user.torch, way
    assert native_user.name() is native_user.torch.nn
    disable_torch_proxy()
assert sys.modules.get("torch") is before
""",
        real=real,
    )


def test_extension_out_of_scope(probe, build):
    probe(
        build()
        + """
import torch
from compat import enable_torch_proxy
enable_torch_proxy("scoped_lib")
import scoped_lib, native_user
assert native_user.torch is native_user.in_run is native_user.level() is native_user.get() is native_user.run() is torch
assert native_user.name() is torch.nn and scoped_lib.statement() is not torch
""",
        real=True,
    )


@pytest.mark.parametrize("real", [False, True])
def test_outsiders_see_nothing_while_one_starts(probe, build, tmp_path, real):
    """Modules out of scope that it imports, and other threads, which import PyTorch for the first time then."""
    (tmp_path / "meeting.py").write_text(
        "import threading\nstarted, go = threading.Event(), threading.Event()\n"
        "try:\n    import torch\nexcept ImportError:\n    torch = None\nstarted.set()\nassert go.wait(30)\n"
    )
    probe(
        build("native_user", "-DIMPORTS=meeting")
        + f"""
import importlib, threading
from compat import enable_torch_proxy
enable_torch_proxy("native_user")
seen = []
def look():
    while "meeting" not in sys.modules or not hasattr(sys.modules["meeting"], "started"):
        pass
    sys.modules["meeting"].started.wait(30)
    import outsider
    seen.extend([outsider.torch, outsider.lazy(), sys.modules.get("torch"), importlib.util.find_spec("torch")])
    sys.modules["meeting"].go.set()
import importlib.util
thread = threading.Thread(target=look)
thread.start()
import native_user
thread.join()
assert len(seen) == 4 and native_user.torch.OURS
if {real}:
    assert sys.modules["torch"].OURS is False and hasattr(sys.modules["torch"], "nn")
    assert seen[0] is seen[1] is seen[2] is native_user.other.torch is sys.modules["torch"]
else:
    assert seen == [None] * 4 and native_user.other.torch is None
""",
        real=real,
    )


def test_two_that_start_and_a_module_between_them(probe, build, tmp_path):
    """One imports a module, which another thread imports, and which loads the other: neither waits for the other for ever."""
    (tmp_path / "middle.py").write_text(
        "import sys, time\nsys.middle = True\nwhile not hasattr(sys, 'starting'):\n    time.sleep(0.01)\n"
        "time.sleep(0.3)\nimport native_two\n"
    )
    (tmp_path / "first.py").write_text("import sys\nsys.starting = True\nimport middle\n")
    build("native_two")
    probe(
        build("native_user", "-DIMPORTS=first")
        + """
import threading, time
from compat import enable_torch_proxy
enable_torch_proxy({"native_user", "native_two"})
def other():
    import middle
thread = threading.Thread(target=other, daemon=True)
thread.start()
while not hasattr(sys, "middle"):
    time.sleep(0.01)
import native_user, native_two
thread.join(30)
assert native_user.torch.OURS and native_two.torch.OURS and not thread.is_alive()
"""
    )


@pytest.mark.parametrize("real", [False, True])
def test_threads_in_pickle(probe, real):
    """PyImport_Import reads sys.modules after our __import__: ours is there for it alone."""
    probe(
        f"""
        import sys, threading, time, pickle
        if {real}:
            import torch
        before = sys.modules.get("torch")
        from compat import enable_torch_proxy
        enable_torch_proxy("scoped_lib")
        import scoped_lib, outsider
        ours = scoped_lib.statement()
        sys.setswitchinterval(1e-6)
        end, wrong = time.monotonic() + 3, []
        def inside():
            while time.monotonic() < end and not wrong:
                try:
                    if scoped_lib.c_pickle() is not ours:
                        wrong.append("another torch")
                except BaseException as error:
                    wrong.append(repr(error))
        def outside():
            while time.monotonic() < end and not wrong:
                if sys.modules.get("torch") is not before:
                    wrong.append("seen")
        threads = [threading.Thread(target=work) for work in (inside, inside, inside, outside)]
        [t.start() for t in threads]; [t.join() for t in threads]
        assert not wrong, wrong
        assert sys.modules.get("torch") is before and outsider.lazy() is before
        """,
        real=real,
    )


def test_a_list_of_names_that_python_passes_leaves_nothing(probe):
    probe(
        """
        import sys
        from compat import enable_torch_proxy
        enable_torch_proxy("scoped_lib")
        import scoped_lib
        space = {"__builtins__": scoped_lib.__builtins__}
        exec("import sys as s\\nfound = __import__('torch.nn', globals(), globals(), [], 0)", space)
        assert space["found"].OURS and "torch" not in sys.modules and "torch.nn" not in sys.modules
        """
    )


CYTHON = """
import torch
import torch.nn as whole
def statement():
    import torch
    return torch
def names():
    from torch import nn
    return nn
def renamed():
    import torch.nn.functional as F
    return F
def run():
    space = {}
    exec("import torch", space)
    return space["torch"]
"""


@pytest.mark.skipif(importlib.util.find_spec("Cython") is None, reason="needs Cython")
@pytest.mark.parametrize("real", [False, True])
def test_a_module_of_cython(probe, tmp_path, real):
    (tmp_path / "of_cython.pyx").write_text(CYTHON)
    subprocess.run([sys.executable, "-m", "cython", "-3", str(tmp_path / "of_cython.pyx")], check=True)
    target = tmp_path / ("of_cython" + sysconfig.get_config_var("EXT_SUFFIX"))
    flags = ["-shared", "-fPIC", "-w", f"-I{sysconfig.get_path('include')}"]
    subprocess.run(["gcc", *flags, str(tmp_path / "of_cython.c"), "-o", str(target)], check=True)
    probe(
        f"""
        import sys
        sys.path.insert(0, {str(tmp_path)!r})
        if {real}:
            import torch
        before = sys.modules.get("torch")
        from compat import disable_torch_proxy, enable_torch_proxy
        enable_torch_proxy("of_cython")
        import of_cython as m
        for _ in range(2):
            ours = m.statement()
            assert ours is m.torch is m.run() and ours.OURS and m.whole is m.names() is ours.nn and m.renamed() is ours.nn.functional
            disable_torch_proxy()
        assert sys.modules.get("torch") is before
        """,
        real=real,
    )


def test_python_s_own_extensions_are_prepared_for_nothing(python):
    """What reads their symbols imports more of Python, which may be waiting for them: dis for _opcode in Python 3.10."""
    code = (
        "import sys; from compat import enable_torch_proxy; enable_torch_proxy(None); import torch.cuda\n"
        "for name in ('_lsprof', '_opcode', '_heapq'):\n    sys.modules.pop(name, None); __import__(name)\n"
        "assert 'shim_torch._impl.extensions.load' not in sys.modules\n"
        "import dis, inspect; print(dis.cmp_op[0], hasattr(inspect, 'signature'))\n"
    )
    done = python(["-W", "ignore", "-c", code])
    assert done.stdout.split() == ["<", "True"], done.stderr
