"""Names that can be imported and say NotImplementedError when used; what stands beside them does what PyTorch documents."""

from __future__ import annotations

import importlib
import io
import logging

import pytest

import shim_torch as torch


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("ao.quantization", "quantize_dynamic"),
        ("ao.quantization", "MinMaxObserver"),
        ("ao.quantization.quantization_mappings", "get_default_qat_module_mappings"),
        ("ao.nn.quantized", "Linear"),
        ("ao.nn.quantized.dynamic", "LSTM"),
        ("ao.nn.intrinsic", "ConvBnReLU2d"),
        ("ao.pruning", "BaseSparsifier"),
        ("jit.frontend", "get_jit_def"),
        ("jit.mobile", "_load_for_lite_interpreter"),
        ("_inductor.compile_fx", "compile_fx"),
        ("_inductor.codecache", "FxGraphCache"),
        ("_inductor.graph", "GraphLowering"),
        ("_inductor.ir", "TensorBox"),
        ("_inductor.kernel.flex.common", "construct_strides"),
        ("_inductor.package", "load_package"),
    ],
)
def test_use_is_refused_by_name(module, name):
    found = getattr(importlib.import_module(f"shim_torch.{module}"), name)
    with pytest.raises(NotImplementedError, match=rf"torch\.{module}\.{name} is not supported"):
        found()


def test_they_count_as_missing():
    from shim_torch_proxy.cli import coverage, scan

    assert scan.status("torch.ao.quantization.quantize_dynamic")[1] == "missing"
    assert scan.status("torch.ao.quantization.QuantStub")[1] == "ok"
    table = coverage.coverage()
    here, gone = table["torch.nn.functional"]
    assert "torch.nn.functional.linear" in here and not set(here) & set(gone)
    assert "torch.jit.frontend.get_jit_def" in table["torch.jit"][1]
    assert coverage.main("torch.nowhere") == 2


def test_no_compiled_code():
    from shim_torch._inductor import codecache, exc

    with pytest.raises(exc.InvalidCxxCompiler):
        codecache.CppCodeCache.load("int f() { return 1; }")


def test_map():
    from shim_torch._higher_order_ops import map as mapped

    x, y = torch.arange(6.0).reshape(3, 2).requires_grad_(), torch.tensor([1.0, 2.0])
    out = mapped(lambda part, other: {"sum": part["x"] + other, "dot": (part["x"] * other).sum()}, {"x": x}, y)
    torch.testing.assert_close(out["sum"], x + y)
    torch.testing.assert_close(out["dot"], x @ y)
    out["dot"].sum().backward()
    torch.testing.assert_close(x.grad, y.expand(3, 2))
    with pytest.raises(RuntimeError, match="only consist of tensors"):
        mapped(lambda a: a, 3)
    with pytest.raises(RuntimeError, match="must be consistent"):
        mapped(lambda a: a[0], (torch.ones(2), torch.ones(3)))
    with pytest.raises(RuntimeError, match="cannot be 0"):
        mapped(lambda a: a, torch.ones(0, 2))


def test_register_hook_op():
    from shim_torch._higher_order_ops.register_hook import register_hook_op

    x = torch.ones(2, requires_grad=True)
    register_hook_op(x, lambda grad, factor: grad * factor, torch.tensor(3.0))
    x.sum().backward()
    assert x.grad.tolist() == [3, 3]


def test_ordered_set():
    from shim_torch.utils._ordered_set import OrderedSet

    a, b = OrderedSet([3, 1, 2, 1]), OrderedSet([2, 5, 3])
    assert list(a) == [3, 1, 2] and list(reversed(a)) == [2, 1, 3] and repr(a) == "OrderedSet([3, 1, 2])"
    assert a == {1, 2, 3} and {1, 2, 3} == a and a != {1}
    assert list(a | b) == [3, 1, 2, 5] and list(a & b) == [3, 2] and list(a - b) == [1] and list(a ^ b) == [1, 5]
    assert list(a.union([7], [8])) == [3, 1, 2, 7, 8] and list(a.intersection(b, [3])) == [3]
    assert list(a.difference([1], [2])) == [3] and list(a.symmetric_difference(b)) == [1, 5]
    assert a.issubset({1, 2, 3, 4}) and a.issuperset([1]) and {1} <= a and a.isdisjoint({9})
    a.difference_update([1])
    a.update([9], [1])
    assert a.pop() == 3 and list(a) == [2, 9, 1]
    a.discard(100)
    with pytest.raises(KeyError):
        a.remove(100)
    with pytest.raises(KeyError):
        OrderedSet().pop()


@pytest.fixture
def logs(monkeypatch):
    from shim_torch._logging import _internal

    monkeypatch.delenv("TORCH_LOGS", raising=False)
    before = _internal._get_log_state()
    _internal._set_log_state(_internal.LogState())
    yield _internal
    _internal._set_log_state(before)
    monkeypatch.undo()
    _internal._init_logs()


