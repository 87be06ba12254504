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
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert [e["name"] for e in events if e["cat"] == "user_annotation"] == ["outer", "inner"] * 3


def test_operators_and_backward_nodes(tmp_path):
    def run():
        y = torch.nn.functional.linear(x, w, b)
        (y * 2).relu().sum().backward()
        torch.nn.functional.conv2d(torch.ones(1, 2, 5, 5), torch.ones(3, 2, 3, 3))
        return y

    x, w, b = (torch.ones(*sizes, requires_grad=True) for sizes in ((4, 3), (5, 3), (5,)))
    with torch.profiler.profile(record_shapes=True, with_flops=True) as found, torch.profiler.record_function("mine"):
        run()
    found.add_metadata("who", "a test")
    found.add_metadata_json("which", "[1, 2]")
    events = {e.name: e for e in found.events()}
    linear, backward = events["aten::linear"], events["AddmmBackward0"]
    assert linear.input_shapes == [[4, 3], [5, 3], [5]] and linear.flops == 2 * 4 * 3 * 5
    assert linear.cpu_parent is events["mine"] and linear.sequence_nr == backward.sequence_nr >= 0
    assert backward.cpu_parent is events["autograd::engine::evaluate_function: AddmmBackward0"] and (
        backward.scope,
        linear.fwd_thread,
    ) == (1, 0)
    assert events["aten::conv2d"].flops == 2 * 27 * 18 and events["aten::mul"].flops == 20
    assert all(e.cpu_time_total > 0 for e in events.values())
    table = found.key_averages(group_by_input_shape=True).table(sort_by="cpu_time_total", header="of a test")
    assert "Total FLOPs" in table and "[[4, 3], [5, 3], [5]]" in table and table.splitlines()[1] == "of a test"
    assert len(found.key_averages().table(row_limit=1, top_level_events_only=True).splitlines()) == 6
    found.export_chrome_trace(str(tmp_path / "trace.json"))
    trace = json.loads((tmp_path / "trace.json").read_text())
    assert (trace["who"], trace["which"]) == ("a test", [1, 2])
    assert [e["args"]["Input Dims"] for e in trace["traceEvents"] if e["name"] == "aten::linear"] == [
        linear.input_shapes
    ]


def test_profiles_within_profiles():
    x = torch.ones(3)
    with torch.autograd.profiler.profile() as outer:
        x.exp()
        with torch.autograd.profiler.profile() as inner:
            x.sin()
    x.cos()
    assert [e.name for e in outer.function_events] == ["aten::exp", "aten::sin"]
    assert [e.name for e in inner.function_events] == ["aten::sin"]
    assert [(e.key, e.count) for e in inner.key_averages(group_by_input_shape=True)] == [("aten::sin", 1)]
    assert inner.function_events[0].input_shapes is None and inner.function_events[0].flops is None


def test_threads_have_events_of_their_own():
    import threading

    with torch.profiler.profile() as found:
        thread = threading.Thread(target=lambda: torch.ones(2).exp())
        with torch.profiler.record_function("around"):
            thread.start()
            thread.join()
    exp = next(e for e in found.events() if e.name == "aten::exp")
    assert exp.thread != next(e for e in found.events() if e.name == "around").thread and exp.cpu_parent is None


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
    with torch.profiler.profile() as p:
        pass
    for setting in ({"group_by_stack_n": 1}, {"group_by_overload_name": True}):
        with pytest.raises(NotImplementedError, match="stacks and overloads are not recorded"):
            p.key_averages(**setting)


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


@pytest.mark.parametrize("name", ["profile_memory", "with_stack", "with_modules", "use_cuda"])
def test_what_is_not_recorded_is_refused(name):
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


def test_what_cannot_be_sorted_by_or_recorded_is_refused():
    with torch.profiler.profile() as found:
        torch.ones(2) + torch.ones(3, 2)
    averages = found.key_averages()
    for name in ("cpu_time_total", "count", "cuda_time_total", "self_cpu_memory_usage", "self_device_time_total"):
        assert "aten::add" in averages.table(sort_by=name)
    with pytest.raises(AttributeError, match="nope"):
        averages.table(sort_by="nope")
    with pytest.raises(AssertionError, match="No valid profiler activities found"):
        torch.profiler.profile(activities=["cpu"])
