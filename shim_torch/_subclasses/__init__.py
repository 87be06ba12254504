"""``torch._subclasses``: fake tensors, which have shapes and no data."""

from shim_torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode, UnsupportedFakeTensorException

DynamicOutputShapeException = UnsupportedFakeTensorException
__all__ = ["DynamicOutputShapeException", "FakeTensor", "FakeTensorMode", "UnsupportedFakeTensorException"]
