"""What ``torch._C`` says of tensors' memory: which share it, which are gone, which CUDA graphs hold."""

from __future__ import annotations

import weakref
from typing import Any

from shim_torch._impl.surface import naming


def _is_alias_of(x: Any, y: Any) -> bool:
    """Whether two tensors share a storage, or any of two lists of tensors do."""
    if isinstance(x, (list, tuple)):
        return any(_is_alias_of(one, y) for one in x)
    if isinstance(y, (list, tuple)):
        return any(_is_alias_of(x, one) for one in y)
    return x.device == y.device and not x.is_meta and x.untyped_storage()._cdata == y.untyped_storage()._cdata


def _overlaps(x: Any, y: Any) -> bool:
    """Whether the bytes of two tensors overlap, or of any of two lists of tensors."""
    if isinstance(x, (list, tuple)):
        return any(_overlaps(one, y) for one in x)
    if isinstance(y, (list, tuple)):
        return any(_overlaps(x, one) for one in y)
    if not _is_alias_of(x, y) or not x.numel() or not y.numel():
        return False

    def span(t: Any) -> tuple[int, int]:
        last = sum((n - 1) * s for n, s in zip(t.shape, t.stride(), strict=True))
        return t.data_ptr(), t.data_ptr() + (last + 1) * t.element_size()

    (a, b), (c, d) = span(x), span(y)
    return a < d and c < b


class _WeakTensorRef:
    """A reference that does not keep a tensor alive."""

    def __init__(self, tensor: Any) -> None:
        self._ref = weakref.ref(tensor)

    def expired(self) -> bool:
        """Whether the tensor is gone."""
        return self._ref() is None


_cached: set[int] = set()  # storages whose tensors CUDA graphs hold


_caching = False


def _set_cached_tensors_enabled(enabled: bool) -> None:
    """Whether tensors are noted as cached."""
    global _caching
    _caching = enabled


def _add_cached_tensor(tensor: Any) -> None:
    _cached.add(id(tensor))


def _remove_cached_tensor(tensor: Any) -> None:
    _cached.discard(id(tensor))


def _is_cached_tensor(tensor: Any) -> bool:
    return _caching and id(tensor) in _cached


def _storage_id(tensor: Any) -> int:
    """A number that tensors over one storage share."""
    return int(tensor.untyped_storage()._cdata)


naming.present(globals(), "torch._C")
