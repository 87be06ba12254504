"""torch.profiler: ranges by name, traces, schedules."""

import json

import pytest

import shim_torch as torch
from shim_torch._impl.native import _core


def test_profiler(tmp_path):
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as found:
        for _ in range(3):
            with torch.profiler.record_function("outer"), torch.autograd.profiler.record_function("inner"):
                torch.ones(3).sum()
    by_name = {e.key: e for e in found.key_averages()}
    assert by_name["outer"].count == by_name["inner"].count == 3
    assert by_name["outer"].cpu_time_total >= by_name["inner"].cpu_time_total > 0
    assert by_name["outer"].self_cpu_time_total < by_name["outer"].cpu_time_total
    assert "outer" in found.key_averages().table(sort_by="cpu_time_total")
    found.export_chrome_trace(str(tmp_path / "trace.json"))
    assert len(json.loads((tmp_path / "trace.json").read_text())) == 6


def test_profiler_schedule():
    plan = torch.profiler.schedule(wait=1, warmup=1, active=2, repeat=1)
    names = [plan(i).name for i in range(6)]
    assert names == ["NONE", "WARMUP", "RECORD", "RECORD_AND_SAVE", "NONE", "NONE"]
    ready = []
    with torch.profiler.profile(schedule=plan, on_trace_ready=lambda p: ready.append(len(p.events()))) as p:
        for _ in range(6):
            with torch.profiler.record_function("step"):
                pass
            p.step()
    assert ready == [2]


@pytest.mark.parametrize(
    ("settings", "actions"),
    [
        ({}, "012230122301"),
        ({"repeat": 2}, "012230122300"),
        ({"skip_first": 3}, "000012230122"),
        ({"skip_first": 3, "skip_first_wait": 1}, "000122301223"),
        ({"skip_first": 1, "skip_first_wait": 1, "repeat": 1}, "012230000000"),
        ({"active": 1}, "013013013013"),
        ({"wait": 0, "warmup": 3}, "111223111223"),
    ],
)
def test_profiler_schedules(settings, actions):
    plan = torch.profiler.schedule(**{"wait": 1, "warmup": 1, "active": 3, **settings})
    assert "".join(str(plan(step).value) for step in range(12)) == actions
    with pytest.raises(AssertionError, match="Step must be non-negative. Got -1."):
        plan(-1)


def test_profiler_schedules_that_cannot_be():
    with pytest.raises(AssertionError) as caught:
        torch.profiler.schedule(wait=2, warmup=1, active=0, repeat=-1)
    assert str(caught.value) == (
        "Invalid profiler schedule arguments. Got wait=2 (need >= 0), warmup=1 (need >= 0), active=0 (need > 0), "
        "repeat=-1 (need >= 0), skip_first=0 (need >= 0)."
    )
    with pytest.warns(UserWarning, match="Profiler won't be using warmup, this can skew profiler results"):
        torch.profiler.schedule(wait=0, warmup=0, active=1)


def test_the_schedule_of_a_profiler_without_one():
    from shim_torch.profiler import ProfilerAction
    from shim_torch.profiler.profiler import _default_schedule_fn

    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as found:
        assert found.schedule is _default_schedule_fn and _default_schedule_fn(7) is ProfilerAction.RECORD


@pytest.mark.parametrize("name", ["profile_memory", "with_flops", "record_shapes", "with_stack", "with_modules"])
def test_what_only_operators_would_tell_is_refused(name):
    for profile in (torch.profiler.profile, torch.autograd.profiler.profile):
        with pytest.raises(NotImplementedError, match=f"profile\\({name}=True\\) is not supported by shim-torch"):
            profile(**{name: True})
        profile(**{name: False})
        with pytest.raises(TypeError, match="unexpected keyword argument 'bogus'"):
            profile(bogus=1)


def test_kernels_of_a_gpu_are_not_recorded(monkeypatch):
    asked = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    monkeypatch.setattr(_core, "cuda_device_count", lambda: 0)
    with pytest.warns(UserWarning, match="CUDA is not available, disabling CUDA profiling"):
        assert torch.profiler.profile(activities=asked).activities == {torch.profiler.ProfilerActivity.CPU}
    monkeypatch.setattr(_core, "cuda_device_count", lambda: 1)
    with pytest.raises(NotImplementedError, match="ProfilerActivity.CUDA is not supported by shim-torch"):
        torch.profiler.profile(activities=asked)
