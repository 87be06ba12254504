"""Fake tensors for real ones: always the same for a tensor; fakes of views share a storage."""

from __future__ import annotations

import weakref
from typing import Any

from shim_torch._impl.native import _core
from shim_torch.utils._python_dispatch import _disable_current_modes, is_traceable_wrapper_subclass


class _Memory:
    """A real storage and its fake one."""

    def __init__(self, storage: Any) -> None:
        self.storage = weakref.ref(storage)  # the fakes'; each of them holds it
        self.tensors: dict[int, Any] = {}  # weak references to the real tensors over it


class _MetaConverter:
    """Maps real storages to fake ones, while both live."""

    def __init__(self) -> None:
        self.memories: dict[
            int, _Memory
        ] = {}  # by the address of the real storage: valid while one of its tensors lives

    @property
    def storage_memo(self) -> dict[int, Any]:
        """The fakes' storages, by the identity of the real ones."""
        found = {key: memory.storage() for key, memory in self.memories.items()}
        return {key: storage for key, storage in found.items() if storage is not None}

    def storage_of(self, t: Any) -> Any:
        """The storage on ``meta`` that stands for a real tensor's."""
        memory = self.memories.get(t.untyped_storage()._cdata)
        found = memory.storage() if memory is not None else None
        return found if found is not None else _core.UntypedStorage(t.untyped_storage().nbytes(), device="meta")

    def note(self, t: Any, storage: Any) -> None:
        """Registers the fake storage for a real tensor's."""
        key, mine = t.untyped_storage()._cdata, id(t)
        memory = self.memories.get(key)
        if memory is None or memory.storage() is not storage:
            memory = self.memories[key] = _Memory(storage)
        memories, tensors = self.memories, memory.tensors

        def forget(_: Any) -> None:
            tensors.pop(mine, None)
            if not tensors and key in memories and memories[key].tensors is tensors:
                del memories[key]

        tensors[mine] = weakref.ref(t, forget)

    def real_storage(self, fake: Any) -> Any:
        """The real storage behind a fake one; None if it was freed."""
        storage = fake.untyped_storage()
        for memory in self.memories.values():
            if memory.storage() is storage:
                return next(
                    (t.untyped_storage() for t in (r() for r in memory.tensors.values()) if t is not None), None
                )
        return None


