"""Fakes of real tensors: of one tensor always the same, views of one memory sharing theirs."""

from __future__ import annotations

import weakref
from typing import Any

from native import _core
from shim_torch.utils._python_dispatch import _disable_current_modes, is_traceable_wrapper_subclass


class FakeTensorConverter:
    """Remembers the fake of each tensor while the tensor lives."""

    def __init__(self) -> None:
        self._fakes: dict[int, tuple[Any, Any]] = {}  # id of a tensor -> (weak reference to it, its fake)
        self._known: dict[int, list[Any]] = {}  # memory of values that are known -> weak references to their fakes

    @property
    def tensor_memo(self) -> dict[int, Any]:
        """The fakes, by the identity of their tensors."""
        return {key: fake for key, (_, fake) in self._fakes.items()}

    def _remembered(self, t: Any) -> Any:
        found = self._fakes.get(id(t))
        return found[1] if found is not None and found[0]() is t else None

    def set_tensor_memo(self, t: Any, fake: Any) -> None:
        """Notes the fake of a tensor."""
        key = id(t)
        fakes = self._fakes

        def forget(_: Any) -> None:
            fakes.pop(key, None)

        fakes[key] = (weakref.ref(t, forget), fake)

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
        from shim_torch._subclasses.fake_tensor import FakeTensor
        from shim_torch.autograd.grad_mode import enable_grad, no_grad

        if t._is_view():
            base = self.from_real_tensor(mode, t._base)
            with enable_grad() if t.requires_grad and not t.is_leaf else no_grad():
                fake = base.as_strided(tuple(t.shape), tuple(t.stride()), t.storage_offset())
            return fake
        with no_grad():
            meta = _core.empty_strided(tuple(t.shape), tuple(t.stride()), t.dtype, _core.device("meta"))
        fake = FakeTensor(mode, meta, t.device, constant=t if make_constant else None)
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
