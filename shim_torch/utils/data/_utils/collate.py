"""Batches out of lists of items."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

from native import _core

np_str_obj_array_pattern = re.compile(r"[SaUO]")
default_collate_err_msg_format = (
    "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
)


def default_convert(data: Any) -> Any:
    """NumPy arrays within ``data`` as tensors; the rest as it is."""
    import shim_torch

    kind = type(data)
    if isinstance(data, _core.TensorBase):
        return data
    if kind.__module__ == "numpy" and kind.__name__ not in ("str_", "string_", "bytes_"):
        if kind.__name__ == "ndarray" and np_str_obj_array_pattern.search(data.dtype.str):
            return data
        return shim_torch.as_tensor(data)
    if isinstance(data, Mapping):
        return _like_mapping(data, {k: default_convert(v) for k, v in data.items()})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return kind(*(default_convert(d) for d in data))
    if isinstance(data, tuple):
        return [default_convert(d) for d in data]
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return _like_sequence(data, [default_convert(d) for d in data])
    return data


def default_collate(batch: Any) -> Any:
    """A list of items as one batch: tensors are stacked, numbers become tensors, containers are collated inside."""
    return collate(batch, collate_fn_map=default_collate_fn_map)


def collate(batch: Any, *, collate_fn_map: dict[Any, Callable[..., Any]] | None = None) -> Any:
    """``default_collate`` with a table type -> function(batch, collate_fn_map=)."""
    first = batch[0]
    kind = type(first)
    for wanted, function in (collate_fn_map or {}).items():
        if kind is wanted if not isinstance(wanted, tuple) else kind in wanted:
            return function(batch, collate_fn_map=collate_fn_map)
    for wanted, function in (collate_fn_map or {}).items():
        if isinstance(first, wanted):
            return function(batch, collate_fn_map=collate_fn_map)
    if isinstance(first, Mapping):
        return _like_mapping(first, {k: collate([d[k] for d in batch], collate_fn_map=collate_fn_map) for k in first})
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return kind(*(collate(s, collate_fn_map=collate_fn_map) for s in zip(*batch, strict=True)))
    if isinstance(first, Sequence) and not isinstance(first, (str, bytes)):
        if not all(len(item) == len(first) for item in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        columns = [collate(s, collate_fn_map=collate_fn_map) for s in zip(*batch, strict=True)]
        return columns if isinstance(first, tuple) else _like_sequence(first, columns)
    raise TypeError(default_collate_err_msg_format.format(kind))


def _like_mapping(data: Any, items: dict[Any, Any]) -> Any:
    try:
        if isinstance(data, MutableMapping):
            made = copy.copy(data)
            made.update(items)
            return made
        return type(data)(items)
    except TypeError:
        return items


def _like_sequence(data: Any, items: list[Any]) -> Any:
    try:
        if isinstance(data, MutableSequence):
            made = copy.copy(data)
            for i, item in enumerate(items):
                made[i] = item
            return made
        return type(data)(items)
    except TypeError:
        return items


def collate_tensor_fn(batch: Any, *, collate_fn_map: Any = None) -> Any:
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
    import shim_torch

    if np_str_obj_array_pattern.search(batch[0].dtype.str):
        raise TypeError(default_collate_err_msg_format.format(batch[0].dtype))
    return collate([shim_torch.as_tensor(b) for b in batch], collate_fn_map=collate_fn_map)


def collate_numpy_scalar_fn(batch: Any, *, collate_fn_map: Any = None) -> Any:
    import shim_torch

    return shim_torch.as_tensor(list(batch))


def collate_float_fn(batch: Any, *, collate_fn_map: Any = None) -> Any:
    import shim_torch

    return shim_torch.tensor(list(batch), dtype=shim_torch.float64)


def collate_int_fn(batch: Any, *, collate_fn_map: Any = None) -> Any:
    import shim_torch

    return shim_torch.tensor(list(batch))


def collate_str_fn(batch: Any, *, collate_fn_map: Any = None) -> Any:
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