class FakeTensorConverter:
    """Remembers the fake of each tensor while both live."""

    def __init__(self) -> None:
        self._fakes: dict[
            tuple[int], tuple[Any, Any]
        ] = {}  # identity of a tensor -> weak references to it and its fake
        self.meta_converter = _MetaConverter()
        self._known: dict[int, list[Any]] = {}  # memory of values that are known -> weak references to their fakes

    @property
    def tensor_memo(self) -> dict[Any, Any]:
        """The fakes, by the identity of their tensors."""
        found = {key: fake() for key, (_, fake) in self._fakes.items()}
        return {key: fake for key, fake in found.items() if fake is not None}

    def _remembered(self, t: Any) -> Any:
        found = self._fakes.get((id(t),))
        return found[1]() if found is not None and found[0]() is t else None

    def set_tensor_memo(self, t: Any, fake: Any) -> None:
        """Notes the fake of a tensor."""
        key = (id(t),)
        fakes = self._fakes

        def forget(_: Any) -> None:
            fakes.pop(key, None)

        fakes[key] = (weakref.ref(t, forget), weakref.ref(fake))

    def _note_constant(self, fake: Any) -> None:
        """A fake's value is known, until its memory is written to."""
        self._known.setdefault(fake.constant.untyped_storage()._cdata, []).append(weakref.ref(fake))

    def invalidate_constant_aliases(self, constant: Any) -> None:
        """The values of all fakes over the memory of a known one are not known any more."""
        for reference in self._known.pop(constant.untyped_storage()._cdata, ()):
            fake = reference()
            if fake is not None:
                fake.constant = None

    def from_real_tensor(self, fake_mode: Any, t: Any, make_constant: bool = False, **_: Any) -> Any:
        """The fake of a real tensor; ``make_constant`` keeps the value with it."""
        from shim_torch._subclasses.fake_tensor import FakeTensor, UnsupportedFakeTensorException

        if isinstance(t, FakeTensor):
            return t if t.fake_mode is fake_mode else self._of_other_mode(fake_mode, t)
        found = self._remembered(t)
        if found is not None:
            return found
        if is_traceable_wrapper_subclass(t):
            from shim_torch.utils._python_dispatch import transform_subclass

            return transform_subclass(t, lambda _, inner: self.from_real_tensor(fake_mode, inner))
        if t.layout != _core.strided or getattr(t, "is_quantized", False):
            raise UnsupportedFakeTensorException("sparse or quantized tensors are not supported as fake tensors here")
        with _disable_current_modes():
            fake = self._made(fake_mode, t, make_constant)
        if make_constant:
            fake.constant = t
            self._note_constant(fake)
        self.set_tensor_memo(t, fake)
        return fake

    def _of_other_mode(self, mode: Any, t: Any) -> Any:
        """A fake of this mode like one of another."""
        from shim_torch._subclasses.fake_tensor import FakeTensor

        found = self._remembered(t)
        if found is None:
            with _disable_current_modes():
                meta = _core.empty_strided(tuple(t.shape), tuple(t.stride()), t.dtype, _core.device("meta"))
                found = FakeTensor(mode, meta, t.fake_device)
                if t.requires_grad:
                    found.requires_grad = True
            self.set_tensor_memo(t, found)
        return found

    def _made(self, mode: Any, t: Any, make_constant: bool) -> Any:
        from shim_torch.autograd.grad_mode import enable_grad, no_grad

        if t._is_view():
            base = self.from_real_tensor(mode, t._base)
            with enable_grad() if t.requires_grad and not t.is_leaf else no_grad():
                fake = base.as_strided(tuple(t.shape), tuple(t.stride()), t.storage_offset())
            return fake
        fake = self._over_memory(mode, t)
        fake.constant = t if make_constant else None
        if isinstance(t, _parameter()):
            fake._is_param = True
        if t.requires_grad:
            fake.requires_grad_()
            if not t.is_leaf:
                with enable_grad():
                    fake = fake.clone()
        if t.is_leaf and t.grad is not None:
            fake.grad = self.from_real_tensor(mode, t.grad)
        return fake

    def _over_memory(self, mode: Any, t: Any) -> Any:
        """A leaf of a real tensor's geometry; what shares memory with it has fakes that do."""
        from shim_torch._impl.transforms.fake.run import _META
        from shim_torch._subclasses.fake_tensor import FakeTensor
        from shim_torch.autograd.grad_mode import no_grad

        storage = self.meta_converter.storage_of(t)
        with no_grad():
            meta = _core.empty_tensor((0,), t.dtype, _META)
            meta = meta.set_(storage, t.storage_offset(), tuple(t.shape), tuple(t.stride()))
        fake = FakeTensor(mode, meta, t.device)
        fake._memory = storage
        self.meta_converter.note(t, storage)
        return fake

    def from_meta_and_device(self, fake_mode: Any, t: Any, device: Any, *_: Any, **__: Any) -> Any:
        """A fake tensor that says ``device``, over a meta tensor."""
        from shim_torch._subclasses.fake_tensor import FakeTensor

        if t.device.type != "meta":
            raise AssertionError("tensor's device must be `meta`")
        found = self._remembered(t)
        if found is not None:
            return found
        fake = FakeTensor(fake_mode, t, device)
        self.set_tensor_memo(t, fake)
        return fake

    def __call__(self, fake_mode: Any, t: Any, device: Any = None, **kwargs: Any) -> Any:
        """The fake of a real tensor, or with ``device`` one over a meta tensor."""
        if device is None:
            return self.from_real_tensor(fake_mode, t, **kwargs)
        return self.from_meta_and_device(fake_mode, t, device)


def _parameter() -> Any:
    from shim_torch.nn.parameter import Parameter

    return Parameter
