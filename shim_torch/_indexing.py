"""``tensor[...]`` and ``tensor[...] = value``: basic indexing as views, advanced indexing through index and index_put_."""

from __future__ import annotations

from typing import Any

import numpy as np

from native import _core

Tensor = _core.Tensor
_MASKS = (_core.bool, _core.uint8)


def _as_index(item: Any, device: Any) -> Any:
    """A list, range or array as an index tensor."""
    import shim_torch

    if isinstance(item, (list, tuple, range)):
        item = list(item)
        made = shim_torch.tensor(item) if item else shim_torch.empty((0,), dtype=_core.int64)
        return made.to(device)
    return shim_torch.as_tensor(item, device=device)


def _items(key: Any) -> list[Any]:
    if isinstance(key, tuple):
        return list(key)
    if isinstance(key, list) and any(isinstance(k, (slice, type(None), type(Ellipsis))) for k in key):
        return list(key)
    return [key]


def _consumed(item: Any) -> int:
    """How many dims of the tensor an index uses up."""
    if item is None or item is Ellipsis or isinstance(item, (bool, np.bool_)):
        return 0
    if isinstance(item, (Tensor, np.ndarray)) and item.dtype in (*_MASKS, np.dtype(bool)):
        return item.ndim
    return 1


def _is_int(item: Any) -> bool:
    return isinstance(item, (int, np.integer)) and not isinstance(item, (bool, np.bool_))


def _apply(self: Any, key: Any) -> tuple[Any, list[Any] | None]:
    """Basic indexing done as views; what is left for advanced indexing: a list of index tensors or None, or None."""
    items = _items(key)
    used = sum(_consumed(i) for i in items)
    if used > self.dim():
        raise IndexError(f"too many indices for tensor of dimension {self.dim()}")
    if not any(i is Ellipsis for i in items):
        items.append(Ellipsis)
    x, dim, advanced = self, 0, None
    indices: list[Any] = []
    aten = _aten()
    for item in items:
        if item is Ellipsis:
            skip = self.dim() - used
            used = self.dim()  # a second ellipsis stands for nothing
            dim += skip
            indices += [None] * skip
        elif item is None:
            x = x.unsqueeze(dim)
            dim += 1
            indices.append(None)
        elif _is_int(item):
            x = _select(x, dim, int(item))
        elif isinstance(item, slice):
            x = _sliced(aten, x, dim, item)
            dim += 1
            indices.append(None)
        elif isinstance(item, (bool, np.bool_)):
            x = x.unsqueeze(dim)
            indices.append(_as_index([0] if item else [], x.device))
            dim += 1
            advanced = True
        else:
            index = item if isinstance(item, Tensor) else _as_index(item, x.device)
            if index.dim() == 0 and index.dtype not in _MASKS and not index.dtype.is_floating_point:
                x = _select(x, dim, int(index))
                continue
            advanced = True
            for part in _expanded(index, x, dim):
                indices.append(part)
                dim += 1
    return x, indices if advanced else None


def _aten() -> Any:
    import shim_torch

    return shim_torch.ops.aten


def _select(x: Any, dim: int, i: int) -> Any:
    n = x.size(dim)
    if not -n <= i < n:
        raise IndexError(f"index {i} is out of bounds for dimension {dim} with size {n}")
    return x.select(dim, i)


def _sliced(aten: Any, x: Any, dim: int, s: slice) -> Any:
    def whole(v: Any) -> Any:
        return None if v is None else v.__index__()

    start, stop, step = whole(s.start), whole(s.stop), whole(s.step)
    step = 1 if step is None else step
    if step <= 0:
        raise ValueError("step must be greater than zero")
    if start is None and stop is None and step == 1:
        return x
    return aten.slice(x, dim, start, stop, step)


def _expanded(index: Any, x: Any, dim: int) -> list[Any]:
    """A mask as one index tensor a dim; an integer tensor as itself."""
    if index.dtype in _MASKS:
        for i, n in enumerate(index.shape):
            if n != x.size(dim + i):
                raise IndexError(
                    f"The shape of the mask {list(index.shape)} at index {i} does not match the shape of the indexed tensor "
                    f"{list(x.shape)} at index {dim + i}"
                )
        if index.dim() == 0:
            raise NotImplementedError(
                "torch.Tensor.__getitem__: 0-dim mask tensors inside a tuple are not supported; use bool(mask)"
            )
        return list(index.to(x.device).nonzero(as_tuple=True))
    if index.dtype not in (_core.int64, _core.int32, _core.int16, _core.int8):
        raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
    return [index.to(device=x.device, dtype=_core.int64)]


def getitem(self: Any, key: Any) -> Any:
    """``tensor[key]``."""
    if type(key) is int:
        if self.dim() == 0:
            raise IndexError(
                "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a 0-dim "
                "tensor to a number"
            )
        return _select(self, 0, key)
    if isinstance(key, Tensor) and key.dim() == 0 and key.dtype in _MASKS:
        return getitem(self, bool(key))
    x, indices = _apply(self, key)
    if indices is None:
        return x.view(x.shape) if x is self else x
    while indices and indices[-1] is None:
        indices.pop()
    return _aten().index(x, indices)


def setitem(self: Any, key: Any, value: Any) -> None:
    """``tensor[key] = value``."""
    import shim_torch

    if isinstance(key, Tensor) and key.dim() == 0 and key.dtype in _MASKS:
        key = bool(key)
    x, indices = _apply(self, key)
    if not isinstance(value, Tensor):
        if indices is None and isinstance(value, (int, float, bool, complex)):
            x.fill_(value)
            return
        value = shim_torch.as_tensor(
            value, dtype=self.dtype if isinstance(value, (int, float, bool, complex)) else None, device=self.device
        )
    if indices is None:
        x.copy_(_fitted(value, x.shape))
        return
    while indices and indices[-1] is None:
        indices.pop()
    if value.device != x.device and value.dim() == 0:
        value = value.to(x.device)
    _aten().index_put_(x, indices, value.to(x.dtype) if value.dtype != x.dtype else value, False)


def _fitted(value: Any, shape: Any) -> Any:
    """Leading dims of size 1 beyond the target's are dropped, as PyTorch does."""
    while value.dim() > len(shape) and value.size(0) == 1:
        value = value.squeeze(0)
    if value.dim() > len(shape):
        raise RuntimeError(
            f"expand(torch.FloatTensor{{{list(value.shape)}}}, size={list(shape)}): the number of sizes provided "
            f"({len(shape)}) must be greater or equal to the number of dimensions in the tensor ({value.dim()})"
        )
    if any(a not in (1, b) for a, b in zip(value.shape[::-1], tuple(shape)[::-1], strict=False)):
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(value.shape)} cannot be broadcast to indexing result of shape {list(shape)}"
        )
    return value


def install(tensor_type: Any) -> None:
    """Gives the tensor type its indexing."""
    tensor_type.__getitem__ = getitem
    tensor_type.__setitem__ = setitem
