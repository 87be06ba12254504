"""``torch._subclasses.fake_tensor``: tensors with shapes, dtypes and devices, and no data."""

from __future__ import annotations

import sys
import threading
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.transforms.fake.convert import FakeTensorConverter
from shim_torch._impl.transforms.fake.copying import FakeCopyMode
from shim_torch._impl.transforms.fake.errors import (  # noqa: F401
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensorDeviceMismatchError,
    MetadataMismatchError,
    UnsupportedFakeTensorException,
    UnsupportedOperatorException,
)
from shim_torch._impl.transforms.fake.modes import unset_fake_temporarily
from shim_torch._impl.transforms.fake.printing import shown
from shim_torch._impl.utils.pytree import tree_leaves
from shim_torch.utils._python_dispatch import (
    TorchDispatchMode,
    _any_batched,
    _get_current_dispatch_mode_stack,
    _no_dispatch,
    is_traceable_wrapper_subclass,
)

__all__ = [
    "DataDependentOutputException", "DynamicOutputShapeException", "FakeCopyMode", "FakeTensor", "FakeTensorConverter",
    "FakeTensorMode", "UnsupportedFakeTensorException", "UnsupportedOperatorException", "is_fake",
    "maybe_get_fake_mode", "unset_fake_temporarily",
]  # fmt: skip


def tree_flatten_only(kind: type, tree: Any) -> list[Any]:
    """The leaves of a tree that are of a type."""
    return [leaf for leaf in tree_leaves(tree) if isinstance(leaf, kind)]


class _Inside(threading.local):
    depth = 0  # > 0 while a kernel runs: a fake tensor is the meta tensor that it is
    func: Any = None  # the operator whose kernel runs


_inside = _Inside()
_META = _core.device("meta")


