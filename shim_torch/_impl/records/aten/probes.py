"""PyTorch's own probes (``torch._test_...``): operators whose only purpose is to show how arguments and gradients pass."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.table.aten_declare import aten, schema
from shim_torch._impl.table.record import direct
from shim_torch._impl.table.rules import type_name, underived
from shim_torch._impl.tensor import from_data

VALUES = "checked"  # a call may fail for what its tensors hold (compile/deferral.py)


def _expect(true: bool, condition: str) -> None:
    if not true:
        raise RuntimeError(
            f"Expected {condition} to be true, but got false.  (Could this error message be improved?  If so, please report an "
            "enhancement request to PyTorch.)"
        )


def _optional_list(kind: str) -> Any:
    def body(values: Any, addends: Any) -> Any:
        if addends is None:
            return values
        _expect(values.dim() == 1, "values.dim() == 1")
        if type_name(values.dtype) != kind:
            raise RuntimeError(f"expected scalar type {kind} but found {type_name(values.dtype)}")
        return values + from_data.tensor(list(addends), dtype=values.dtype)

    return body


aten("_test_optional_intlist", "_test_optional_filled_intlist", public=True)(_optional_list("Int"))
aten("_test_optional_floatlist", public=True)(_optional_list("Float"))


@aten("_test_string_default", public=True)
def _test_string_default(dummy, a, b):
    expected = "\"'\\"
    for name, value in (("A", a), ("B", b)):
        if value != expected:
            raise RuntimeError(f"Default {name} failed")
    return dummy


@aten("_test_ambiguous_defaults.a", public=True)
def _test_ambiguous_defaults_a(dummy, a, b):
    _expect(a == 1, "a == 1")
    _expect(b == 1, "b == 1")
    return from_data.tensor(1)


@aten("_test_ambiguous_defaults.b", public=True)
def _test_ambiguous_defaults_b(dummy, a, b):
    _expect(a == 2, "a == 2")
    _expect(b == "2", 'b == "2"')
    return from_data.tensor(2)


@aten("_test_serialization_subcmul", public=True)
def _test_serialization_subcmul(self, other, alpha):
    return self - other * alpha


def _cloned(name: str, gradient: Any) -> None:
    direct(f"aten::{schema(name)}", method=False, grad={"self": gradient})(lambda self, *rest: self.clone())


_cloned("_test_autograd_multiple_dispatch.fullcoverage", lambda g, self_shape: g.expand(self_shape) + 1)
aten("_test_autograd_multiple_dispatch.ntonly", public=True)(lambda self, b: self.clone())
_cloned("_test_functorch_fallback", underived("_test_functorch_fallback"))


def _warned(g: Any) -> Any:
    import warnings

    warnings.warn("Warn from backward", stacklevel=2)
    return g


_cloned("_test_warn_in_autograd", lambda g: _warned(g))
aten("_test_autograd_multiple_dispatch_view", public=True)(lambda self: self.view(-1))
aten("_test_autograd_multiple_dispatch_view_copy", public=True)(lambda self: self.reshape(-1).clone())
