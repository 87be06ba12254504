"""Batches out of lists of items."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.utils.containers import contents, is_container, refilled

np_str_obj_array_pattern = re.compile(r"[SaUO]")
default_collate_err_msg_format = (
    "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
)


def _is_numbers_of_numpy(data: Any) -> bool:
    dtype = getattr(data, "dtype", None) if type(data).__module__ == "numpy" else None
    return dtype is not None and not np_str_obj_array_pattern.search(dtype.str)


def default_convert(data: Any) -> Any:
    """NumPy arrays within ``data`` as tensors; the rest as it is."""
    import shim_torch

    if _is_numbers_of_numpy(data):
        return shim_torch.as_tensor(data)
    return refilled(data, [*map(default_convert, contents(data))], tuples=False) if is_container(data) else data


def default_collate(batch: Any) -> Any:
    """A list of items as one batch: tensors are stacked, numbers become tensors, containers are collated inside."""
    return collate(batch, collate_fn_map=default_collate_fn_map)


def collate(batch: Any, *, collate_fn_map: dict[Any, Callable[..., Any]] | None = None) -> Any:
    """``default_collate`` with a table type -> function(batch, collate_fn_map=); the exact type goes before its bases.

    Errors: TypeError for items that are neither in the table nor containers, RuntimeError for sequences of several lengths.
    """
    first, table = batch[0], collate_fn_map or {}
    function = table.get(type(first)) or next((f for kind, f in table.items() if isinstance(first, kind)), None)
    if function is not None:
        return function(batch, collate_fn_map=collate_fn_map)
    if not is_container(first):
        raise TypeError(default_collate_err_msg_format.format(type(first)))
    return refilled(first, [collate(c, collate_fn_map=collate_fn_map) for c in _columns(batch)], tuples=False)


def _columns(batch: Any) -> list[Any]:
    """What the items of a batch have in each place of the first."""
    if isinstance(batch[0], Mapping):
        return [[item[key] for item in batch] for key in batch[0]]
    if len({len(item) for item in batch}) > 1:
        raise RuntimeError("each element in list of batch should be of equal size")
    return list(zip(*batch, strict=True))


def collate_tensor_fn(batch: Any, *, collate_fn_map: Any = None) -> Any:
    """Tensors of one shape stacked along a new first dim."""
    import shim_torch

    kind = "nested" if batch[0].is_nested else "sparse" if batch[0].layout != shim_torch.strided else None
    if kind is not None:
        raise RuntimeError(
            f"Batches of {kind} tensors are not currently supported by the default collate_fn; please provide a custom collate_fn to "
            "handle them appropriately."
        )
    from shim_torch.utils.data._utils.worker import get_worker_info

    if get_worker_info() is None or any(t.requires_grad or t.dtype != batch[0].dtype for t in batch):
        return shim_torch.stack(list(batch), 0)
    # In a worker: straight into memory that the main process maps.
    out = batch[0].new_empty((len(batch), *batch[0].shape)).share_memory_()
    return shim_torch.stack(list(batch), 0, out=out)


def collate_numpy_array_fn(batch: Any, *, collate_fn_map: Any = None) -> Any:
    """Arrays as one tensor, stacked; TypeError for arrays of strings or objects."""
    import shim_torch

    if np_str_obj_array_pattern.search(batch[0].dtype.str):
        raise TypeError(default_collate_err_msg_format.format(batch[0].dtype))
    return collate([shim_torch.as_tensor(b) for b in batch], collate_fn_map=collate_fn_map)


def collate_numpy_scalar_fn(batch: Any, *, collate_fn_map: Any = None) -> Any:
    """NumPy scalars as a tensor (batch,)."""
    import shim_torch

    return shim_torch.as_tensor(list(batch))


def collate_float_fn(batch: Any, *, collate_fn_map: Any = None) -> Any:
    """Floats as a float64 tensor (batch,)."""
    import shim_torch

    return shim_torch.tensor(list(batch), dtype=shim_torch.float64)


def collate_int_fn(batch: Any, *, collate_fn_map: Any = None) -> Any:
    """Ints as an int64 tensor (batch,)."""
    import shim_torch

    return shim_torch.tensor(list(batch))


def collate_str_fn(batch: Any, *, collate_fn_map: Any = None) -> Any:
    """The strings as they are."""
    return batch


def _table() -> dict[Any, Callable[..., Any]]:
    import numpy as np

    return {
        _core.Tensor: collate_tensor_fn,
        np.ndarray: collate_numpy_array_fn,
        (np.bool_, np.number, np.object_): collate_numpy_scalar_fn,
        float: collate_float_fn,
        int: collate_int_fn,
        str: collate_str_fn,
        bytes: collate_str_fn,
    }


default_collate_fn_map = _table()