class FakeTensor(_core.Tensor):  # type: ignore[misc]
    """A tensor with shape, dtype and the name of a device, and no data. Operators on it give fake tensors."""

    fake_mode: Any
    fake_device: Any
    constant: Any
    __torch_function__ = _core._disabled_torch_function_impl

    @staticmethod
    def __new__(cls: Any, fake_mode: Any, elem: Any, device: Any, constant: Any = None, **_: Any) -> Any:
        device = device if isinstance(device, _core.device) else _core.device(device)
        if elem.device.type != "meta":
            raise AssertionError(f"elem.device.type must be 'meta', got {elem.device.type}")
        if device.type == "meta" and not fake_mode.allow_meta:
            raise AssertionError("device.type must not be 'meta' when allow_meta is False")
        if device.type in ("cuda", "xpu") and device.index is None:
            device = _core.device(device.type, 0)
        with _no_dispatch():
            made = _core.Tensor._make_subclass(cls, elem, elem.requires_grad)
        made.fake_mode, made.fake_device, made.constant = fake_mode, device, constant
        return made

    @staticmethod
    def from_tensor(t: Any, fake_mode: FakeTensorMode) -> FakeTensor:
        """A fake of a real tensor."""
        return fake_mode.from_tensor(t)

    @property
    def device(self) -> Any:
        """The device that the tensor stands for; meta while a kernel runs on it."""
        return _META if _inside.depth else self.__dict__.get("fake_device", _META)

    @property
    def is_meta(self) -> bool:
        """Whether it stands for a meta tensor."""
        return bool(self.device.type == "meta")

    @property
    def is_cuda(self) -> bool:
        """Whether it stands for a tensor on a GPU."""
        return bool(self.device.type == "cuda")

    @property
    def is_cpu(self) -> bool:
        """Whether it stands for a tensor on the CPU."""
        return bool(self.device.type == "cpu")

    def get_device(self) -> int:
        """The index of the device; -1 for the CPU and meta."""
        return -1 if self.device.type in ("cpu", "meta") else int(self.device.index or 0)

    @property
    def names(self) -> Any:
        """Errors: NotImplementedError, for there are no named fake tensors."""
        raise NotImplementedError("torch.compile doesn't support named tensors")

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        modes = {id(x.fake_mode): x.fake_mode for x in tree_leaves((args, kwargs)) if isinstance(x, FakeTensor)}
        if len(modes) > 1:
            raise AssertionError("Mixing fake modes NYI")
        mode = next(iter(modes.values()), None)
        for t in types:
            if not issubclass(t, FakeTensor) and t not in _PLAIN():
                return NotImplemented
        if mode is None:
            raise AssertionError("fake_mode must not be None when re-entering")
        if any(m is mode for m in _get_current_dispatch_mode_stack()):
            return NotImplemented
        with mode:
            return func(*args, **kwargs)

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return shown(self)

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return repr(self)

    def item(self) -> Any:
        """The number, where it is known to be a constant.

        Errors: DataDependentOutputException where it is not, RuntimeError unless there is one element.
        """
        from shim_torch import ops

        if self.numel() != 1:
            raise RuntimeError(f"a Tensor with {self.numel()} elements cannot be converted to Scalar")
        local: Any = ops.aten  # type: ignore[attr-defined]
        with self.fake_mode:
            return local._local_scalar_dense.default(self)

    def __bool__(self) -> bool:
        return bool(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __index__(self) -> int:
        return int(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __complex__(self) -> complex:
        return complex(self.item())

    def tolist(self) -> Any:
        """Nested lists of the numbers, each by ``item``."""
        return self.item() if self.dim() == 0 else [x.tolist() for x in self.unbind()]

    def numpy(self, *, force: bool = False) -> Any:
        """Errors: RuntimeError, for there is no data."""
        raise RuntimeError(".numpy() is not supported for tensor subclasses.")

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) in memo:
            return memo[id(self)]
        memo[id(self)] = made = _clone_of(self)
        return made


def _clone_of(fake: Any) -> Any:
    """A leaf of its own, with the same shape, strides and gradient."""
    with _no_dispatch():
        _inside.depth += 1
        try:
            empty = _core.empty_strided(tuple(fake.shape), tuple(fake.stride()), fake.dtype, _META)
        finally:
            _inside.depth -= 1
    made = FakeTensor(fake.fake_mode, empty, fake.fake_device)
    if getattr(fake, "_is_param", False):
        made._is_param = True
    made.requires_grad = fake.requires_grad
    if fake.grad is not None:
        made.grad = _clone_of(fake.grad)
    return made


def _PLAIN() -> tuple[Any, ...]:
    from shim_torch.nn.parameter import Buffer, Parameter

    return _core.Tensor, Parameter, Buffer


class FakeTensorMode(TorchDispatchMode):
    """Within it, operators compute shapes alone and new tensors are fake. ``from_tensor`` makes a fake of a real one.

    allow_non_fake_inputs: real tensors given to operators are taken as fakes of themselves. Sizes are plain numbers, with a
    ``shape_env`` too.
    """

    _computes_shapes = True  # what ``active`` knows it by
    _makes_leaves = True  # history is recorded above the mode, never by what it runs

    def __init__(
        self, *, allow_fallback_kernels: bool = True, allow_non_fake_inputs: bool = False, shape_env: Any = None,
        static_shapes: bool | None = None, export: bool = False, **_: Any,
    ) -> None:  # fmt: skip
        super().__init__()
        self.allow_fallback_kernels, self.allow_non_fake_inputs = allow_fallback_kernels, allow_non_fake_inputs
        self.shape_env, self.static_shapes, self.export = shape_env, static_shapes, export
        self.allow_meta = _meta_allowed()
        self.fake_tensor_converter = FakeTensorConverter()
        self._entered: list[bool] = []

    @classmethod
    def is_infra_mode(cls) -> bool:
        """True: it is one of PyTorch's own."""
        return True

    def from_tensor(self, tensor: Any, *, static_shapes: Any = None, source: Any = None, **_: Any) -> Any:
        """A fake tensor of the same shape, strides, dtype and device; of one tensor always the same."""
        return self.fake_tensor_converter.from_real_tensor(self, tensor)

    def __enter__(self) -> FakeTensorMode:
        stack = _get_current_dispatch_mode_stack()
        new = not (stack and any(m is self for m in stack))
        self._entered.append(new)
        if new:
            super().__enter__()
        return self

    def __exit__(self, *exc: Any) -> None:
        if self._entered.pop():
            super().__exit__(*exc)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        from shim_torch._impl.transforms.fake.run import run

        if _any_batched(args, kwargs):
            return NotImplemented
        return run(self, func, args, kwargs or {})


def _meta_allowed() -> bool:
    """The setting ``torch._functorch.config.fake_tensor_allow_meta``, True unless it was changed."""
    config = sys.modules.get("shim_torch._functorch.config")
    return bool(getattr(config, "fake_tensor_allow_meta", True))


def is_fake(x: Any) -> bool:
    """Whether a tensor is fake, or wraps fake ones."""
    if isinstance(x, FakeTensor):
        return True
    if is_traceable_wrapper_subclass(x):
        return all(is_fake(getattr(x, name)) for name in x.__tensor_flatten__()[0])
    return False


def maybe_get_fake_mode(t: Any) -> Any:
    """The mode of a fake tensor, else None."""
    if isinstance(t, FakeTensor):
        return t.fake_mode
    if is_traceable_wrapper_subclass(t):
        modes = [maybe_get_fake_mode(getattr(t, name)) for name in t.__tensor_flatten__()[0]]
        return modes[0] if modes else None
    return None


_METADATA = frozenset(
    "TensorMetadata extract_tensor_metadata _like_tensor_constructors _device_not_kwarg_ops _is_tensor_constructor".split()
)


def __getattr__(name: str) -> Any:
    if name in _METADATA:
        from shim_torch._impl.transforms.fake import metadata

        return getattr(metadata, name)
    if name == "_CacheKeyState":
        from shim_torch._impl.surface.not_built import names

        return names("torch._subclasses.fake_tensor", "results of operators on fake tensors are not cached", name)[name]
    from shim_torch._impl.surface.missing import missing

    return missing("torch._subclasses.fake_tensor", name)
