"""``torch.testing``: comparing tensors, making random ones."""

from typing import Any

from shim_torch.testing._comparison import assert_allclose, assert_close
from shim_torch.testing._creation import make_tensor


def __getattr__(name: str) -> Any:
    if name == "FileCheck":
        from shim_torch._impl.testing.file_check import FileCheck

        return FileCheck
    from shim_torch._impl.surface.missing import missing

    return missing("torch.testing", name)
