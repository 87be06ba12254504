"""Pickling and deep copies of tensors and of their memory."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.table.calls import torch

Tensor = _core.Tensor


def _reduce(self: Any, protocol: Any) -> Any:
    if self._backward_hooks:
        from shim_torch.utils.hooks import warn_if_has_hooks

        warn_if_has_hooks(self)
    state = _state(self)
    if self.layout != _core.strided:
        from shim_torch._impl.sparse.pickling import arguments
        from shim_torch._utils import _rebuild_sparse_tensor

        return _rebuild_sparse_tensor, arguments(self)
    from shim_torch._impl.tensor.wrapper_subclasses import is_wrapper as _is_wrapper
    from shim_torch._impl.tensor.wrapper_subclasses import wrapper_arguments as _wrapper_arguments
    from shim_torch._utils import _rebuild_wrapper_subclass, get_tensor_metadata

    if _is_wrapper(self):
        return _rebuild_from_type_v2, (_rebuild_wrapper_subclass, type(self), _wrapper_arguments(self), state or {})
    # A shallow copy shares the memory; a meta tensor has none.
    here = self if self.device.type in ("cpu", "cuda", "meta") else self.detach().cpu()
    return _rebuild, (
        None if type(self) is Tensor else type(self),  # its name is torch.Tensor, which may not be importable
        None if self.is_meta else here.untyped_storage(),
        self.dtype,
        self.storage_offset() if here is self else 0,
        tuple(self.shape),
        here.stride(),
        self.requires_grad,
        str(self.device),
        state,
        *([bits] if (bits := get_tensor_metadata(here)) else []),
    )


def _reduce_storage(self: Any, protocol: Any) -> Any:
    from shim_torch._impl.tensor.untyped_storage import untyped_tensor

    where = () if self.device.type == "cpu" else (str(self.device),)
    return _rebuild_storage, (_core.to_numpy(untyped_tensor(self.cpu())).tobytes(), *where)


def _rebuild_storage(data: bytes, device: str | None = None) -> Any:
    storage = _core.UntypedStorage(data)
    if device is None or not _core.cuda_device_count():  # without a GPU, CUDA tensors are restored on the CPU
        return storage
    from shim_torch._impl.tensor.untyped_storage import untyped_tensor

    return untyped_tensor(storage).to(_core.device(device)).untyped_storage()


def _rebuild(
    cls: Any,
    storage: Any,
    dtype: Any,
    offset: int,
    size: Any,
    stride: Any,
    requires_grad: bool,
    device: str,
    state: Any,
    metadata: Any = None,
) -> Any:
    if storage is None:
        t = torch.empty_strided(size, stride, dtype=dtype, device=device)
    else:
        t = _core.empty_tensor((0,), dtype, storage.device).set_(storage, offset, size, stride)
    if metadata:
        from shim_torch._utils import set_tensor_metadata

        set_tensor_metadata(t, metadata)
    if device.startswith("cuda") and not t.is_cuda and _core.cuda_device_count():
        t = t.to(_core.device(device))
    if cls not in (None, Tensor):
        t = t.as_subclass(cls)
    if requires_grad:
        t.requires_grad_()
    if state:
        _restore(t, state)
    return t


def _rebuild_from_type_v2(func: Any, new_type: Any, args: Any, state: Any) -> Any:
    """A tensor subclass's instance as files of ``torch.save`` describe it."""
    made = func(*args)
    if type(made) is not new_type:
        made = made.as_subclass(new_type)
    return _restore(made, state)


def _state(self: Any) -> Any:
    """The attributes of a tensor's instance (``__dict__`` and slots); None where there are none."""
    if type(self) is Tensor:
        return dict(self.__dict__) or None
    from shim_torch._utils import _get_obj_state

    return _get_obj_state(self) or None


def _restore(made: Any, state: Any) -> Any:
    new_type = type(made)
    if getattr(new_type, "__setstate__", None) is not getattr(Tensor, "__setstate__", None):
        made.__setstate__(state)
        return made
    from shim_torch._utils import _set_obj_state

    return _set_obj_state(made, state)


_rebuild_from_type_v2.__module__ = "shim_torch._tensor"  # where files of torch.save look for it


def _deepcopy(self: Any, memo: dict[Any, Any]) -> Any:
    import copy

    if id(self) in memo:
        return memo[id(self)]
    if not self.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment.  If you were "
            "attempting to deepcopy a module, this may be because of a torch.nn.utils.weight_norm usage, see "
            "https://github.com/pytorch/pytorch/pull/103001"
        )
    with _no_grad():
        bare = self.layout != _core.strided or self.is_meta
        wrapper = bare or (type(self) is not Tensor and self.data_ptr() == 0 and self.numel())
        new = _cloned_in_type(self) if wrapper else _deepcopied(self, memo)
    if self.requires_grad:
        new.requires_grad_()
    memo[id(self)] = new
    if self.grad is not None:
        new.grad = copy.deepcopy(self.grad, memo)
    _copy_attributes(self, new, memo)
    return new


def _copy_attributes(self: Any, new: Any, memo: dict[Any, Any]) -> None:
    import copy
    import copyreg

    if type(self) is not Tensor:  # plain tensors have no slots
        for name in copyreg._slotnames(type(self)):  # type: ignore[attr-defined]
            if hasattr(self, name):
                setattr(new, name, copy.deepcopy(getattr(self, name), memo))
    for name, value in self.__dict__.items():
        setattr(new, name, copy.deepcopy(value, memo))


def _deepcopied(self: Any, memo: dict[Any, Any]) -> Any:
    """A deep copy of a tensor; copies of tensors that share memory share theirs."""
    storage = memo.get(("storage", self.untyped_storage()._cdata))
    if storage is None:
        storage = memo["storage", self.untyped_storage()._cdata] = self.untyped_storage().clone()
    plain = type(self) is Tensor
    empty = _core.empty_tensor((0,), self.dtype, self.device) if plain else _like_in_type(self)
    new = empty.set_(storage, self.storage_offset(), self.shape, self.stride())
    new = new.conj_physical() if self.is_conj() else new
    return new.neg() if self.is_neg() else new


def _cloned_in_type(self: Any) -> Any:
    """A clone of a wrapper subclass, which has no memory to copy."""
    made = self.clone()
    if type(made) is not type(self):
        raise RuntimeError(
            "The default implementation of __deepcopy__() for wrapper subclasses only works for subclass types that properly "
            "implement clone() and for which cloning returns another instance of the same subclass. You should either properly "
            "implement clone() for your subclass or override __deepcopy__() if it is intended behavior for clone() to return an "
            "instance of a different type."
        )
    return made


def _like_in_type(self: Any) -> Any:
    """An empty tensor of the subclass: its own new_empty() makes it."""
    empty = self.new_empty([])
    if type(empty) is not type(self):
        raise RuntimeError(
            "The default implementation of __deepcopy__() for non-wrapper subclasses only works for subclass types that implement "
            "new_empty() and for which that function returns another instance of the same subclass. You should either properly "
            "implement new_empty() for your subclass or override __deepcopy__() if it is intended behavior for new_empty() to "
            "return an instance of a different type."
        )
    return empty


def _no_grad() -> Any:
    from shim_torch.autograd.grad_mode import no_grad

    return no_grad()
