"""``torch.amp.GradScaler``: scales the loss so that float16 gradients do not vanish."""

from __future__ import annotations

import functools
import inspect
import itertools
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from enum import Enum
from typing import Any

from shim_torch._impl.amp.scaler_state import ScalerState
from shim_torch._impl.native import _core
from shim_torch._impl.table.calls import torch as _torch

__all__ = ["GradScaler", "OptState"]

_UNUSED = "This may indicate your script did not use scaler.scale(loss or outputs) earlier in the iteration."


class OptState(Enum):
    """How far an optimizer is in its iteration."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


_REFUSED = {
    ("unscale_", OptState.UNSCALED): "unscale_() has already been called on this optimizer since the last update().",
    ("unscale_", OptState.STEPPED): "unscale_() is being called after step().",
    ("step", OptState.STEPPED): "step() has already been called since the last update().",
}


def _refresh_per_optimizer_state() -> dict[str, Any]:
    return {"stage": OptState.READY, "found_inf_per_device": {}}


class _MultiDeviceReplicator:
    """A tensor and its copies on the devices that asked for it."""

    def __init__(self, master_tensor: Any) -> None:
        self.master = master_tensor
        self._per_device_tensors: dict[Any, Any] = {}

    def get(self, device: Any) -> Any:
        if device not in self._per_device_tensors:
            self._per_device_tensors[device] = self.master.to(device=device, non_blocking=True, copy=True)
        return self._per_device_tensors[device]


def _number(value: float, device: Any, dtype: Any = _core.float32) -> Any:
    """A tensor without dims."""
    return _torch.full((), value, dtype=dtype, device=device)


def _each(values: Any, change: Callable[[Any], Any]) -> Any:
    """``change`` of a tensor, or of those in an iterable, nested at will."""
    if isinstance(values, _core.TensorBase):
        return change(values)
    try:
        changed = map(functools.partial(_each, change=change), values)
    except TypeError:
        raise ValueError("outputs must be a Tensor or an iterable of Tensors") from None
    return type(values)(changed) if isinstance(values, (list, tuple)) else changed


def _gradients(optimizer: Any, allow_fp16: bool) -> Iterator[Any]:
    """What is to be scaled in place: the gradients, or the values of sparse ones. Errors: ValueError for float16."""
    for param in itertools.chain.from_iterable(group["params"] for group in optimizer.param_groups):
        if not isinstance(param, _core.TensorBase):
            raise AssertionError(f"expected param to be torch.Tensor, got {type(param).__name__}")
        grad = param.grad
        if grad is None:
            continue
        half = grad.dtype is _core.float16
        if half and not allow_fp16:
            raise ValueError("Attempting to unscale FP16 gradients.")
        if not grad.is_sparse:
            yield grad
            continue
        if half:  # sums of values at one place may overflow: they are checked
            param.grad = grad.coalesce()
        elif not grad._values().is_contiguous():  # of an expanded gradient: it cannot be written to
            param.grad = grad.clone()
        yield param.grad._values()


class GradScaler(ScalerState):
    """Multiplies losses by a scale that backs off when gradients overflow and grows after a run of good steps.

    device: "cuda" or "cpu"; init_scale, growth_factor (> 1), backoff_factor (< 1), growth_interval (steps). The scale and the
    count of good steps are tensors (0-dim float32 and int32) on the device of the first loss that was scaled.
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        self._device, self._enabled = device, enabled and self._has_device(device)
        if not self._enabled:
            return
        for fits, what in (
            (growth_factor > 1.0, "growth factor must be > 1.0"),
            (backoff_factor < 1.0, "backoff factor must be < 1.0"),
        ):
            if not fits:
                raise AssertionError(f"The {what}.")
        self._growth_factor, self._backoff_factor, self._growth_interval = (
            growth_factor,
            backoff_factor,
            growth_interval,
        )
        self._init_scale, self._init_growth_tracker = init_scale, 0
        self._scale: Any = None  # made with _growth_tracker on the device of the first loss
        self._growth_tracker: Any = None
        self._forget()

    @staticmethod
    def _has_device(device: str) -> bool:
        from shim_torch import cuda

        if device != "cuda" or cuda.is_available():
            return True
        warnings.warn("torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.", stacklevel=3)
        return False

    def _forget(self) -> None:
        """A new iteration begins: nothing is known of any optimizer."""
        self._per_optimizer_states: dict[int, dict[str, Any]] = defaultdict(_refresh_per_optimizer_state)

    def _check_scale_growth_tracker(self, funcname: str) -> tuple[Any, Any]:
        for name in ("_scale", "_growth_tracker"):
            if getattr(self, name) is None:
                raise AssertionError(f"Attempted {funcname} but {name} is None.  {_UNUSED}")
        return self._scale, self._growth_tracker

    def _lazy_init_scale_growth_tracker(self, dev: Any) -> None:
        if self._growth_tracker is not None:
            raise AssertionError("_growth_tracker initialized before _scale")
        self._scale, self._growth_tracker = (
            _number(self._init_scale, dev),
            _number(self._init_growth_tracker, dev, _core.int32),
        )

    def scale(self, outputs: Any) -> Any:
        """outputs (a tensor, or an iterable of them, nested at will) times the scale; ValueError for anything else."""
        return _each(outputs, lambda x: x * self._scale_on(x.device)) if self._enabled else outputs

    def _scale_on(self, device: Any) -> Any:
        if self._scale is None:
            self._lazy_init_scale_growth_tracker(device)
        return self._scale if self._scale.device == device else self._scale.to(device, non_blocking=True)

    def _unscale_grads_(self, optimizer: Any, inv_scale: Any, found_inf: Any, allow_fp16: bool) -> dict[Any, Any]:
        """Multiplies the gradients by ``inv_scale``; by device, 1 where one of them is not finite (else found_inf)."""
        from shim_torch.autograd.grad_mode import no_grad

        scales, found = _MultiDeviceReplicator(inv_scale), _MultiDeviceReplicator(found_inf)
        with no_grad():
            kinds: dict[tuple[Any, Any], list[Any]] = {}  # one call takes tensors of one device and dtype
            for grad in _gradients(optimizer, allow_fp16):
                kinds.setdefault((grad.device, grad.dtype), []).append(grad)
            for (device, _), grads in kinds.items():
                _torch._amp_foreach_non_finite_check_and_unscale_(grads, found.get(device), scales.get(device))
        return found._per_device_tensors

    def _begin(self, call: str, optimizer: Any) -> dict[str, Any]:
        """The optimizer's state. Errors: AssertionError before the first loss, RuntimeError where it has come too far for the call."""
        self._check_scale_growth_tracker(call)
        state = self._per_optimizer_states[id(optimizer)]
        if (call, state["stage"]) in _REFUSED:
            raise RuntimeError(_REFUSED[call, state["stage"]])
        return state

    def _look_for_inf(self, optimizer: Any, factor: Any, allow_fp16: bool) -> dict[Any, Any]:
        """Multiplies the gradients, and notes by device whether they are finite."""
        found = self._unscale_grads_(optimizer, factor, _number(0.0, self._scale.device), allow_fp16)
        self._per_optimizer_states[id(optimizer)]["found_inf_per_device"] = found
        return found

    def unscale_(self, optimizer: Any) -> None:
        """Divides the optimizer's gradients by the scale and notes whether any is inf or NaN.

        RuntimeError a second time before ``update``, or after ``step``; ValueError for float16 gradients.
        """
        if self._enabled:
            state = self._begin("unscale_", optimizer)
            self._look_for_inf(optimizer, self._scale.double().reciprocal().float(), False)
            state["stage"] = OptState.UNSCALED

    def _maybe_opt_step(self, optimizer: Any, optimizer_state: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        if sum(found.item() for found in optimizer_state["found_inf_per_device"].values()):
            return None
        return optimizer.step(*args, **kwargs)

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """``optimizer.step(...)`` unless a gradient is inf or NaN.

        An optimizer with ``_step_supports_amp_scaling`` is always stepped: it finds ``grad_scale`` and ``found_inf`` in its
        attributes (or, deprecated, this scaler in its argument ``grad_scaler``). RuntimeError twice before ``update``.
        """
        if self._enabled and "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        state = self._begin("step", optimizer) if self._enabled else None
        if state is None:
            return optimizer.step(*args, **kwargs)
        scales_itself = getattr(optimizer, "_step_supports_amp_scaling", False)
        run = self._step_that_scales if scales_itself else self._step_if_finite
        result = run(optimizer, state, args, kwargs)
        state["stage"] = OptState.STEPPED
        return result

    def _step_if_finite(self, optimizer: Any, state: dict[str, Any], args: Any, kwargs: dict[str, Any]) -> Any:
        if state["stage"] is OptState.READY:
            self.unscale_(optimizer)
        if not state["found_inf_per_device"]:
            raise AssertionError("No inf checks were recorded for this optimizer.")
        return self._maybe_opt_step(optimizer, state, *args, **kwargs)

    def _step_that_scales(self, optimizer: Any, state: dict[str, Any], args: Any, kwargs: dict[str, Any]) -> Any:
        if "grad_scaler" in inspect.signature(optimizer.step).parameters:
            warnings.warn(
                "GradScaler is going to stop passing itself as a keyword argument to the passed "
                "optimizer. In the near future GradScaler registers `grad_scale: Tensor` and "
                "`found_inf: Tensor` to the passed optimizer and let the optimizer use them directly.",
                FutureWarning,
                stacklevel=3,
            )
            return optimizer.step(*args, **kwargs, grad_scaler=self)
        given = getattr(optimizer, "grad_scale", None)
        if state["stage"] is OptState.READY:  # still scaled; the user's own scale counts too
            self._check_inf_per_device(optimizer)
            given = self._scale if given is None else self._scale * given
        optimizer.grad_scale, optimizer.found_inf = given, sum(self._overflows(state))
        result = optimizer.step(*args, **kwargs)
        del optimizer.grad_scale, optimizer.found_inf
        return result

    def _overflows(self, *states: dict[str, Any]) -> list[Any]:
        """What was found on all devices, on the scale's: 1 where a gradient was not finite, else 0."""
        found = itertools.chain.from_iterable(state["found_inf_per_device"].values() for state in states)
        return [flag.to(device=self._scale.device, non_blocking=True) for flag in found]

    def update(self, new_scale: Any = None) -> None:
        """Sets the next scale: new_scale (a number or a float tensor of one element) if given, else backed off or grown."""
        if not self._enabled:
            return
        own = self._check_scale_growth_tracker("update")
        if new_scale is None:
            first, *others = self._overflows(*self._per_optimizer_states.values()) or (None,)
            if first is None:
                raise AssertionError("No inf checks were recorded prior to update.")
            factors: Any = self._growth_factor, self._backoff_factor, self._growth_interval
            _torch._amp_update_scale_(*own, sum(others, first), *factors)
        else:
            self._take(new_scale)
        self._forget()

    def _take(self, new_scale: Any) -> None:
        if isinstance(new_scale, float):
            self._scale.fill_(new_scale)
            return
        reason = (
            "new_scale should be a float or a 1-element torch.cuda.FloatTensor or "
            "torch.FloatTensor with requires_grad=False."
        )
        if not isinstance(new_scale, _core.TensorBase) or new_scale.device.type != self._device:
            raise AssertionError(reason)
        if new_scale.numel() != 1 or new_scale.requires_grad is not False:
            raise AssertionError(reason)
        self._scale.copy_(new_scale)

    def _check_inf_per_device(self, optimizer: Any) -> dict[Any, Any]:
        """By device, whether gradients are not finite; they stay as they are."""
        scale, _ = self._check_scale_growth_tracker("_check_inf_per_device")
        return self._look_for_inf(optimizer, _number(1.0, scale.device), True)

    def _found_inf_per_device(self, optimizer: Any) -> dict[Any, Any]:
        return self._per_optimizer_states[id(optimizer)]["found_inf_per_device"]
