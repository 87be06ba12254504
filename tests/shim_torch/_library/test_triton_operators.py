"""Operators that launch Triton kernels: which kernels they wrap, and the switch of their capture."""

from __future__ import annotations

import threading

from shim_torch import Tensor, library, tensor
from shim_torch._library import triton as t

kernel, other = object(), object()


@library.triton_op("tst_lib_triton::wrapped", mutates_args={})
def wrapped(x: Tensor) -> Tensor:
    assert library.wrap_triton(kernel) is kernel
    assert other is not None
    return x + 1


def test_kernels_of_an_operator():
    assert t.get_triton_kernels_for_op("tst_lib_triton::wrapped") == [kernel]
    assert t.triton_ops_to_kernels["tst_lib_triton::wrapped"] == [kernel]
    assert t.get_triton_kernels_for_op("tst_lib_triton::absent") == []
    assert wrapped(tensor([1])).tolist() == [2]


def test_a_function_without_source_wraps_none():
    assert t.get_inner_triton_kernels(len) == []


def test_the_switch_is_the_thread_s():
    other_thread = []
    with t.set_wrap_triton_enabled(False):
        assert not t.is_wrap_triton_enabled() and t.capture_triton(kernel) is kernel
        thread = threading.Thread(target=lambda: other_thread.append(t.is_wrap_triton_enabled()))
        thread.start()
        thread.join()
    assert t.is_wrap_triton_enabled() and other_thread == [True]


def test_the_functions_are_torch_library_s():
    assert t.triton_op is library.triton_op and t.wrap_triton is library.wrap_triton
