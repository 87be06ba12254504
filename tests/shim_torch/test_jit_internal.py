"""``torch._jit_internal``: marks, and functions that are one of two."""

from __future__ import annotations

import shim_torch as torch
from shim_torch import _jit_internal as inner


def test_marks():
    class Layer(torch.nn.Module):
        @torch.jit.export
        def extra(self):
            return 1

        @inner._copy_to_script_wrapper
        def length(self):
            return 2

    assert inner.module_has_exports(Layer()) and not inner.module_has_exports(torch.nn.ReLU())
    assert inner.get_torchscript_modifier(Layer().length) == inner.FunctionModifiers.COPY_TO_SCRIPT_WRAPPER
    assert Layer().extra() == 1 and Layer().length() == 2
    assert inner.is_ignored_fn(torch.jit.ignore(lambda: 1)) and not inner.should_drop(torch.jit.ignore(lambda: 1))
    assert inner.should_drop(torch.jit.ignore(drop=True)(lambda: 1)) and inner.should_drop(torch.jit.unused(lambda: 1))
    assert inner.get_torchscript_modifier(lambda: 1) == inner.FunctionModifiers.DEFAULT


def test_one_of_two():
    f = inner.boolean_dispatch("both", 1, False, lambda x, both=False: (x, x), lambda x, both=False: x, "here", "f")
    assert (f(3), f(3, True), f(3, both=True)) == (3, (3, 3), (3, 3)) and (f.__module__, f.__name__) == ("here", "f")


def test_futures_are_generic():
    assert torch.futures.Future[int].__origin__ is torch.futures.Future is inner.Future
