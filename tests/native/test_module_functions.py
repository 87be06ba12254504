"""Functions of the module whose unpacking follows from a C++ function's type: what they are given is checked."""

from __future__ import annotations

import pytest

import shim_torch as torch
from shim_torch._impl.native import _core


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: _core.cuda_device_attribute(75), "expected 2 arguments, got 1"),
        (lambda: _core.cuda_device_attribute(75, "0"), "argument 2: no integer"),
        (lambda: _core.cuda_set_device(1 << 40), "argument 1: an integer beyond 32 bits"),
        (lambda: _core.cuda_stream_wait_event(0, 0, 1 << 70), "argument 3: an integer beyond 64 bits"),
        (lambda: _core.cuda_record_stream(None, 0, 0), "argument 1: no tensor"),
        (lambda: _core.cublaslt_check(3), "argument 1: no string"),
        (
            lambda: _core.cudnn_rnn_buffer([torch.ones(2), 3], 4, 3, 2, 4, 0, 1, False),
            "argument 1: no tensor in a list",
        ),
    ],
)
def test_arguments_of_other_types_are_refused(call, words):
    with pytest.raises(TypeError, match=words):
        call()


def test_results_are_python_objects():
    assert type(_core.cuda_device_count()) is int and type(_core.cuda_why_not()) is str
    assert _core.cuda_empty_cache(0) is None
    assert [type(part) for part in _core.cublaslt_check("nowhere/libcublasLt.so")] == [int, str, bool]
    assert all(type(pointer) is int and pointer > 1 for pointer in _core.cuda_allocation_functions())
    assert _core.cudnn_rnn_buffer([torch.ones(2)], 4, 3, 2, 4, 0, 1, False) is None  # no CUDA tensors
