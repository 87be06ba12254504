"""``torch.cuda.sparse``: the old constructors of sparse tensors on the GPU, ``torch.cuda.sparse.FloatTensor`` and its like."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    from shim_torch._impl.tensor.legacy_types import TENSORS

    if name in TENSORS and name != "BoolTensor":  # PyTorch has none of truth values
        from shim_torch._impl.sparse.legacy import legacy_type

        return legacy_type(name, "cuda")
    from shim_torch._impl.surface.missing import missing

    return missing(__name__.replace("shim_torch", "torch"), name)


def __dir__() -> list[str]:
    from shim_torch._impl.tensor.legacy_types import TENSORS

    return [*globals(), *(name for name in TENSORS if name != "BoolTensor")]