def test_log_levels(logs, monkeypatch):
    stream = io.StringIO()
    logs.set_logs(autograd=logging.DEBUG, modules={"json": logging.ERROR})
    logger = logging.getLogger("torch.autograd")
    assert logger.getEffectiveLevel() == logging.DEBUG and logging.getLogger("json").level == logging.ERROR
    assert logging.getLogger("torch.nn").getEffectiveLevel() == logging.WARNING
    next(h for h in logger.handlers if h in logs._ours).setStream(stream)
    logging.getLogger("torch.autograd.graph").debug("one\ntwo")
    first, second = stream.getvalue().splitlines()
    assert first.startswith("V") and first.endswith("] one") and second.endswith("] two")
    with pytest.raises(ValueError, match="Unrecognized log level"):
        logs.set_logs(autograd=3)
    with pytest.raises(TypeError, match="got an unexpected keyword argument 'no_such_log'"):
        logs.set_logs(no_such_log=logging.INFO)
    monkeypatch.setenv("TORCH_LOGS", "-dynamo,graph_breaks,+c10d")
    logs._init_logs()
    assert logging.getLogger("torch._dynamo").level == logging.ERROR and logs.log_state.is_artifact_enabled(
        "graph_breaks"
    )
    assert logging.getLogger("torch.distributed.rendezvous").level == logging.DEBUG
    assert logger.level == logging.NOTSET
    monkeypatch.setenv("TORCH_LOGS", "nothing_of_this_name")
    with pytest.raises(ValueError, match="Invalid log settings"):
        logs._init_logs()


def asked(state):
    return dict(state.get_log_level_pairs()), state.artifact_names


@pytest.mark.parametrize(
    ("settings", "levels", "artifacts"),
    [
        ("", {}, set()),
        ("+all, autograd", {"torch": 10, "torch.autograd": 20}, set()),
        ("+json,-json.decoder", {"json": 10, "json.decoder": 40}, set()),
        ("+onnx,-onnx,-graph_breaks,caching", {"torch.onnx": 40}, {"graph_breaks", "caching"}),
    ],
)
def test_log_settings(logs, settings, levels, artifacts):
    assert asked(logs._parse_log_settings(settings)) == (levels, artifacts)


@pytest.mark.parametrize("settings", ["+", "++onnx", "onnx,", "onnx,,torch", " onnx", "- onnx", "json.none", "a-b"])
def test_log_settings_that_cannot_be(logs, settings):
    with pytest.raises(ValueError) as caught:
        logs._parse_log_settings(settings)
    assert str(caught.value).startswith(
        f"\nInvalid log settings: {settings}, must be a comma separated list of fully\nqualified module names, registered log "
    )


def test_logs_that_are_set(logs, monkeypatch):
    def after(**settings):
        logs.set_logs(**settings)
        return asked(logs.log_state)

    assert after(all=10, autograd=None, graph_breaks=True) == ({"torch": 10}, {"graph_breaks"})
    assert after(onnx=10, graph_breaks=False, modules={"onnx": 40}) == ({"torch.onnx": 40}, set())
    assert after(modules={"perf_hints": True, "colorsys": 15}) == ({"colorsys": 15}, {"perf_hints"})
    assert after(modules={"json": None}) == after() == ({}, set())
    for settings, text in (
        ({"graph_breaks": 1}, "Expected bool to enable artifact graph_breaks, received 1"),
        ({"all": 3}, "Unrecognized log level for log torch: 3, valid level values are: 50,40,30,20,10,0"),
        ({"onnx": True}, "Unrecognized log level for log onnx: True, valid level"),
        ({"modules": {"no_such_module": 3}}, "Unrecognized log or artifact name passed to set_logs: no_such_module"),
        ({"modules": {"all": 20}}, "Unrecognized log or artifact name passed to set_logs: all"),
    ):
        with pytest.raises(ValueError, match=text):
            logs.set_logs(**settings)
    logs.set_logs(onnx=40)
    monkeypatch.setenv("TORCH_LOGS", "+onnx")
    logs.set_logs(onnx=30)
    assert asked(logs.log_state) == ({"torch.onnx": 40}, set())


def test_a_log_file_and_kinds_of_messages(logs, monkeypatch, tmp_path):
    logger = logs.getArtifactLogger("torch.thing", "graph_breaks")
    monkeypatch.setenv("TORCH_LOGS", "graph_breaks")
    monkeypatch.setenv("TORCH_LOGS_OUT", str(tmp_path / "log"))
    logs._init_logs()
    assert (logger.name, logger.level, logger.propagate) == ("torch.thing.__graph_breaks", logging.DEBUG, True)
    logger.debug("seen")
    assert (tmp_path / "log").read_text().endswith("] seen\n")
    monkeypatch.setenv("TORCH_LOGS", "")
    logs._init_logs()
    assert logger.level == logging.NOTSET
