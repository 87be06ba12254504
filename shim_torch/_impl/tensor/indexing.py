"""``tensor[...]`` and ``tensor[...] = value``: basic indexing as views, advanced indexing through index and index_put_."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from shim_torch._impl.native import _core
from shim_torch._impl.table.calls import aten, torch

Tensor = _core.TensorBase
_MASKS = (_core.bool, _core.uint8)
_NO_INDEX = "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got {})"
_NOT_A_TUPLE = (
    "Using a non-tuple sequence for multidimensional indexing is deprecated and will be changed in pytorch 2.9; use "
    "x[tuple(seq)] instead of x[seq]. In pytorch 2.9 this will be interpreted as tensor index, x[torch.tensor(seq)], which "
    "will result either in an error or a different result"
)


def _sequence(item: Any) -> bool:
    return isinstance(item, (Sequence, np.ndarray)) or (
        hasattr(item, "__getitem__") and not isinstance(item, (dict, set))
    )


def _as_index(item: Any, device: Any) -> Any:
    """A sequence or array as an index tensor: of its own dtype if bool or uint8, else int64."""
    from shim_torch._impl.tensor.from_data import as_tensor, tensor

    if isinstance(item, np.ndarray):
        made = as_tensor(item)
    else:
        made = tensor(item) if len(item) else torch.empty((0,), dtype=_core.int64)
    if made.dtype not in _MASKS and made.dtype is not _core.int64:
        made = made.to(_core.int64)
    return made.to(device)


def _items(key: Any) -> tuple[Any, ...]:
    """The key as a tuple; short sequences that hold slices, tensors or sequences count as one, as in old NumPy."""
    if type(key) is tuple:
        return key
    if isinstance(key, tuple):
        return tuple(key)
    if isinstance(key, (Tensor, np.ndarray, str, bytes)) or not isinstance(key, Sequence) or len(key) >= 32:
        return (key,)
    for item in key:
        if item is None or item is Ellipsis or isinstance(item, (Tensor, slice)) or _sequence(item):
            warnings.warn(_NOT_A_TUPLE, stacklevel=3)
            return tuple(key)
    return (key,)


def _consumed(item: Any) -> int:
    """How many dims of the tensor an index consumes."""
    if item is None or item is Ellipsis or item is True or item is False:
        return 0
    if isinstance(item, Tensor) and item.dtype in _MASKS:
        return item.dim()
    return 1


def _apply(self: Any, items: tuple[Any, ...]) -> tuple[Any, list[Any]]:
    """Basic indexing done as views, and the index tensors left for advanced indexing, by dim of that view."""
    used = sum(map(_consumed, items))
    if used > self.dim():
        raise IndexError(f"too many indices for tensor of dimension {self.dim()}")
    x, dim, beyond = self, 0, 0  # beyond: dims that masks cover besides the first of each
    indices: list[Any] = []

    def record(index: Any) -> None:
        nonlocal dim, beyond
        indices.extend([None] * (dim - beyond - len(indices)))
        indices.append(index)
        covered = index.dim() if index.dtype in _MASKS else 1
        dim, beyond = dim + covered, beyond + covered - 1

    for place, item in enumerate(items):
        kind = type(item)
        if kind is slice:
            x = _sliced(x, dim, item)
            dim += 1
        elif kind is int:
            x = _select(x, dim, item, place)
        elif item is Ellipsis:
            dim += self.dim() - used
        elif item is None:
            x = x.unsqueeze(dim)
            dim += 1
        elif item is True or item is False:
            x = x.unsqueeze(dim)
            record(_as_index([0] if item else [], x.device))
        else:
            index = _tensor_index(item, x)
            if isinstance(index, int):
                x = _select(x, dim, index, place)
            elif index.dim() == 0 and index.dtype in _MASKS:
                x = x.unsqueeze(dim)
                record(_as_index([0] if index.item() else [], x.device))
            elif index.dim() == 0 and not (index.dtype.is_floating_point or index.dtype.is_complex):
                x = _select(x, dim, int(index), place)
            else:
                record(index)
    return x, indices


def _tensor_index(item: Any, x: Any) -> Any:
    """An item that is no basic index, as a tensor or an int."""
    if isinstance(item, Tensor):
        return item
    if isinstance(item, np.ndarray) or (_sequence(item) and not isinstance(item, np.generic)):
        return _as_index(item, x.device)
    try:
        return item.__index__()
    except Exception:
        raise IndexError(_NO_INDEX.format(type(item).__name__)) from None


def _select(x: Any, dim: int, i: int, place: int) -> Any:
    if x.dim() == 0:
        if i != 0:
            raise IndexError(f"index {i} is out of bounds for dimension 0 with size 0")
        raise IndexError(
            "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a 0-dim "
            "tensor to a number"
        )
    n = x.size(dim)
    if not -(2**63) <= i < 2**63:
        raise ValueError("Overflow when unpacking long long")
    if not -n <= i < n:
        raise IndexError(f"index {i} is out of bounds for dimension {place} with size {n}")
    return x.select(dim, i)


def _whole(v: Any) -> Any:
    """A bound or step of a slice, clamped to 64 bits."""
    if v is None:
        return v
    try:
        return max(-(2**63), min(v.__index__(), 2**63 - 1))
    except (AttributeError, TypeError):
        raise TypeError("slice indices must be integers or None or have an __index__ method") from None


def _sliced(x: Any, dim: int, s: slice) -> Any:
    start, stop, step = _whole(s.start), _whole(s.stop), _whole(s.step)
    step = 1 if step is None else step
    if step == 0:
        raise ValueError("slice step cannot be zero")
    if step < 0:
        raise ValueError("step must be greater than zero")
    if x.dim() == 0:
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    if start is None and stop is None and step == 1:
        return x
    return aten.slice(x, dim, start, stop, step)


def getitem(self: Any, key: Any) -> Any:
    """``tensor[key]``; IndexError for what is out of bounds or no index."""
    if type(key) is int:
        return _select(self, 0, key, 0)
    if type(key) is slice:
        x = _sliced(self, 0, key)
        return aten.alias(x) if x is self else x
    x, indices = _apply(self, _items(key))
    if not indices:
        return aten.alias(x) if x is self else x
    return aten.index(x, indices)


def setitem(self: Any, key: Any, value: Any) -> None:
    """``tensor[key] = value``; the value is a tensor or a number."""
    if not isinstance(value, Tensor):
        value = _number(self, value)
        _core.check_fits(value, self.dtype)
        if isinstance(key, Tensor) and _core.unseen(self, key) and _number_at(self, key, value):
            return
    if key is False:
        return
    if key is True:
        key = None  # one more dim, all of it
    indices: list[Any] = []
    if type(key) is int:
        x = _select(self, 0, key, 0)
    else:
        x, indices = _apply(self, _items(key))
    if not isinstance(value, Tensor):
        if not indices and not _expanded(x):
            x.fill_(value)
            return
        if x.is_cuda and _masked_number(x, indices, value):
            return
        value = self.new_full((), value, requires_grad=False)
    if not indices:
        _copy_into(x, value)
        return
    leading = _leading_ones(value.shape)
    if leading:
        value = value.view(value.shape[leading:])
    if value.device != x.device and value.dim() == 0:
        value = value.to(x.device)
    aten.index_put_(x, indices, value, False)


def _expanded(x: Any) -> bool:
    """Whether elements of the tensor share memory by a stride of 0."""
    return not x.is_contiguous() and any(step == 0 and n > 1 for n, step in zip(x.shape, x.stride(), strict=True))


def _number_at(self: Any, key: Any, value: Any) -> bool:
    """``tensor[mask] = number`` and ``tensor[index] = number`` on the CPU by one kernel; False for others."""
    if _expanded(self):
        return False
    if key.dtype is _core.bool:
        if key.shape != self.shape or not key.dim():
            return False
        if type(value) is float and not (self.dtype.is_floating_point or self.dtype.is_complex):
            return False
        self.masked_fill_(key, value)
        return True
    if key.dtype is not _core.int64 or not key.dim() or not self.dim() or not key.numel() or not self.numel():
        return False
    aten._index_put_at_(self, [key], _core.empty_tensor((), self.dtype, self.device).fill_(value), False)
    return True


def _masked_number(x: Any, indices: list[Any], value: Any) -> bool:
    """``tensor[mask] = number`` as masked_fill_, which does not wait for the GPU; False for other assignments."""
    mask, before = indices[-1], len(indices) - 1
    if mask.dtype is not _core.bool or not mask.dim() or any(i is not None for i in indices[:-1]):
        return False
    after = x.dim() - before - mask.dim()
    if after < 0 or x.shape[before : before + mask.dim()] != mask.shape or mask.device != x.device:
        return False
    if type(value) is complex or (type(value) is float and not (x.dtype.is_floating_point or x.dtype.is_complex)):
        return False
    x.masked_fill_(mask.reshape((*mask.shape, *[1] * after)) if after else mask, value)
    return True


def _number(self: Any, value: Any) -> Any:
    if isinstance(value, (bool, int, float, complex)):
        return value
    if isinstance(value, (np.integer, np.bool_)):
        return value.item()
    kind = type(value)
    name = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
    advice = "; it is of the PyTorch that is installed here: use torch.from_dlpack" if name.startswith("torch.") else ""
    raise TypeError(f"can't assign a {name} to a {self.type()}{advice}")


def _leading_ones(shape: Any) -> int:
    for i, n in enumerate(shape):
        if n != 1:
            return i
    return len(shape)


def _copy_into(x: Any, value: Any) -> None:
    """Assignment to a view: leading dims of size 1 of the value are dropped."""
    if x.shape != value.shape:
        leading = _leading_ones(value.shape)
        if leading:
            value = value.view(value.shape[leading:])
        if value.dim() == 0 and value.device != x.device:
            x.fill_(value)
            return
        if value.numel() == 1 and x.numel() > 1:
            value = value.clone()  # the value may overlap the elements written
        value = value.expand(x.shape)
    x.copy_(value)


def install() -> None:
    """Installs ``__getitem__`` and ``__setitem__`` on the tensor types."""
    Tensor.__getitem__, Tensor.__setitem__ = _core.indexing_methods(getitem, setitem)  # type: ignore[method-assign]
