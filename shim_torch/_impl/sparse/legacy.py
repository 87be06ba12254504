"""``torch.sparse.FloatTensor(indices, values, size)`` and ``sparse_tensor.new(...)``: the old constructors."""

from __future__ import annotations

from functools import cache
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.tensor.legacy_types import TENSORS, tensortype


def build(args: tuple[Any, ...], kwargs: dict[str, Any], dtype: Any, device: Any) -> Any:
    """A COO tensor: empty, of a size, of indices and values, or the given sparse tensor itself."""
    from shim_torch._impl.sparse.construct import sparse_coo_tensor

    given = kwargs.pop("device", None)
    if given is not None and _core.device(given).type != device.type:
        raise RuntimeError(
            f"legacy constructor expects device type: {device.type} but device type: {_core.device(given).type} was passed"
        )
    if not args and "size" not in kwargs:
        return sparse_coo_tensor((0,), dtype=dtype, device=device)
    if len(args) == 1 and isinstance(args[0], _core.TensorBase) and args[0].is_sparse:
        return _core.alias(args[0])
    if args and all(isinstance(a, int) and not isinstance(a, bool) for a in args):
        return sparse_coo_tensor(args, dtype=dtype, device=device)
    if len(args) == 1 and not isinstance(args[0], _core.Size):
        raise TypeError(f"new(): expected a torch.Size, or indices and values, but got {type(args[0]).__name__}")
    if len(args) >= 2 and isinstance(args[1], _core.TensorBase) and args[1].dtype != dtype:
        raise RuntimeError(f"expected values of {dtype}, but got {args[1].dtype}")
    return sparse_coo_tensor(*args, dtype=dtype, device=device, **kwargs)


class sparsetype(tensortype):
    """The type of ``torch.sparse.FloatTensor`` and its like."""

    layout = _core.sparse_coo

    def __instancecheck__(cls, instance: Any) -> bool:
        return super().__instancecheck__(instance) and instance.is_sparse

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return build(args, kwargs, cls.dtype, _core.device(cls._device))


@cache
def legacy_type(name: str, device: str = "cpu") -> Any:
    """The class ``torch.sparse.FloatTensor``."""
    module = "torch.cuda.sparse" if device == "cuda" else "torch.sparse"
    return sparsetype(name, (), {"__module__": module, "dtype": TENSORS[name], "_device": device})
