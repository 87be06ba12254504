"""``torch.unique`` and its like, as functions of Python: what is given back depends on what is asked for. And indices unravelled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.table.arguments import need_bool, need_int, need_tensor
from shim_torch._impl.table.calls import aten
from shim_torch._impl.tensor import from_data


def _picked(results: Any, return_inverse: bool, return_counts: bool) -> Any:
    values, inverse, counts = results
    if not (return_inverse or return_counts):
        return values
    return (values, *([inverse] if return_inverse else []), *([counts] if return_counts else []))


def unique(
    input: Any, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: Any = None
) -> Any:
    """The distinct values (slices along ``dim``), sorted; with their places in ``input`` and their counts if asked for."""
    name = "_unique2" if dim is None else "unique_dim"
    need_tensor(input, name)
    if dim is not None:
        need_int(dim, name, "dim", 2)
    for argument, given in (("sorted", sorted), ("return_inverse", return_inverse), ("return_counts", return_counts)):
        need_bool(given, name, argument, None)
    if dim is None:
        found = aten._unique2(input, sorted, return_inverse, return_counts)
    else:
        found = aten.unique_dim(input, dim, sorted, return_inverse, return_counts)
    return _picked(found, return_inverse, return_counts)


def unique_consecutive(input: Any, return_inverse: bool = False, return_counts: bool = False, dim: Any = None) -> Any:
    """The first of every run of equal values (slices along ``dim``)."""
    need_tensor(input, "unique_consecutive")
    need_bool(return_inverse, "unique_consecutive", "return_inverse", None)
    need_bool(return_counts, "unique_consecutive", "return_counts", None)
    if dim is not None:
        need_int(dim, "unique_consecutive", "dim", None)
    found = aten._unique_consecutive(input, return_inverse, return_counts, dim)
    return _picked(found, return_inverse, return_counts)


def unravel_index(indices: Any, shape: Any) -> tuple[Any, ...]:
    """Flat indices as one tensor of coordinates a dim of ``shape``."""
    if _core._has_torch_function_unary(indices):
        return _core._handle_torch_function(unravel_index, (indices,), indices, shape=shape)
    if not isinstance(indices, _core.TensorBase):
        raise TypeError(f"unravel_index() argument 'indices' (position 1) must be Tensor, not {type(indices).__name__}")
    if indices.dtype.is_floating_point or indices.dtype.is_complex or indices.dtype == _core.bool:
        raise TypeError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    if not isinstance(shape, (int, Sequence)):
        raise TypeError(f"expected 'shape' to be int or sequence of ints, but got {type(shape)}")
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    for n in sizes:
        if not isinstance(n, int):
            raise TypeError(f"expected 'shape' sequence to only contain ints, but got {type(n)}")
    if any(n < 0 for n in sizes):
        raise ValueError(f"'shape' cannot have negative values, but got {sizes}")
    steps = [1]
    for n in sizes[:0:-1]:
        steps.insert(0, steps[0] * n)
    like = {"device": indices.device, "dtype": _core.int64}
    found = indices.to(_core.int64).unsqueeze(-1).floor_divide(from_data.tensor(steps[: len(sizes)], **like))
    return tuple((found % from_data.tensor(sizes, **like)).unbind(-1)) if sizes else ()


def functions() -> dict[str, Any]:
    """What torch takes from here."""
    return {"unique": unique, "unique_consecutive": unique_consecutive, "unravel_index": unravel_index}


def methods() -> dict[str, Any]:
    """What the tensor type takes from here."""
    return {"unique": unique, "unique_consecutive": unique_consecutive}


for _function in (unique, unique_consecutive, unravel_index):
    _function.__module__ = "torch.functional"
