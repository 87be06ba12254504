"""``torch.amp.autocast``: operators take a lower precision where PyTorch's lists say so; the lists are native."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from shim_torch._impl.native import _core
from shim_torch._impl.table.arguments import need_dtype, need_str, type_name

_LOWER = {
    "cpu": (_core.bfloat16, _core.float16),
    "cuda": (_core.float16, _core.bfloat16, _core.float32),
    "meta": (_core.float16, _core.bfloat16),
}


def is_autocast_available(device_type: str) -> bool:
    """Whether autocast has rules for a device type (str)."""
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    return _core.device(device_type).type in ("cpu", "cuda")


def _stateful(device_type: str) -> bool:
    return device_type in ("cpu", "cuda")


class autocast:
    """Context manager and decorator.

    device_type: "cuda" or "cpu" (str, not a device); dtype: what it lowers to (float16 on cuda, bfloat16 on cpu);
    enabled: whether it does anything; cache_enabled: whether a weight (a leaf in float32 that wants a gradient) is cast once,
    until the outermost region ends or ``clear_autocast_cache()``, so that layers which share it share its cast. What is
    written to the weight meanwhile, its cast does not see.

    Errors: RuntimeError for an unknown device type; ValueError when device_type is no str.
    """

    def __init__(
        self, device_type: str, dtype: Any = None, enabled: bool = True, cache_enabled: bool | None = None
    ) -> None:
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        self.device = self.device_type = (
            _core.device(device_type).type if device_type != "privateuseone" else device_type
        )
        if self.device not in _LOWER:
            raise RuntimeError(f"User specified an unsupported autocast device_type '{self.device}'")
        stateful = _stateful(self.device)
        self.fast_dtype = dtype if dtype is not None else get_autocast_dtype(self.device) if stateful else _core.float16
        self._enabled = self._usable(enabled)
        self._cache_enabled = _core.is_autocast_cache_enabled() if cache_enabled is None else cache_enabled

    def _usable(self, enabled: bool) -> bool:
        if not enabled:
            return False
        refusal = None
        if self.device == "cuda":
            from shim_torch import cuda

            if not cuda.is_available():
                refusal = "User provided device_type of 'cuda', but CUDA is not available. Disabling"
        elif self.device == "cpu" and self.fast_dtype not in _LOWER["cpu"]:
            refusal = (
                "In CPU autocast, but the target dtype is not supported. Disabling autocast.\nCPU Autocast only supports "
                "dtype of torch.bfloat16, torch.float16 currently."
            )
        if refusal is not None:
            warnings.warn(refusal, UserWarning, stacklevel=3)
        return refusal is None

    def __enter__(self) -> autocast:
        if _stateful(self.device):
            self._before = (
                _core.is_autocast_enabled(self.device),
                _core.get_autocast_dtype(self.device),
                _core.is_autocast_cache_enabled(),
            )
            self._set(self._enabled, self.fast_dtype, self._cache_enabled)
        _core.autocast_increment_nesting()
        return self

    def __exit__(self, *exc: Any) -> None:
        if _core.autocast_decrement_nesting() == 0:
            _core.clear_autocast_cache()
        if _stateful(self.device):
            self._set(*self._before)

    def _set(self, enabled: bool, dtype: Any, cache_enabled: bool) -> None:
        _core.set_autocast_enabled(self.device, enabled)
        _core.set_autocast_dtype(self.device, dtype)
        _core.set_autocast_cache_enabled(cache_enabled)

    def __call__(self, func: Any) -> Any:
        @functools.wraps(func)
        def run(*args: Any, **kwargs: Any) -> Any:
            with self:
                return func(*args, **kwargs)

        return run


def is_autocast_enabled(device_type: str | None = None) -> bool:
    """Whether autocast is on for a device type (cuda when none is given)."""
    if device_type is None:
        return _core.is_autocast_enabled()
    need_str(device_type, "is_autocast_enabled", "device_type")
    return _core.is_autocast_enabled(device_type)


def get_autocast_dtype(device_type: str) -> Any:
    """What autocast lowers to on a device type."""
    return _core.get_autocast_dtype(device_type)


def get_autocast_gpu_dtype() -> Any:
    """What autocast lowers to on CUDA."""
    return _core.get_autocast_dtype("cuda")


def set_autocast_enabled(*args: Any, **kwargs: Any) -> None:
    """``set_autocast_enabled(device_type, enabled)`` or, for cuda, ``set_autocast_enabled(enabled)``; both by name too.

    Raises TypeError for what is no str and no bool.
    """
    names = ("device_type", "enabled") if len(args) + len(kwargs) == 2 else ("enabled",)
    given = dict(zip(names, args, strict=False)) | kwargs
    if len(given) != len(args) + len(kwargs) or set(given) != set(names):
        types = ", ".join([type_name(a) for a in args] + [f"{n}={type_name(v)}" for n, v in kwargs.items()])
        raise TypeError(
            f"set_autocast_enabled() received an invalid combination of arguments - got ({types}), but expected one of:\n"
            " * (str device_type, bool enabled)\n * (bool enabled)\n"
        )
    if "device_type" in given:
        need_str(given["device_type"], "set_autocast_enabled", "device_type")
    _core.set_autocast_enabled(*[given[n] for n in names])


def set_autocast_dtype(device_type: str, dtype: Any) -> None:
    """Sets what autocast lowers to on a device type."""
    need_str(device_type, "set_autocast_dtype", "device_type")
    need_dtype(dtype, "set_autocast_dtype", "dtype", 2)
    _core.set_autocast_dtype(device_type, dtype)


is_autocast_cache_enabled = _core.is_autocast_cache_enabled


def _enter_autocast(*values: Any) -> autocast:
    mode = autocast(*values)
    mode.__enter__()
    return mode


def _exit_autocast(mode: autocast) -> None:
    mode.__exit__(None, None, None)


# What is looked into, and how it is put together again; the first that fits.
_CONTAINERS: tuple[tuple[Any, Callable[[Any, Callable[[Any], Any]], Any]], ...] = (
    ((str, bytes, np.ndarray), lambda whole, _: whole),
    (Mapping, lambda items, change: {change(key): change(item) for key, item in items.items()}),
    ((list, tuple), lambda items, change: type(items)(map(change, items))),
    (Iterable, lambda items, change: map(change, items)),
)


def _cast(value: Any, device_type: str, dtype: Any) -> Any:
    """Floating tensors of the device type, inside containers too, cast to dtype (float64 stays)."""
    if isinstance(value, _core.TensorBase):
        stays = value.dtype is _core.float64 or not value.is_floating_point() or value.device.type != device_type
        return value if stays else value.to(dtype)
    for kinds, changed in _CONTAINERS:
        if isinstance(value, kinds):
            return changed(value, lambda item: _cast(item, device_type, dtype))
    return value


def _decorated(function: Any, device_type: str, mode_for: Callable[[Any], autocast | None], dtype: Any = None) -> Any:
    """A method of an ``autograd.Function`` that runs in ``mode_for(ctx)``, its inputs cast to ``dtype`` there.

    Without ``function`` a decorator. ``mode_for`` gives None where the method runs as it is called.
    """
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    if function is None:
        return lambda method: _decorated(method, device_type, mode_for, dtype)

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        mode = mode_for(args[0])
        if mode is None:
            return function(*args, **kwargs)
        if dtype is not None:
            args, kwargs = _cast([args, kwargs], device_type, dtype)
        with mode:
            return function(*args, **kwargs)

    return run


def custom_fwd(fwd: Any = None, *, device_type: str, cast_inputs: Any = None) -> Any:
    """Decorator of ``autograd.Function.forward``: remembers autocast's state for backward, or casts and turns it off."""

    def mode_for(ctx: Any) -> autocast | None:
        active = is_autocast_enabled(device_type)
        ctx._dtype, ctx._fwd_used_autocast = get_autocast_dtype(device_type), active and cast_inputs is None
        return autocast(device_type, enabled=False) if active and cast_inputs is not None else None

    return _decorated(fwd, device_type, mode_for, cast_inputs)


def custom_bwd(bwd: Any = None, *, device_type: str) -> Any:
    """Decorator of ``autograd.Function.backward``: runs it under the autocast state that forward had."""
    return _decorated(bwd, device_type, lambda ctx: autocast(device_type, ctx._dtype, ctx._fwd_used_autocast))
