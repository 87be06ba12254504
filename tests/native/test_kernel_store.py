"""CUDA kernels are compiled once, side by side, ahead of need, and kept; what fails is said. With a simulated driver and compiler."""

from __future__ import annotations

import os
import time

from kernel_runs import line

from shim_torch._impl.extensions import kernel_pack
from shim_torch._impl.native import _core

THREADS = """
threads = [threading.Thread(target=load, args=(line(op),)) for op in {ops!r}]
for t in threads: t.start()
for t in threads: t.join()
say(_core.kernel_counts())
"""


def test_threads_compile_side_by_side(store):
    counts = store.run(THREADS.format(ops=["sum", "prod", "amax"]), SIMULATED_SLEEP="1000")
    assert counts["compiled"] == 3
    assert [what for what, _, _ in store.log()] == ["begin"] * 3 + ["end"] * 3


def test_the_interpreter_runs_while_a_thread_compiles(store):
    code = """
t = threading.Thread(target=load, args=(line("sum"),)); t.start()
turns = 0
while t.is_alive():
    time.sleep(0.02); turns += 1
say(turns)
"""
    assert store.run(code, SIMULATED_SLEEP="1000") > 5


def test_a_program_is_never_compiled_twice_at_once(store):
    counts = store.run(THREADS.format(ops=["sum"] * 8), SIMULATED_SLEEP="300")
    assert counts["compiled"] == 1 and len(store.log()) == 2


def test_code_is_kept(store):
    code = "assert load(line('sum')) and load(line('prod')); say(_core.kernel_counts())"
    assert store.run(code) == {"pack": 0, "kept": 0, "compiled": 2, "ahead": 0}
    assert store.run(code) == {"pack": 0, "kept": 2, "compiled": 0, "ahead": 0}
    for kept in (store.cache / "kernels").iterdir():
        kept.write_bytes(kept.read_bytes()[:-3])
    assert store.run(code) == {"pack": 0, "kept": 0, "compiled": 2, "ahead": 0}
    assert store.run(code, SIMULATED_ARCHITECTURE="80")["compiled"] == 2


def test_code_that_the_driver_refuses_is_compiled_again(store):
    store.run("load(line('sum'))")
    (kept,) = (store.cache / "kernels").iterdir()
    place = str(kept.parent), kept.name
    key = store.run("say(_core.kernel_key(line('sum'), 90))")
    assert _core.cache_kept(*place, key).startswith(b"code ")
    _core.cache_keep(*place, key, b"for another driver")
    assert store.run("assert load(line('sum')); say(_core.kernel_counts()['compiled'])") == 1
    assert _core.cache_kept(*place, key).startswith(b"code ")


def forget_code(store):
    """As a new version of the kernels' sources does: the history stays."""
    for kept in (store.cache / "kernels").iterdir():
        kept.unlink()
    (store.folder / "log").unlink()


WAIT = """
def wait(number):
    end = time.time() + 60
    while _core.kernel_counts()["ahead"] < number:
        assert time.time() < end, _core.kernel_counts()
        time.sleep(0.01)
"""
BEGUN = """
def begun(op):
    end = time.time() + 60
    while f"OP={op} " not in open(os.environ["SIMULATED_LOG"]).read():
        assert time.time() < end
        time.sleep(0.01)
"""


def test_what_came_next_in_former_runs_is_compiled_ahead(store):
    ops = ["sum", "prod", "amax", "amin"]
    store.run(f"for op in {ops}: load(line(op))")
    forget_code(store)
    code = f"{WAIT}\nload(line('sum')); wait(3)\nfor op in {ops}: assert load(line(op))\nsay(_core.kernel_counts())"
    assert store.run(code, SHIM_TORCH_COMPILE_AHEAD="2") == {"pack": 0, "kept": 0, "compiled": 1, "ahead": 3}
    log = store.log()
    threads = {next(op for op in ops if f"OP={op} " in code): thread for what, thread, code in log if what == "end"}
    assert len(log) == 8 and threads["sum"] not in (threads["prod"], threads["amax"], threads["amin"])
    assert store.run(code.replace("wait(3)", ""), SHIM_TORCH_COMPILE_AHEAD="2")["kept"] == 4


