"""Interpreted kernels as objects: attributes, instances, kernels made of changed sources, methods of tensors."""

from __future__ import annotations

import importlib.util
import sys
import types
from pathlib import Path

import pytest

import shim_torch as torch
from compat import torch_proxy

if importlib.util.find_spec("triton") is None:
    pytest.skip("Triton is not installed", allow_module_level=True)
if torch.cuda.is_available():
    pytest.skip("the interpreter is for machines with no GPU", allow_module_level=True)

sys.path.insert(0, str(Path(__file__).parent))
with torch_proxy({"triton"}):
    import kernels_of_shapes as kernels
    import triton
    import triton.language as tl
    from triton.runtime.jit import JITFunction

objects = pytest.mark.skipif(
    tuple(map(int, triton.__version__.split(".")[:2])) < (3, 6), reason="older kernels are objects of another kind"
)


@objects
def test_attributes_of_a_kernel():
    kernel = kernels.rows
    assert isinstance(kernel, JITFunction) and isinstance(kernel, triton.JITFunction)
    assert [p.name for p in kernel.params] == list(kernel.signature.parameters) == kernel.arg_names
    assert [p.is_constexpr for p in kernel.params] == [False, False, False, True, True]
    assert kernel.src.startswith("def rows(counts, out, n") and kernel.fn.__name__ == kernel.__name__ == "rows"
    assert kernel.__globals__ is vars(kernels) and len(kernel.cache_key) == 64
    assert kernel.cache_key == kernels.rows.cache_key != kernels.grows.cache_key
    assert not hasattr(kernel, "data_ptr") and not hasattr(kernel, "no_such_name")
    assert not isinstance(kernel.fn, JITFunction)


@objects
def test_the_kernel_under_an_autotuner():
    tuned = triton.autotune([triton.Config({"OFFSET": 2})], key=["n"])(kernels.rows)
    kernel = tuned
    while not isinstance(kernel, JITFunction):
        kernel = kernel.fn
    assert kernel is kernels.rows
    out = torch.zeros(2)
    tuned[(2,)](torch.ones(2), out, 3, BLOCK=8)
    assert out.tolist() == [5, 5]


@objects
def test_a_kernel_of_a_changed_source():
    def template():
        pass

    function = types.FunctionType(template.__code__, {"tl": tl, "twice": 2})
    function.__name__ = "filled"
    kernel = type(kernels.rows)(function, debug=None)
    kernel._unsafe_update_src(
        "def other(out, value, SIZE: tl.constexpr):\n    tl.store(out + tl.arange(0, SIZE), value * twice)\n"
    )
    out = torch.zeros(4)
    kernel.arg_names = ["out", "value", "SIZE"]
    kernel[(1,)](out, 3.0, SIZE=4)
    assert out.tolist() == [6, 6, 6, 6] and kernel.src.startswith("def other")
    kernel.__name__ = "renamed"
    assert function.__name__ == kernel.__name__ == "renamed"
    kernel._unsafe_update_src(
        "def other(out, value, SIZE: tl.constexpr):\n    tl.store(out + tl.arange(0, SIZE), value + twice)\n"
    )
    kernel[(1,)](out, 3.0, SIZE=4)
    assert out.tolist() == [5, 5, 5, 5]


@objects
def test_a_kernel_made_by_the_class_is_interpreted():
    """As triton_kernels makes its specialized ones."""
    kernel = triton.JITFunction(kernels.rows.fn, do_not_specialize=["n"])
    assert type(kernel) is type(kernels.rows) and isinstance(kernel, JITFunction)
    assert [p.do_not_specialize for p in kernel.params] == [False, False, True, False, False]
    out = torch.zeros(2)
    kernel[(2,)](torch.ones(2), out, 3, BLOCK=8, OFFSET=2)
    assert out.tolist() == [5, 5]
    assert JITFunction(kernels.rows.fn, "2").version == "2"

    class Own(JITFunction):
        pass

    with pytest.raises(RuntimeError, match="Triton interprets kernels here, and this one was made for its compiler"):
        Own(kernels.rows.fn)[(2,)](torch.ones(2), out, 3, BLOCK=8, OFFSET=2)


def test_library_functions_are_methods():
    x, out = torch.tensor([3.0, 1.0, 2.0, 0.0]), torch.zeros(4)
    kernels.methods[(1,)](x, out, SIZE=4)
    sigmoid = torch.sigmoid(x)
    torch.testing.assert_close(out, sigmoid + x.sum() + x.max() + torch.softmax(x, 0))


@pytest.mark.parametrize("bias, expected", [(None, 1101), (2, 101)])
def test_a_constant_that_holds_none(bias, expected):
    out = torch.zeros(1)
    kernels.perhaps[(1,)](out, bias=bias)
    assert out.item() == expected


def test_what_a_kernel_asks_of_its_gpu():
    out = torch.zeros(4)
    kernels.questions[(2,)](out)
    assert out.tolist() == [128, 2, 4, 1]


def test_numbers_are_cast():
    out = torch.ones(2)
    kernels.numbers[(1,)](out)
    assert out.tolist() == [7.5, 0]


class Address:
    """A part of a tensor that is no tensor."""

    def __init__(self, tensor: torch.Tensor, offset: int) -> None:
        self.tensor, self.offset, self.dtype = tensor, offset, tensor.dtype

    def data_ptr(self) -> int:
        return self.tensor.data_ptr() + self.offset * self.tensor.element_size()


def test_arguments_that_are_addresses():
    x, out = torch.arange(8, dtype=torch.int32), torch.zeros(8, dtype=torch.int32)
    kernels.grows[(1,)](Address(x, 4), out=Address(out, 2), BLOCK=4)
    assert out.tolist() == [0, 0, 5, 6, 7, 8, 0, 0]
