"""torch.multiprocessing.spawn: what is raised for the first process that fails, and how the others end."""

import importlib
import os
import signal
import sys
import time

import pytest

import shim_torch as torch

spawn = importlib.import_module("shim_torch.multiprocessing.spawn")  # as an attribute it is the function


def work(i, kind):
    if i == 0 or kind == "fine":
        return
    if kind == "raises":
        raise ValueError(f"of process {i}")
    if kind == "signal":
        os.kill(os.getpid(), signal.SIGKILL)
    sys.exit(3)


def fail_while_others_run(i, folder, stubborn):
    if i == 0:
        while not os.path.exists(os.path.join(folder, "ready")):
            time.sleep(0.01)
        sys.exit(2)
    if stubborn:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    open(os.path.join(folder, "ready"), "w").close()
    time.sleep(60 if stubborn else 0.3)
    open(os.path.join(folder, "done"), "w").close()


def start(function, *args, **kwargs):
    return spawn.start_processes(function, args, 2, start_method="fork", **kwargs)


def joined(context, **kwargs):
    while not context.join(**kwargs):
        pass


def test_processes_that_succeed():
    assert start(work, "fine") is None and spawn.start_processes(work, ("fine",), 0) is None
    context = start(work, "fine", join=False)
    assert len(context.pids()) == 2 and sorted(context.sentinels.values()) == [0, 1]
    joined(context)
    assert context.join() and not context.sentinels
    assert not any(os.path.exists(path) for path in context.error_files)


@pytest.mark.parametrize(
    ("kind", "error", "text", "code", "name"),
    [
        (
            "raises",
            spawn.ProcessRaisedException,
            "-- Process 1 terminated with the following error:\nTraceback",
            None,
            None,
        ),
        ("exits", spawn.ProcessExitedException, "process 1 terminated with exit code 3", 3, None),
        ("signal", spawn.ProcessExitedException, "process 1 terminated with signal SIGKILL", -9, "SIGKILL"),
    ],
)
def test_the_failure_of_a_process_is_raised(kind, error, text, code, name):
    with pytest.raises(error, match=text) as caught:
        start(work, kind)
    assert caught.value.error_index == 1
    assert (getattr(caught.value, "exit_code", None), getattr(caught.value, "signal_name", None)) == (code, name)
    assert kind != "raises" or str(caught.value).endswith("ValueError: of process 1\n")


def test_join_waits_no_longer_than_asked(tmp_path):
    context = start(fail_while_others_run, str(tmp_path), False, join=False)
    assert context.join(timeout=0.0) is False
    with pytest.raises(spawn.ProcessExitedException):
        joined(context)
    assert [p.exitcode for p in context.processes] == [2, -signal.SIGTERM] and not (tmp_path / "done").exists()


def test_others_have_a_grace_period(tmp_path):
    context = start(fail_while_others_run, str(tmp_path), False, join=False)
    with pytest.raises(spawn.ProcessExitedException, match="process 0 terminated with exit code 2"):
        joined(context, grace_period=20)
    assert [p.exitcode for p in context.processes] == [2, 0] and (tmp_path / "done").exists()


def test_what_does_not_end_is_killed(tmp_path):
    context = start(fail_while_others_run, str(tmp_path), True, join=False)
    with pytest.raises(spawn.ProcessExitedException, match="process 0 terminated with exit code 2"):
        joined(context, grace_period=0.2)
    assert context.processes[1].exitcode == -signal.SIGKILL


def _work(i, values):
    if values[i] < 0:
        raise ValueError("negative")


def test_spawn():
    mp = torch.multiprocessing
    mp.start_processes(_work, ([1, 2],), nprocs=2, start_method="fork")
    with pytest.raises(mp.ProcessRaisedException, match="Process 1 terminated with the following error") as error:
        mp.start_processes(_work, ([1, -2],), nprocs=2, start_method="fork")
    assert error.value.error_index == 1
