"""``torch.amp.GradScaler``: scales the loss so that float16 gradients do not vanish."""

from __future__ import annotations

import warnings
from collections import defaultdict
from enum import Enum
from typing import Any

from native import _core
from shim_torch._missing import asked_of as _asked_of


class OptState(Enum):
    READY = 0
    UNSCALED = 1
    STEPPED = 2


def _fresh() -> dict[str, Any]:
    return {"stage": OptState.READY, "found_inf": None}


class GradScaler:
    """Multiplies losses by a scale that backs off when gradients overflow and grows after a run of good steps.

    device: "cuda" or "cpu"; init_scale, growth_factor (> 1), backoff_factor (< 1), growth_interval (steps).
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
        self._device, self._enabled = device, enabled
        if enabled and device == "cuda":
            from shim_torch import cuda

            if not cuda.is_available():
                warnings.warn(
                    "torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.", stacklevel=2
                )
                self._enabled = False
        if self._enabled:
            if growth_factor <= 1.0:
                raise AssertionError("The growth factor must be > 1.0.")
            if backoff_factor >= 1.0:
                raise AssertionError("The backoff factor must be < 1.0.")
        self._init_scale = init_scale
        self._scale: Any = None
        self._growth_factor, self._backoff_factor = growth_factor, backoff_factor
        self._growth_interval, self._growth_tracker = growth_interval, 0
        self._per_optimizer: dict[int, dict[str, Any]] = defaultdict(_fresh)

    def scale(self, outputs: Any) -> Any:
        """outputs (a tensor, or an iterable of them) times the scale."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, _core.TensorBase):
            return outputs * self._scale_on(outputs.device)
        if isinstance(outputs, (list, tuple)):
            return type(outputs)(self.scale(o) for o in outputs)
        if hasattr(outputs, "__iter__"):
            return map(self.scale, outputs)
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    def _scale_on(self, device: Any) -> Any:
        import shim_torch as torch

        if self._scale is None:
            self._scale = torch.full((), self._init_scale, dtype=torch.float32, device=device)
        return self._scale if self._scale.device == device else self._scale.to(device)

    def unscale_(self, optimizer: Any) -> None:
        """Divides the optimizer's gradients by the scale and notes whether any is inf or NaN."""
        if not self._enabled:
            return
        state = self._per_optimizer[id(optimizer)]
        if state["stage"] is OptState.UNSCALED:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        if self._scale is None:
            raise AssertionError(
                "Attempted unscale_ but _scale is None.  This may indicate your script did not use "
                "scaler.scale(loss or outputs) earlier in the iteration."
            )
        import shim_torch as torch

        found = None
        with torch.no_grad():
            for parameter in (p for group in optimizer.param_groups for p in group["params"] if p.grad is not None):
                if parameter.grad.dtype is torch.float16 and parameter.dtype is torch.float16:
                    raise ValueError("Attempting to unscale FP16 gradients.")
                parameter.grad.mul_(1.0 / self._scale_on(parameter.grad.device).double())
                values = parameter.grad._values() if parameter.grad.is_sparse else parameter.grad
                bad = torch.logical_not(torch.isfinite(values).all())
                found = bad if found is None else torch.logical_or(found, bad.to(found.device))
        state["found_inf"], state["stage"] = found, OptState.UNSCALED

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """``optimizer.step(...)`` unless a gradient is inf or NaN."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        state = self._per_optimizer[id(optimizer)]
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if state["stage"] is OptState.READY:
            self.unscale_(optimizer)
        if state["found_inf"] is None:
            raise AssertionError("No inf checks were recorded for this optimizer.")
        state["stage"] = OptState.STEPPED
        return None if bool(state["found_inf"]) else optimizer.step(*args, **kwargs)

    def update(self, new_scale: Any = None) -> None:
        """Sets the next scale: new_scale if given, else backed off or grown."""
        if not self._enabled:
            return
        if self._scale is None:
            raise AssertionError(
                "Attempted update but _scale is None.  This may indicate your script did not use "
                "scaler.scale(loss or outputs) earlier in the iteration."
            )
        if new_scale is not None:
            value = float(new_scale)
            self._scale.fill_(value)
        else:
            found = [s["found_inf"] for s in self._per_optimizer.values() if s["found_inf"] is not None]
            if not found:
                raise AssertionError("No inf checks were recorded prior to update.")
            if any(bool(f) for f in found):
                self._scale.mul_(self._backoff_factor)
                self._growth_tracker = 0
            else:
                self._growth_tracker += 1
                if self._growth_tracker == self._growth_interval:
                    self._scale.mul_(self._growth_factor)
                    self._growth_tracker = 0
        self._per_optimizer = defaultdict(_fresh)

    def get_scale(self) -> float:
        """The scale."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else self._scale.item()

    def is_enabled(self) -> bool:
        """Whether scaling is on."""
        return self._enabled

    def get_growth_factor(self) -> float:
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        self._growth_interval = new_interval

    def state_dict(self) -> dict[str, Any]:
        """What ``load_state_dict`` takes; empty when disabled."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._growth_tracker,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes a ``state_dict()``."""
        if not self._enabled:
            return
        if len(state_dict) == 0:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler."
            )
        self._init_scale = state_dict["scale"]
        if self._scale is not None:
            self._scale.fill_(state_dict["scale"])
        self._growth_factor, self._backoff_factor = state_dict["growth_factor"], state_dict["backoff_factor"]
        self._growth_interval, self._growth_tracker = state_dict["growth_interval"], state_dict["_growth_tracker"]

__getattr__ = _asked_of(__name__)
