"""``torch._subclasses.fake_tensor``: tensors on the meta device that say they are on another one."""

from __future__ import annotations

from typing import Any

from native import _core
from shim_torch.overrides import TorchFunctionMode

__all__ = ["FakeTensor", "FakeTensorMode", "UnsupportedFakeTensorException", "is_fake", "unset_fake_temporarily"]


class UnsupportedFakeTensorException(RuntimeError):
    """An operator's result shape depends on data."""


DynamicOutputShapeException = DataDependentOutputException = UnsupportedFakeTensorException


# What changes or asks the fake tensor itself.
_OWN = frozenset("__set__ __delete__ requires_grad_ retain_grad register_hook detach_".split())


class FakeTensor(_core.Tensor):  # type: ignore[misc]
    """A tensor with shape, dtype and the name of a device, and no data. Operators on it give fake tensors."""

    fake_mode: Any
    fake_device: Any

    @staticmethod
    def __new__(cls: Any, fake_mode: Any, elem: Any, device: Any) -> Any:
        made = elem.to("meta") if not elem.is_meta else elem
        made = _core.Tensor._make_subclass(cls, made.detach(), elem.requires_grad and elem.is_leaf)
        made.fake_mode, made.fake_device = fake_mode, _core.device(device)
        return made

    @property
    def device(self) -> Any:
        return self.__dict__.get("fake_device") or _core.device("meta")

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        from shim_torch.overrides import DisableTorchFunction

        with DisableTorchFunction():
            name = getattr(func, "__name__", "")
            if name in _OWN:
                return func(*args, **(kwargs or {}))
            if name == "__get__":
                value = func(*args)
                if not isinstance(value, _core.TensorBase) or isinstance(value, FakeTensor):
                    return value
            return _call(func, args, kwargs or {}, None)

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        dtype = "" if self.dtype == _core.get_default_dtype() else f", dtype={self.dtype}"
        return f"FakeTensor(..., device='{self.device}', size={tuple(self.shape)}{dtype})"

    def tolist(self) -> Any:
        raise UnsupportedFakeTensorException("torch.Tensor.tolist of a fake tensor: it has no data")

    item = numpy = __bool__ = __int__ = __float__ = tolist


def _call(func: Any, args: Any, kwargs: dict[str, Any], mode: Any) -> Any:
    """Runs the function on meta tensors; its results say the device that the arguments say."""
    from shim_torch.overrides import DisableTorchFunction
    from shim_torch.utils._pytree import tree_leaves, tree_map

    fakes = [x for x in tree_leaves((args, kwargs)) if isinstance(x, FakeTensor)]
    mode = mode or (fakes[0].fake_mode if fakes else None)
    device = next((f.fake_device for f in fakes if f.dim()), fakes[0].fake_device if fakes else None)
    kwargs = dict(kwargs)
    target, moved, name = kwargs.get("device"), None, getattr(func, "__name__", "")
    if name in ("to", "cuda", "cpu"):
        moved = next((x for x in [*args[1:], target] if isinstance(x, (str, _core.device)) and _is_device(x)), None)
        target = moved = name if name != "to" else moved
        if name != "to":
            return FakeTensor(mode, fakes[0].as_subclass(_core.Tensor), moved)
    if target is not None:
        device = _core.device(target) if not isinstance(target, _core.device) else target
        if "device" in kwargs or not fakes:
            kwargs["device"] = "meta"
        args = tuple("meta" if isinstance(a, (str, _core.device)) and _is_device(a) else a for a in args)

    def meta(x: Any) -> Any:
        if isinstance(x, FakeTensor):
            return x.as_subclass(_core.Tensor)
        if isinstance(x, _core.Tensor) and not x.is_meta:
            return x.detach().to("meta")
        return x

    with DisableTorchFunction():
        plain_args, plain_kwargs = tree_map(meta, args), tree_map(meta, kwargs)
        result = func(*plain_args, **plain_kwargs)
        where = device if device is not None else _core.device("cpu")
        originals = {id(p): f for p, f in zip(tree_leaves(plain_args), tree_leaves(args), strict=True)}

        def fake(x: Any) -> Any:
            if not isinstance(x, _core.TensorBase) or isinstance(x, FakeTensor) or not x.is_meta:
                return x
            original = originals.get(id(x))
            same = isinstance(original, FakeTensor) and (moved is None or original.fake_device == where)
            return original if same else FakeTensor(mode, x, where)

        return tree_map(fake, result)


def _is_device(x: Any) -> bool:
    return isinstance(x, _core.device) or x.split(":")[0] in ("cpu", "cuda", "meta", "mps", "xpu")


class FakeTensorMode(TorchFunctionMode):
    """Within it, new tensors are fake. ``from_tensor`` makes a fake of a real one."""

    def __init__(self, *, allow_fallback_kernels: bool = True, allow_non_fake_inputs: bool = False, **_: Any) -> None:
        self.allow_non_fake_inputs = allow_non_fake_inputs
        self.shape_env = None

    def from_tensor(self, tensor: Any, *, static_shapes: Any = None, source: Any = None, **_: Any) -> FakeTensor:
        """A fake tensor of the same shape, strides, dtype and device."""
        if isinstance(tensor, FakeTensor):
            return tensor
        empty = _core.empty_strided(tuple(tensor.shape), tuple(tensor.stride()), tensor.dtype, _core.device("meta"))
        if tensor.requires_grad:
            empty.requires_grad_()
        return FakeTensor(self, empty, tensor.device)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if getattr(func, "__name__", "") in _FACTORIES and "device" not in kwargs:
            kwargs["device"] = _core.get_default_device() or "cpu"
        return _call(func, args, kwargs, self)

    def __enter__(self) -> FakeTensorMode:
        _modes.append(self)
        super().__enter__()
        return self

    def __exit__(self, *exc: Any) -> None:
        super().__exit__(*exc)
        _modes.remove(self)


_modes: list[FakeTensorMode] = []
_FACTORIES = frozenset(
    """empty zeros ones full rand randn randint arange linspace logspace eye tensor randperm empty_strided
    scalar_tensor as_tensor""".split()
)


def _active() -> FakeTensorMode | None:
    return _modes[-1] if _modes else None


def is_fake(x: Any) -> bool:
    """Whether a tensor is fake."""
    return isinstance(x, FakeTensor)


def maybe_get_fake_mode(t: Any) -> Any:
    return t.fake_mode if isinstance(t, FakeTensor) else None


class unset_fake_temporarily:
    """Takes the fake mode away within a ``with`` block."""

    def __enter__(self) -> Any:
        self._mode = _active()
        if self._mode is not None:
            _core._pop_torch_function_stack()
            _modes.remove(self._mode)
        return self._mode

    def __exit__(self, *_: object) -> None:
        if self._mode is not None:
            self._mode.__enter__()


def __getattr__(name: str) -> Any:
    from shim_torch._missing import missing

    return missing("torch._subclasses.fake_tensor", name)