def table() -> dict[str, list[str]]:
    """Workload -> its specialisations, in the order in which it asks for them."""
    found: dict[str, dict[str, int]] = {}
    for row in kernel_pack.TABLE.read_text().splitlines():
        text, _, places = row.partition("\t")
        for place in places.split():
            workload, _, number = place.rpartition(":")
            found.setdefault(workload, {})[text] = int(number)
    return {workload: sorted(order, key=order.__getitem__) for workload, order in found.items()}


def test_what_comes_next_in_a_recorded_workload_is_compiled_ahead(store):
    """In a first run, where there is no history: Hopper's kernels on sm_90 alone."""
    order = table()["nanogpt-bfloat16"]
    code = f"{WAIT}\nload({order[0]!r}); wait(32); say(_core.kernel_counts())"
    for architecture in ("90", "80"):
        assert store.run(code, SHIM_TORCH_COMPILE_AHEAD="4", SIMULATED_ARCHITECTURE=architecture)["ahead"] == 32
    compiled = {arguments.removeprefix("code ") for what, _, arguments in store.log() if what == "end"}
    next_one = " ".join(f"-D{macro}" for macro in order[1].split()[1:])
    assert f"--gpu-architecture=sm_90 -std=c++17 -default-device {next_one}" in compiled
    assert not [text for text in compiled if "sm_80" in text and "HOPPER=1" in text]


def test_the_table_is_in_order_and_of_our_kernels():
    rows = [row for row in kernel_pack.TABLE.read_text().splitlines() if not row.startswith("#")]
    assert len(rows) > 200 and rows == sorted(set(rows), key=lambda row: row.partition("\t")[0])
    for row in rows:
        assert _core.kernel_key(row.partition("\t")[0], 90)  # raises where it is none
    assert {"resnet18-float16", "nanogpt-bfloat16", "liger-float32"} < set(table())


def test_what_is_kept_is_not_compiled_ahead(store):
    store.run("for op in ('sum', 'prod', 'amax'): load(line(op))")
    for kept in (store.cache / "kernels").glob("*sum*"):
        kept.unlink()
    store.run("load(line('sum')); time.sleep(0.3)", SHIM_TORCH_COMPILE_AHEAD="2")
    assert len(store.log()) == 8  # 4 programs


def test_a_program_waits_for_one_that_is_compiled_ahead(store):
    store.run("for op in ('sum', 'prod'): load(line(op))")
    forget_code(store)
    code = f"{BEGUN}\nload(line('sum')); begun('prod'); assert load(line('prod')); say(_core.kernel_counts())"
    counts = store.run(code, SHIM_TORCH_COMPILE_AHEAD="1", SIMULATED_SLEEP="1000", SIMULATED_SLOW="-DOP=prod")
    assert counts == {"pack": 0, "kept": 0, "compiled": 1, "ahead": 1}


def test_the_end_of_a_process_stops_what_is_compiled_ahead(store):
    store.run("for op in ('sum', 'prod'): load(line(op))")
    forget_code(store)
    begun = time.monotonic()
    code = f"{BEGUN}\nload(line('sum')); begun('prod')"
    store.run(code, SHIM_TORCH_COMPILE_AHEAD="1", SIMULATED_SLEEP="100000", SIMULATED_SLOW="-DOP=prod")
    assert time.monotonic() - begun < 60
    assert store.log()[-1][0] == "stopped" and not list((store.cache / "kernels").glob("*prod*"))


def test_a_forked_child_has_none_of_it(store):
    store.run("for op in ('sum', 'prod'): load(line(op))")
    forget_code(store)
    code = (
        BEGUN
        + """
load(line("sum")); begun("prod")
child = os.fork()
if not child:
    counts = _core.kernel_counts()
    sys.exit(0 if counts == {"pack": 0, "kept": 0, "compiled": 0, "ahead": 0} and load(line("amax")) else 7)
end = time.time() + 60
while (found := os.waitpid(child, os.WNOHANG)) == (0, 0):
    assert time.time() < end
    time.sleep(0.01)
say(found[1])
"""
    )
    assert store.run(code, SHIM_TORCH_COMPILE_AHEAD="1", SIMULATED_SLEEP="3000", SIMULATED_SLOW="-DOP=prod") == 0


