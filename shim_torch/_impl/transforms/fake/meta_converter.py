"""Tensors of the device ``meta`` like real ones: of one tensor always the same, views of one memory sharing theirs."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.table.calls import torch
from shim_torch.utils._python_dispatch import _disable_current_modes, is_traceable_wrapper_subclass


class _StorageIds:
    """Numbers of the storages that are alive. A storage's Python object may come and go before it does."""

    def __init__(self) -> None:
        self._numbers: dict[int, tuple[Any, int]] = {}

    def _drop_expired(self) -> None:
        for key in [k for k, (reference, _) in self._numbers.items() if reference.expired()]:
            del self._numbers[key]

    def __len__(self) -> int:
        self._drop_expired()
        return len(self._numbers)

    def of(self, storage: Any, fresh: int) -> int:
        """The storage's number; ``fresh`` for one that has none."""
        from shim_torch.multiprocessing.reductions import StorageWeakRef

        key = storage._cdata
        found = self._numbers.get(key)
        if found is None or found[0].expired():
            found = self._numbers[key] = (StorageWeakRef(storage), fresh)
        return found[1]


class _Storages:
    """Storages by number, while they are alive."""

    def __init__(self) -> None:
        self._references: dict[int, Any] = {}

    def __len__(self) -> int:
        for number in [n for n, reference in self._references.items() if reference.expired()]:
            del self._references[number]
        return len(self._references)

    def get(self, number: int) -> Any:
        """The storage of that number, None without one."""
        reference = self._references.get(number)
        return None if reference is None else _core.UntypedStorage._new_with_weak_ptr(reference.cdata)

    def __setitem__(self, number: int, storage: Any) -> None:
        from shim_torch.multiprocessing.reductions import StorageWeakRef

        self._references[number] = StorageWeakRef(storage)


class MetaTensorDescriber:
    """Numbers tensors and their storages while they live."""

    def __init__(self, *, copy_data: bool = False) -> None:
        from shim_torch.utils.weak import WeakIdKeyDictionary

        self.copy_data = copy_data
        self.lookup_tensor = WeakIdKeyDictionary()
        self.lookup_storage = _StorageIds()
        self.next_tensor_id = self.next_storage_id = 0

    def get_tensor_id(self, t: Any) -> int:
        """The tensor's number."""
        if t not in self.lookup_tensor:
            self.lookup_tensor[t] = self.next_tensor_id
            self.next_tensor_id += 1
        return int(self.lookup_tensor[t])

    def get_storage_id(self, storage: Any) -> int:
        """The storage's number."""
        number = self.lookup_storage.of(storage, self.next_storage_id)
        self.next_storage_id += number == self.next_storage_id
        return number


class MetaConverter:
    """``converter(t)``: the tensor of the device ``meta`` that is like ``t``: sizes, strides, dtype, view, leaf, bits.

    What has no such tensor here (sparse layouts, wrapper subclasses) gives ``NotImplemented``; what is no tensor, itself.
    """

    def __init__(self, *, copy_data: bool = False) -> None:
        self.tensor_memo: Any = weakref.WeakValueDictionary()
        self.storage_memo = _Storages()
        self.describer = MetaTensorDescriber(copy_data=copy_data)
        self.copy_data = copy_data
        self.hit = self.miss = 0
        self.arg_cnt = 0
        self.del_hook: Any = None

    def successful(self) -> bool:
        """Whether all tensors so far had one."""
        return self.hit > 0 and self.miss == 0

    def __call__(self, t: Any, shape_env: Any = None, *, callback: Callable[..., Any] | None = None, **_: Any) -> Any:
        if not isinstance(t, _core.TensorBase):
            return t
        if t.layout != _core.strided or is_traceable_wrapper_subclass(t) or getattr(t, "is_quantized", False):
            self.miss += 1
            return NotImplemented
        self.hit += 1
        with _disable_current_modes():
            found = self._meta(t, callback)
            if isinstance(t, _parameter()) and not isinstance(found, _parameter()):
                found._is_param = True
        return found

    def meta_storage(self, storage: Any) -> Any:
        """The storage of the device ``meta`` as large as a real one."""
        number = self.describer.get_storage_id(storage)
        found = self.storage_memo.get(number)
        if found is None:
            found = _core.UntypedStorage(storage.nbytes(), device="meta")
        return found

    def _meta(self, t: Any, callback: Callable[..., Any] | None) -> Any:
        from shim_torch.autograd.grad_mode import enable_grad, no_grad

        number = self.describer.get_tensor_id(t)
        found = self.tensor_memo.get(number)
        if found is not None:
            return found
        if t._is_view() and t._base.layout == _core.strided:
            base = self._meta(t._base, callback)
            with no_grad() if base.requires_grad and (t.is_leaf or not t.requires_grad) else enable_grad():
                found = _viewed(base, t)
            if t.requires_grad and not found.requires_grad:  # it was asked of a view, not of the base
                found.requires_grad_()
                if not t.is_leaf:
                    with enable_grad():
                        found = found.view_as(found)
        else:
            found = self._owned(t, callback)
        if t.is_leaf and t.grad is not None:
            found.grad = self._meta(t.grad, callback)
        self.storage_memo[self.describer.get_storage_id(t.untyped_storage())] = found.untyped_storage()
        self.tensor_memo[number] = found
        return found

    def _owned(self, t: Any, callback: Callable[..., Any] | None) -> Any:
        """A tensor that is no view, over its storage from where it begins."""
        from shim_torch.autograd.grad_mode import enable_grad, no_grad

        def made() -> Any:
            meta = _core.empty_strided((0,), (1,), t.dtype, _core.device("meta"))
            return meta.set_(
                self.meta_storage(t.untyped_storage()), t.storage_offset(), tuple(t.shape), tuple(t.stride())
            )

        with no_grad():
            found = made() if callback is None else callback(made)
        if t.is_conj():
            _core._set_conj(found, True)
        if t.is_neg():
            _core._set_neg(found, True)
        if t.requires_grad:
            found.requires_grad_()
            if not t.is_leaf:
                with enable_grad():
                    found = found.clone(memory_format=_core.preserve_format)
        return found


def _viewed(base: Any, t: Any) -> Any:
    """The view of a meta tensor that ``t`` is of its base: of other dtype, strides and bits."""
    if base.dtype != t.dtype:
        if base.dtype.is_complex and t.dtype == base.dtype.to_real():
            base = torch.view_as_real(base.conj() if base.is_conj() else base)
        elif t.dtype.is_complex and base.dtype == t.dtype.to_real():
            return _as_complex(base, t)
        else:
            base = base.view(t.dtype)
    found = base.as_strided(tuple(t.shape), tuple(t.stride()), t.storage_offset())
    if found.is_conj() != t.is_conj():
        found = found.conj()
    if found.is_neg() != t.is_neg():
        found = found._neg_view()
    return found


def _as_complex(base: Any, t: Any) -> Any:
    """The complex view: strides and offset count pairs, so the pairs are laid out before they are viewed."""
    pairs = base.as_strided((*t.shape, 2), (*(2 * s for s in t.stride()), 1), 2 * t.storage_offset())
    return torch.view_as_complex(pairs)


def _parameter() -> Any:
    from shim_torch.nn.parameter import Parameter

    return Parameter
