"""What operators on tensors without data raise."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.surface import naming


class UnsupportedFakeTensorException(RuntimeError):
    """A tensor that has no fake."""


class _OfOperator(RuntimeError):
    def __init__(self, func: Any) -> None:
        super().__init__(str(func))
        self.func = func


class DynamicOutputShapeException(_OfOperator):
    """An operator's result shape depends on data."""


class DataDependentOutputException(_OfOperator):
    """An operator's result, a Python value, depends on data."""


class UnsupportedOperatorException(_OfOperator):
    """An operator that has no rule for tensors without data."""


class MetadataMismatchError(RuntimeError):
    """A fake tensor's metadata are not those of the real one."""


class FakeTensorDeviceMismatchError(RuntimeError):
    """Fake tensors of different devices met in one operator."""


naming.present(globals(), "torch._subclasses.fake_tensor")
