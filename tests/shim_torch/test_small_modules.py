"""Modules of few functions: _C, backends, profiler, jit, multiprocessing, fx, fake tensors, _prims_common."""

from __future__ import annotations

import json

import pytest

import shim_torch as torch
from shim_torch._impl.native import _core


def test_c_module():
    c = torch._C
    assert c.TensorBase is torch.Tensor.__mro__[1] or issubclass(torch.Tensor, c.TensorBase)
    x = torch.arange(10)
    assert c._overlaps(x[:5], x[4:])
    assert not c._overlaps(x[:5], x[5:])
    assert c._is_alias_of(x[:5], x[5:])
    assert not c._is_alias_of(x, torch.arange(10))
    assert c._nn._parse_to("cpu", torch.float16) == (torch.device("cpu"), torch.float16, False, None)
    assert c._nn.gelu(torch.zeros(1)).item() == 0.0
    schema = c.parse_schema("my::op(Tensor x, int[]? y=None) -> Tensor")
    assert schema.name == "my::op"
    assert [a.name for a in schema.arguments] == ["x", "y"]
    assert isinstance(schema.arguments[1].type, c.OptionalType)
    assert c._log_api_usage_once("x") is None
    assert c._cuda_getDeviceCount() == torch.cuda.device_count()
    with pytest.raises(AttributeError):
        c.no_such_thing


def test_backends_settings():
    b = torch.backends
    assert b.cudnn.enabled is True
    b.cudnn.benchmark = True
    assert b.cudnn.benchmark is True
    b.cudnn.benchmark = False
    b.cudnn.allow_tf32 = False
    assert _core.cudnn_setting("allow_tf32") is False
    b.cudnn.allow_tf32 = True
    with b.cudnn.flags(enabled=False, deterministic=True):
        assert (_core.cudnn_setting("enabled"), _core.cudnn_setting("deterministic")) == (False, True)
        assert (b.cudnn.enabled, b.cudnn.deterministic) == (False, True)
    assert (b.cudnn.enabled, b.cudnn.deterministic) == (True, False)
    assert (_core.cudnn_setting("enabled"), _core.cudnn_setting("deterministic")) == (True, False)
    assert not b.mps.is_available()
    assert b.cuda.is_built()
    assert b.cpu.get_cpu_capability() in ("AVX512", "AVX2", "NO AVX", "DEFAULT")
    assert not hasattr(b, "cupy") and not hasattr(b, "numpy")
    b.cuda.matmul.allow_tf32 = True
    assert b.cuda.matmul.fp32_precision == "tf32"
    b.cuda.matmul.allow_tf32 = False
    with pytest.raises(AttributeError, match="Unknown attribute nothing"):
        b.cuda.matmul.nothing


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


def test_jit_leaves_functions_alone():
    @torch.jit.script
    def f(x):
        return x + 1 if torch.jit.is_scripting() else x

    assert f(3) == 3
    assert torch.jit.annotate(int, 4) == 4
    assert torch.jit.isinstance([1], list[int])
    assert not torch.jit.isinstance(["a"], list[int])
    assert torch.jit.ignore(drop=True)(f) is f
    assert torch.jit.trace(f, 1) is f
    with pytest.raises(NotImplementedError, match="torch.jit.save"):
        torch.jit.save(f, "file")


def _work(i, values):
    if values[i] < 0:
        raise ValueError("negative")


def test_spawn():
    mp = torch.multiprocessing
    mp.start_processes(_work, ([1, 2],), nprocs=2, start_method="fork")
    with pytest.raises(mp.ProcessRaisedException, match="Process 1 terminated with the following error") as error:
        mp.start_processes(_work, ([1, -2],), nprocs=2, start_method="fork")
    assert error.value.error_index == 1


def test_fx_names_are_there():
    assert isinstance(torch.fx.Node, type)
    assert issubclass(torch.fx.GraphModule, torch.nn.Module)
    from shim_torch.fx.node import map_aggregate

    assert map_aggregate({"a": [1, (2,)]}, lambda x: x + 1) == {"a": [2, (3,)]}


