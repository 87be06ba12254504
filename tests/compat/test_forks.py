"""A process that forks while it enables, or imports from C: the child has the scopes, and none of ours out of them."""

from __future__ import annotations

import pytest


def test_a_fork_while_another_thread_enables(probe):
    probe(
        """
        import os, signal, threading, time
        from compat import enable_torch_proxy, torch_proxy_status
        from shim_torch_proxy import hook
        plain, inside = hook.adapters.closure, threading.Event()
        def slow(names):
            inside.set()
            time.sleep(0.5)
            return plain(names)
        hook.adapters.closure = slow
        thread = threading.Thread(target=enable_torch_proxy, args=({"scoped_lib"},))
        thread.start()
        assert inside.wait(30)
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            hook.adapters.closure = plain
            enable_torch_proxy({"late_lib"})
            import late_lib, scoped_lib
            os._exit(0 if late_lib.torch.OURS and scoped_lib.statement().OURS else 1)
        assert os.waitpid(child, 0)[1] == 0
        thread.join()
        enable_torch_proxy({"late_lib"})
        """
    )


@pytest.mark.parametrize("real", [False, True])
def test_forks_during_imports_from_c(probe, real):
    """What PyImport_Import reads is in sys.modules for it alone: a child that is forked meanwhile has none of it."""
    probe(
        f"""
        import os, signal, sys, threading, time
        if {real}:
            import torch
        before = sys.modules.get("torch")
        from compat import enable_torch_proxy
        enable_torch_proxy("scoped_lib")
        import scoped_lib, outsider
        ours, end = scoped_lib.statement(), time.monotonic() + 2
        sys.setswitchinterval(1e-6)
        def inside():
            while time.monotonic() < end:
                scoped_lib.c_pickle()
        threads = [threading.Thread(target=inside) for _ in range(3)]
        [t.start() for t in threads]
        ends = []
        while time.monotonic() < end:
            child = os.fork()
            if child == 0:
                signal.alarm(20)
                clean = sys.modules.get("torch") is before and outsider.lazy() is before
                os._exit(0 if clean and scoped_lib.c_pickle() is ours and sys.modules.get("torch") is before else 1)
            ends.append(os.waitpid(child, 0)[1])
        [t.join() for t in threads]
        assert len(ends) > 5 and not any(ends), ends
        """,
        real=real,
    )


@pytest.mark.parametrize("real", [False, True])
def test_forks_while_an_extension_starts(probe, build, tmp_path, real):
    """The child neither sees ours out of scope nor waits for the thread that it does not have."""
    (tmp_path / "meeting.py").write_text(
        "import threading\nstarted, go = threading.Event(), threading.Event()\nstarted.set()\nassert go.wait(30)\n"
    )
    probe(
        build("native_user", "-DIMPORTS=meeting")
        + f"""
import os, signal, threading
if {real}:
    import torch
before = sys.modules.get("torch")
from compat import disable_torch_proxy, enable_torch_proxy
enable_torch_proxy({{"native_user", "scoped_lib"}})
thread = threading.Thread(target=__import__, args=("native_user",))
thread.start()
while "meeting" not in sys.modules or not hasattr(sys.modules["meeting"], "started"):
    pass
sys.modules["meeting"].started.wait(30)
child = os.fork()
if child == 0:
    signal.alarm(20)
    import outsider, scoped_lib
    good = outsider.torch is before and scoped_lib.statement().OURS and scoped_lib.c_pickle().OURS
    disable_torch_proxy()
    os._exit(0 if good and sys.modules.get("torch") is before else 1)
assert os.waitpid(child, 0)[1] == 0
sys.modules["meeting"].go.set()
thread.join()
assert sys.modules["native_user"].torch.OURS and sys.modules.get("torch") is before
""",
        real=real,
    )
