"""``torch._C._dynamo.guards``: checks and makers of tensors that compiled code calls; tests and libraries call them, too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def assert_size_stride(item: Any, size: Sequence[int], stride: Sequence[int], op_name: str | None = None) -> None:
    """Errors: AssertionError when a tensor has another shape, or another stride in a dim of more than one element."""
    if item.dim() != len(size):
        raise AssertionError("wrong number of dimensions" + _asked(op_name))
    wrong = [
        f"expected size {have}=={want}, stride {step}=={wanted_step} at dim={d}"
        for d, (have, want, step, wanted_step) in enumerate(zip(item.shape, size, item.stride(), stride, strict=True))
        if have != want or (have > 1 and step != wanted_step)
    ]
    if wrong and item.numel():
        raise AssertionError("; ".join(wrong) + _asked(op_name))


def assert_alignment(item: Any, alignment: int, op_name: str | None = None) -> None:
    """Errors: AssertionError when a tensor's data does not begin at a multiple of ``alignment`` bytes."""
    if alignment == 0:
        raise AssertionError("alignment can not be 0")
    if item.data_ptr() % alignment:
        raise AssertionError("Expect the tensor to be " + f"{alignment} bytes aligned. Fail due to storage_offset="
                             f"{item.storage_offset()} itemsize={item.element_size()}{_asked(op_name)}")  # fmt: skip


def _asked(op_name: str | None) -> str:
    return f"\nError in op: {op_name}" if op_name else ""


def _empty_strided_cpu(size: Sequence[int], stride: Sequence[int], dtype: Any) -> Any:
    """``torch.empty_strided`` on the CPU."""
    import shim_torch

    return shim_torch.empty_strided(tuple(size), tuple(stride), dtype=dtype, device="cpu")


def _empty_strided_cuda(size: Sequence[int], stride: Sequence[int], dtype: Any) -> Any:
    """``torch.empty_strided`` on the current GPU."""
    import shim_torch

    return shim_torch.empty_strided(tuple(size), tuple(stride), dtype=dtype, device="cuda")


def _reinterpret_tensor(tensor: Any, size: Sequence[int], stride: Sequence[int], offset_increment: int = 0) -> Any:
    """A view of the same storage, ``offset_increment`` elements further."""
    return tensor.as_strided(tuple(size), tuple(stride), tensor.storage_offset() + offset_increment)
