"""What test_simulated_cuda.py runs of a device whose context breaks, in an interpreter that sees the simulated GPU."""

from __future__ import annotations

import ctypes

import pytest

import shim_torch as torch
from shim_torch._impl.native import _core

RESTART = r"\nThe device must be restarted: the CUDA context of device 0 is broken"


def without_a_record():
    """As after a wrong address in anyone's kernel: there is the driver's text only."""
    x = torch.ones(3).cuda()
    _core.cuda_check_device()
    ctypes.CDLL("libcuda.so.1").simulated_trap()
    for call in (_core.cuda_check_device, torch.cuda.synchronize, lambda: torch.empty(3, device="cuda"), x.cpu):
        with pytest.raises(
            torch.AcceleratorError, match=r"^CUDA error: simulated error \(SIMULATED in cu\w+\)" + RESTART
        ):
            call()
    with pytest.raises(torch.cuda.AcceleratorError) as caught:
        x.fill_(2)
    assert isinstance(caught.value, RuntimeError) and caught.value.error_code == 719


def errors_of_cupy():
    """Where CuPy met the failure first, its error becomes ours."""
    from shim_torch._impl.table.body_errors import translated

    error = type("CUDARuntimeError", (RuntimeError,), {"__module__": "cupy_backends.cuda.api.runtime"})("failed")
    assert translated(error) is error
    ctypes.CDLL("libcuda.so.1").simulated_trap()
    made = translated(error)
    assert type(made) is torch.AcceleratorError and made.__cause__ is error and "must be restarted" in str(made)


def in_a_kernel():
    x = torch.arange(5.0).cuda()
    with pytest.raises(
        torch.AcceleratorError, match=r"^CUDA error: device-side assert triggered\n.*" + RESTART
    ) as caught:
        torch.index_select(x, 0, torch.tensor([0, 7]).cuda())
        torch.cuda.synchronize()
    assert caught.value.error_code == 710
    where = "(block [0,0,0], thread [1,0,0])"
    assert f"index_select or embedding: index 7 is out of bounds for dimension of size 5 {where}" in str(caught.value)
