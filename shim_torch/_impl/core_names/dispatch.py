"""Dispatch keys by name, sets of them, and the guard that leaves keys out of the calls within."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

from shim_torch._impl.native import _core

_NAMES = (
    "Undefined CPU CUDA HIP XLA MPS IPU XPU HPU VE Lazy MTIA MAIA PrivateUse1 Meta Dense Sparse SparseCPU SparseCUDA "
    "SparseMeta Quantized QuantizedCPU QuantizedCUDA NestedTensor BackendSelect Python PythonDispatcher Functionalize "
    "FuncTorchDynamicLayerBackMode FuncTorchDynamicLayerFrontMode FuncTorchBatched FuncTorchGradWrapper "
    "FuncTorchVmapMode Named Conjugate Negative ZeroTensor ADInplaceOrView Autograd AutogradOther AutogradFunctionality "
    "AutogradCPU AutogradCUDA AutogradXLA AutogradMPS AutogradXPU AutogradMeta AutogradNestedTensor AutogradPrivateUse1 "
    "Tracer AutocastCPU AutocastCUDA AutocastXPU AutocastMPS AutocastMTIA AutocastXLA AutocastIPU AutocastHPU "
    "AutocastMAIA AutocastPrivateUse1 Batched VmapMode TESTING_ONLY_GenericWrapper TESTING_ONLY_GenericMode "
    "PreDispatch CompositeImplicitAutograd CompositeExplicitAutograd CompositeExplicitAutogradNonFunctional "
    "CompositeImplicitAutogradNestedTensor"
).split()


_BACKENDS = "CPU CUDA HIP XLA MPS IPU XPU HPU VE Lazy MTIA MAIA PrivateUse1 PrivateUse2 PrivateUse3 Meta Nested".split()
# Every name that a kernel may be registered for.
KNOWN_KEYS = frozenset(_NAMES) | {
    *(
        f"{kind}{b}"
        for kind in ("", "Sparse", "SparseCsr", "Quantized", "NestedTensor", "Autograd", "Autocast")
        for b in _BACKENDS
    ),
    *"SparseCsr FPGA Vulkan Metal MkldnnCPU PythonTLSSnapshot PythonDispatcher AutogradPrivateUse2 AutogradPrivateUse3 Fake".split(),
    *"DeferredInit FuncTorchGradWrapper FuncTorchVmapMode CustomRNGKeyId PreDispatch Alias AutogradLazy".split(),
}


class _Key(str):
    """One dispatch key; equal to its name."""

    __slots__ = ()

    @property
    def name(self) -> str:
        return str.__str__(self)

    def __repr__(self) -> str:
        return f"<DispatchKey.{self.name}: {_NAMES.index(self.name)}>"

    def __str__(self) -> str:
        return f"DispatchKey.{self.name}"


class DispatchKey:
    """The names of PyTorch's dispatch keys."""


for _name in _NAMES:
    setattr(DispatchKey, _name, _Key(_name))


def _place(key: str) -> int:
    """Where a key stands among those of a set that is printed."""
    if key == "PythonTLSSnapshot":
        return len(_NAMES)
    return _NAMES.index(key) if key in _NAMES else 0


class DispatchKeySet(frozenset[str]):
    """A set of dispatch keys; ``|``, ``&`` and ``-`` as with sets."""

    def __repr__(self) -> str:
        return f"DispatchKeySet({', '.join(k.name for k in sorted(self, key=_place))})"  # type: ignore[attr-defined]

    __str__ = __repr__

    def __new__(cls, keys: Any = ()) -> DispatchKeySet:
        one: Iterable[str] = (keys,) if isinstance(keys, str) else keys
        return super().__new__(cls, (_Key(k.rpartition(".")[2]) if type(k) is not _Key else k for k in one))

    def has(self, key: str) -> bool:
        """Whether a key is in the set."""
        return key in self

    def add(self, key: str) -> DispatchKeySet:
        """The set with one key more."""
        return self | DispatchKeySet(key)

    def remove(self, key: str) -> DispatchKeySet:
        """The set without a key."""
        return self - DispatchKeySet(key)

    def __or__(self, other: Any) -> DispatchKeySet:
        return DispatchKeySet(super().__or__(other))

    def __and__(self, other: Any) -> DispatchKeySet:
        return DispatchKeySet(super().__and__(other))

    def __sub__(self, other: Any) -> DispatchKeySet:
        return DispatchKeySet(super().__sub__(other))


