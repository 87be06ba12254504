"""``torch.storage``: bytes under tensors (``UntypedStorage``) and the older view of them as elements (``TypedStorage``)."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.tensor import storage_warning as _storage_warning
from shim_torch._impl.tensor.legacy_storages import LegacyMeta as _LegacyStorageMeta  # noqa: F401
from shim_torch._impl.tensor.storage_arguments import OnlyChildren as _OnlyChildren
from shim_torch._impl.tensor.storage_warning import always_warns as _get_always_warn_typed_storage_removal  # noqa: F401
from shim_torch._impl.tensor.storage_warning import forget as _reset_warn_typed_storage_removal  # noqa: F401
from shim_torch._impl.tensor.storage_warning import warn as _warn_typed_storage_removal  # noqa: F401
from shim_torch._impl.tensor.typed_storage import TypedStorage
from shim_torch._impl.tensor.typed_storage import _dtype_to_storage_type_map as _dtype_to_storage_type_map
from shim_torch._impl.tensor.typed_storage import _storage_type_to_dtype_map as _storage_type_to_dtype_map

__all__ = ["TypedStorage", "UntypedStorage"]

UntypedStorage = _core.UntypedStorage


def _set_always_warn_typed_storage_removal(always_warn: bool) -> None:
    assert isinstance(always_warn, bool)
    _storage_warning.set_always(always_warn)


def _from_bytes(b: bytes) -> Any:
    """What ``torch.save`` wrote: old pickles of tensors call this."""
    import io

    from shim_torch.serialization import load

    return load(io.BytesIO(b), weights_only=False)


def __getattr__(name: str) -> Any:
    if name == "_StorageBase":
        return UntypedStorage
    if name == "_load_from_bytes":
        return _from_bytes
    if name == "_LegacyStorage":
        return _OnlyChildren
    from shim_torch._impl.surface.missing import missing

    return missing("torch.storage", name)
