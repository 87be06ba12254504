"""What a GradScaler holds: its settings, and the dict and the pickle of them."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.surface import naming

# What state_dict holds of the settings, each an attribute with an underscore before it
_SETTINGS = ("growth_factor", "backoff_factor", "growth_interval")


@naming.methods_of("GradScaler", "torch.amp.grad_scaler")
class ScalerState:
    """The methods that ask for the state of a scaler or set it."""

    _enabled: bool
    _scale: Any
    _growth_tracker: Any
    _per_optimizer_states: dict[int, dict[str, Any]]

    def _get_scale_async(self) -> Any:
        return self._scale

    def get_scale(self) -> float:
        """The scale, 1.0 when disabled; waits for the device."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else self._scale.item()

    def get_growth_factor(self) -> float:
        """What the scale is multiplied by after a whole interval of finite gradients."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Changes the growth factor from the next ``update`` on."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """What the scale is multiplied by after a step whose gradients were not finite."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Changes the backoff factor from the next ``update`` on."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """How many steps in a row with finite gradients make the scale grow."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Changes the growth interval, counted in steps, from the next ``update`` on."""
        self._growth_interval = new_interval

    def _get_growth_tracker(self) -> int:
        if not self._enabled:
            return 0
        return self._init_growth_tracker if self._growth_tracker is None else self._growth_tracker.item()

    def is_enabled(self) -> bool:
        """Whether scaling is on."""
        return self._enabled

    def state_dict(self) -> dict[str, Any]:
        """What ``load_state_dict`` takes; empty when disabled."""
        if not self._enabled:
            return {}
        settings = {name: getattr(self, f"_{name}") for name in _SETTINGS}
        return {"scale": self.get_scale(), **settings, "_growth_tracker": self._get_growth_tracker()}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes a ``state_dict()``; RuntimeError for that of a disabled scaler."""
        if not self._enabled:
            return
        if len(state_dict) == 0:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler."
            )
        for name in _SETTINGS:
            setattr(self, f"_{name}", state_dict[name])
        self._init_scale, self._init_growth_tracker = state_dict["scale"], state_dict["_growth_tracker"]
        for tensor, value in ((self._scale, self._init_scale), (self._growth_tracker, self._init_growth_tracker)):
            if tensor is not None:
                tensor.fill_(value)

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        if self._enabled:
            if self._per_optimizer_states:
                raise AssertionError(
                    "A GradScaler instance may only be pickled at the beginning of an iteration, or at the end after scaler.update()."
                )
            # The tensors are made again on the device of the first loss.
            state["_init_scale"], state["_init_growth_tracker"] = self.get_scale(), self._get_growth_tracker()
            state["_scale"] = state["_growth_tracker"] = None
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
