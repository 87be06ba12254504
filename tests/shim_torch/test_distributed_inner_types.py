"""What libraries import of torch.distributed's inner modules and of the exporter's state: it works for one process."""

import json

import pytest

import shim_torch as torch
from shim_torch.distributed import _composable_state as states
from shim_torch.distributed.elastic.multiprocessing.errors import ChildFailedError, ProcessFailure
from shim_torch.distributed.fsdp._fully_shard._fsdp_param import FSDPParam
from shim_torch.distributed.fsdp._fully_shard._fsdp_param_group import FSDPParamGroup
from shim_torch.distributed.fsdp._state_dict_utils import _convert_to_wrapped_module_name
from shim_torch.onnx._internal.torchscript_exporter._globals import GLOBALS


def test_states_of_modules():
    class State(states._State):
        pass

    class Itself(torch.nn.Module, states._State):
        pass

    module, state, own = torch.nn.Linear(1, 1), State(), Itself()
    assert states._get_module_state(module) is None
    assert states._get_module_state(own) is own
    states._insert_module_state(module, state)
    assert states._get_module_state(module) is state
    with pytest.raises(AssertionError, match="more than once"):
        states._insert_module_state(module, state)
    del state
    with pytest.raises(AssertionError, match="already been garbage collected"):
        states._get_module_state(module)


@pytest.mark.parametrize("kind", [FSDPParam, FSDPParamGroup])
def test_sharded_parameters_can_be_derived_from_and_not_made(kind):
    derived = type("Derived", (kind,), {})
    with pytest.raises(NotImplementedError, match=f"fsdp.{kind.__name__} is not supported"):
        derived(torch.nn.Parameter(torch.ones(1)))


def test_names_without_wrappers():
    assert _convert_to_wrapped_module_name("") == ""
    assert _convert_to_wrapped_module_name("a._fsdp_wrapped_module.b") == "a.b."
    assert _convert_to_wrapped_module_name("a._fsdp_wrapped_module") == "a.."  # as PyTorch's
    assert _convert_to_wrapped_module_name("a._checkpoint_wrapped_module.b") == "a.b."


def test_failures_of_workers(tmp_path):
    told, plain = tmp_path / "told.json", tmp_path / "plain.json"
    extra = {"py_callstack": "Traceback\nValueError: no", "timestamp": "1000"}
    told.write_text(json.dumps({"message": {"message": "ValueError: no", "extraInfo": extra}}))
    plain.write_text(json.dumps({"message": "lost", "timestamp": 2000}))
    failures = {
        0: ProcessFailure(0, 12, 1, str(plain)),
        1: ProcessFailure(1, 13, 1, str(told)),
        2: ProcessFailure(2, 14, -9, "absent"),
    }
    error = ChildFailedError("train", failures)
    assert error.get_first_failure() == (1, failures[1])
    assert failures[2].message == "Signal 9 (SIGKILL) received by PID 14"
    assert ProcessFailure(0, 1, 1, "absent").message.startswith("To enable traceback see: https://pytorch.org/")
    others, cause = str(error).split("Root Cause (first observed failure):\n")
    assert others.splitlines()[2] == "train FAILED"
    assert "[0]:" in others and "exitcode  : -9 (pid: 14)  (SIGKILL)" in others
    assert "  rank      : 1 (local_rank: 1)\n  exitcode  : 1 (pid: 13) \n" in cause
    assert "  traceback : Traceback\n  ValueError: no\n" in cause
    with pytest.raises(AssertionError):
        ChildFailedError("train", {})


def test_a_library_says_that_it_exports():
    assert torch.onnx.is_in_onnx_export() is False
    GLOBALS.in_onnx_export = True
    try:
        assert torch.onnx.is_in_onnx_export() is True
    finally:
        GLOBALS.in_onnx_export = False
    with pytest.raises(TypeError, match="must be a boolean"):
        GLOBALS.in_onnx_export = 1
