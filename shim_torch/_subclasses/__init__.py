"""``torch._subclasses``: fake tensors, which have shapes and no data."""

from typing import Any

from shim_torch._subclasses.fake_tensor import (
    DynamicOutputShapeException,
    FakeTensor,
    FakeTensorMode,
    UnsupportedFakeTensorException,
)


def __getattr__(name: str) -> Any:
    if name == "CrossRefFakeMode":
        from shim_torch._subclasses.fake_utils import CrossRefFakeMode

        return CrossRefFakeMode
    from shim_torch._impl.surface.missing import missing

    return missing("torch._subclasses", name)


__all__ = [
    "DynamicOutputShapeException",
    "CrossRefFakeMode",
    "FakeTensor",
    "FakeTensorMode",
    "UnsupportedFakeTensorException",
]