class _Excluded(threading.local):
    keys: frozenset[str] = frozenset()


_excluded = _Excluded()
_AUTOCASTS = tuple(k for k in _NAMES if k.startswith("Autocast"))


def _dispatch_tls_local_exclude_set() -> DispatchKeySet:
    """The keys that this thread's calls leave out: of autocast those that are off, and what guards exclude."""
    off = (
        k
        for k in _AUTOCASTS
        if k not in ("AutocastCPU", "AutocastCUDA") or not _core.is_autocast_enabled(k[8:].lower())
    )
    return DispatchKeySet((*off, *_excluded.keys))


def _dispatch_tls_local_include_set() -> DispatchKeySet:
    """The keys that all of this thread's calls have."""
    return DispatchKeySet(("BackendSelect", "ADInplaceOrView"))


def _dispatch_has_kernel_for_dispatch_key(name: str, key: str) -> bool:
    """Whether an operator has a kernel for a dispatch key: of a library's operators those that it registered."""
    qualified, _, overload = name.partition(".")
    if overload not in _core.operator_overloads(qualified):
        raise RuntimeError(f"operator {name} does not exist")
    registered = _core.kernels_of(qualified, overload)
    if key in registered or not qualified.startswith("aten::"):
        return key in registered
    from shim_torch._impl.transforms.torch_dispatch import consists_of_operators

    if consists_of_operators(qualified, overload):
        return key == "CompositeImplicitAutograd"
    return key in ("CPU", "CUDA", "Meta", "Autograd")


def keys_of(tensor: Any) -> DispatchKeySet:
    """The dispatch keys of a tensor."""
    kind = type(tensor)
    handled = kind is not _core.Tensor and kind.__torch_dispatch__ is not _core._disabled_torch_dispatch_impl
    device = "Meta" if tensor.device.type == "meta" else tensor.device.type.upper()
    layout = "" if tensor.layout == _core.strided else "Sparse" if tensor.is_sparse else "SparseCsr"
    keys = [f"{layout}{device}"]
    keys += ["Python", "PythonTLSSnapshot"] if handled else []
    keys += ["Conjugate"] if tensor.is_conj() else []
    keys += ["Negative"] if tensor.is_neg() else []
    keys += [] if tensor.is_inference() else ["ADInplaceOrView", f"Autograd{device}"]
    return DispatchKeySet((*keys, *([] if device == "Meta" else [f"Autocast{device}"])))


class _AutoDispatchBelowAutograd:
    """Calls go on below autograd: kernels of Autograd keys are skipped, and no history is recorded.

    As PyTorch's it is in effect from the construction to ``__exit__`` or, where it is no context, to the object's end.
    """

    def __init__(self) -> None:
        self._active = True
        self._below = _core._set_below_autograd(True)
        self._grad = _core.is_grad_enabled()
        _core._set_grad_enabled(False)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        if self._active:
            self._active = False
            _core._set_below_autograd(self._below)
            _core._set_grad_enabled(self._grad)

    def __del__(self) -> None:
        self.__exit__()


class _ExcludeDispatchKeyGuard:
    """Leaves dispatch keys out of the calls within: autocast is off, Autograd kernels are skipped."""

    def __init__(self, keys: DispatchKeySet) -> None:
        self._autocast = [t for t in ("cpu", "cuda") if f"Autocast{t.upper()}" in keys]
        self._autograd = any(k.startswith("Autograd") for k in keys)
        self._keys = frozenset(keys)

    def __enter__(self) -> None:
        self._outer, _excluded.keys = _excluded.keys, _excluded.keys | self._keys
        self._before = [_core.is_autocast_enabled(t) for t in self._autocast]
        for t in self._autocast:
            _core.set_autocast_enabled(t, False)
        self._below = _AutoDispatchBelowAutograd() if self._autograd else None

    def __exit__(self, *_: object) -> None:
        _excluded.keys = self._outer
        for t, on in zip(self._autocast, self._before, strict=True):
            _core.set_autocast_enabled(t, on)
        if self._below:
            self._below.__exit__()