def test_prims_common():
    p = torch._prims_common
    kind = p.ELEMENTWISE_TYPE_PROMOTION_KIND
    bf = torch.ones(2, dtype=torch.bfloat16)
    ints = torch.ones(2, dtype=torch.int32)
    assert p.elementwise_dtypes(bf, 1.0, type_promotion_kind=kind.DEFAULT) == (torch.float32, torch.bfloat16)
    assert p.elementwise_dtypes(ints, type_promotion_kind=kind.INT_TO_FLOAT) == (torch.float32, torch.float32)
    wide = torch.tensor(1.0, dtype=torch.float64)
    assert p.elementwise_dtypes(ints, wide, type_promotion_kind=kind.DEFAULT) == (torch.float64, torch.float64)
    assert p.elementwise_dtypes(ints, type_promotion_kind=kind.ALWAYS_BOOL)[1] == torch.bool
    assert p.make_contiguous_strides_for((2, 3, 4)) == (12, 4, 1)
    assert p.make_channels_last_strides_for((2, 3, 4, 5)) == (60, 1, 15, 3)
    assert p.is_non_overlapping_and_dense(torch.ones(2, 3).t())
    assert not p.is_non_overlapping_and_dense(torch.ones(2, 4)[:, ::2])
    assert p.canonicalize_dim(3, -1) == 2
    assert p.infer_size((2, -1), 6) == (2, 3)
    with pytest.raises(IndexError, match=r"expected to be in range of \[-3, 2\], but got 3"):
        p.canonicalize_dim(3, 3)


def test_kernels_as_objects():
    kernel = torch.library.get_kernel("aten::add.Tensor", "CPU")
    x = torch.ones(2, requires_grad=True)
    found = kernel.call_boxed(None, x, torch.ones(2), alpha=3)
    assert (found.tolist(), found.requires_grad) == ([4.0, 4.0], False)
    with pytest.raises(RuntimeError, match="operator aten::nope does not exist"):
        torch.library.get_kernel("aten::nope", "CPU")
    with pytest.raises(ValueError, match="Invalid dispatch key: FOO"):
        torch.library.get_kernel("aten::add.Tensor", "FOO")
    with pytest.raises(RuntimeError, match="no kernel for XLA for aten::add.Tensor"):
        torch.library.get_kernel("aten::add.Tensor", "XLA")


@pytest.mark.parametrize("name", ["uint4", "int1", "uint7", "bits8"])
def test_bare_integers_are_made_viewed_and_copied(name):
    dtype = getattr(torch, name)
    assert (repr(dtype), dtype.itemsize, dtype.is_signed) == (f"torch.{name}", 1, name == "int1")
    assert torch.zeros(3, dtype=dtype).view(torch.uint8).tolist() == [0, 0, 0]
    data = torch.tensor([1, 2, 3], dtype=torch.uint8)
    assert data.view(dtype).clone().view(torch.uint8).tolist() == [1, 2, 3]
    with pytest.raises((NotImplementedError, TypeError), match="not implemented|unsupported"):
        data.view(dtype) + 1


def test_extreme_eigenvalues_by_lobpcg():
    torch.manual_seed(0)
    q = torch.linalg.qr(torch.randn(40, 40, dtype=torch.float64))[0]
    values = torch.arange(1.0, 41.0, dtype=torch.float64)
    a = (q * values) @ q.mT
    found, vectors = torch.lobpcg(a, k=3)
    torch.testing.assert_close(found, values.flip(0)[:3], rtol=1e-6, atol=0)
    torch.testing.assert_close(a @ vectors, vectors * found, rtol=0, atol=1e-3)
    least, _ = torch.lobpcg(a, k=2, B=torch.eye(40, dtype=torch.float64) * 2, largest=False)
    torch.testing.assert_close(least, values[:2] / 2, rtol=1e-6, atol=0)
    with pytest.raises(ValueError, match="is smaller than 3 x the number of requested eigenpairs"):
        torch.lobpcg(torch.eye(4), k=2)


def test_classes_of_absent_devices():
    for name in ("Event", "Stream", "device"):
        assert not isinstance(1, getattr(torch.xpu, name))
        with pytest.raises(RuntimeError, match=f"torch.xpu.{name}: there is no XPU device"):
            getattr(torch.xpu, name)()
    assert torch.autograd.DeviceType.CUDA == 1
    assert torch.cuda.get_sync_debug_mode() == 0
    torch.cuda.set_sync_debug_mode("default")
    with pytest.raises(NotImplementedError, match="set_sync_debug_mode"):
        torch.cuda.set_sync_debug_mode("warn")