def test_a_damaged_history_harms_nothing(store):
    store.run("for op in ('sum', 'prod'): load(line(op))")
    history = store.cache / "kernel_history.txt"
    good = history.read_text()
    assert os.stat(history).st_mode & 0o777 == 0o600 and good.splitlines()[1].endswith(line("prod"))
    forget_code(store)
    digest = good.splitlines()[1][:16]
    history.write_bytes(
        b"\xff\x00\n".join([b"", good[:50].encode(), b"0" * 400_000])
        + f"\n{digest} reduce --pre-include=/etc/passwd\n{digest} no_such_program OP=sum\n{good}".encode()
    )
    code = f"{WAIT}\nload(line('sum')); wait(1); say(_core.kernel_counts())"
    assert store.run(code, SHIM_TORCH_COMPILE_AHEAD="1")["ahead"] == 1
    assert len(store.log()) == 4 and "passwd" not in str(store.log()) and history.stat().st_size < 300_000


def test_the_history_holds_each_pair_once(store):
    for _ in range(2):
        store.run("for op in ('sum', 'prod', 'amax'): load(line(op))")
        forget_code(store)
    assert len((store.cache / "kernel_history.txt").read_text().splitlines()) == 3


def test_programs_are_recorded_in_order(store):
    path = store.folder / "recorded"
    for _ in range(2):  # compiled, then loaded
        store.run("for op in ('prod', 'sum', 'prod'): load(line(op))", SHIM_TORCH_RECORD_KERNELS=str(path))
    assert path.read_text().splitlines() == [line("prod"), line("sum")] * 2


WRONG = {"SIMULATED_WRONG": "-DOP=prod"}


def test_a_failure_is_told_with_the_compilers_log(store):
    code = """
import warnings
from compat import torch_proxy_status
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    found = [load(line("prod")), load(line("sum")), load(line("prod", 2)), load(line("prod"))]
say([found, [(w.category.__name__, str(w.message), w.filename) for w in caught], torch_proxy_status()["failed_kernels"]])
"""
    found, warned, failed = store.run(code, **WRONG)
    assert found == [False, True, False, False]
    ((category, text, file),) = warned
    assert category == "RuntimeWarning" and file == "<string>"
    for part in (line("prod"), "sm_90", "a simulated mistake", "torch_proxy_status()"):
        assert part in text
    assert [f["macros"][:2] + f["macros"][5:6] for f in failed] == [
        ["OP=prod", "NORM=0", "V=4"],
        ["OP=prod", "NORM=0", "V=2"],
    ]
    assert failed[0]["kernel"] == "reduce" and failed[0]["architecture"] == 90
    assert "a simulated mistake" in failed[0]["log"]


def test_a_warning_that_is_an_error_is_raised(store):
    code = """
try: load(line("prod"))
except RuntimeWarning as error: say([str(error), load(line("prod")), load(line("sum"))])
"""
    text, again, other = store.run(code, "-W", "error::RuntimeWarning", **WRONG)
    assert "a simulated mistake" in text and not again and other


def test_an_entry_that_is_not_there(store):
    code = "load(line('sum')); say([_core.kernel_load(0, line('sum'), 'absent'), _core.failed_kernels()[0]['log']])"
    assert store.run(code) == [False, "there is no kernel absent"]


def test_failures_are_kept_until_the_program_compiles(store):
    state = "from shim_torch._impl.extensions import kernel_pack; load(line('prod')); say(kernel_pack.cache_state())"
    failed = store.run(state, **WRONG)
    assert failed["kernels"] == 0 and failed["why"] == ""
    (text,) = failed["failed"]
    assert text.startswith(f"sm_90 {line('prod')}\n") and "a simulated mistake" in text
    (file,) = (store.cache / "kernels").glob("*.failed")
    other = store.cache / "kernels" / "other.failed"
    other.write_text("0123456789abcdef sm_90 reduce OP=sum\nof another version's sources")
    assert store.run(state, **WRONG)["failed"] == [text]
    other.unlink()
    mended = store.run(state)
    assert mended["failed"] == [] and mended["kernels"] == 1 and not file.exists()


def test_without_a_compiler(store):
    alone = store.folder / "driver_alone"
    alone.mkdir()
    (alone / "libcuda.so.1").symlink_to(store.libraries / "libcuda.so.1")
    code = """
from shim_torch._impl.extensions import cuda_libraries
cuda_libraries.candidates = lambda name: []
say([load(line("sum")), _core.failed_kernels()[0]["log"]])
"""
    found, log = store.run(code, LD_LIBRARY_PATH=str(alone))
    assert not found and "NVRTC was not found" in log
    assert not (store.cache / "kernels").exists() or not list((store.cache / "kernels").iterdir())
