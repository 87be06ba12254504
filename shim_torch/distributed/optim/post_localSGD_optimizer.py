"""An optimizer that averages the parameters of all processes after its steps."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from shim_torch.optim import Optimizer

__all__ = ["PostLocalSGDOptimizer"]


class PostLocalSGDOptimizer(Optimizer):
    """Another optimizer's steps, each followed by ``averager.average_parameters``; its file keeps the averager's step too."""

    def __init__(self, optim: Any, averager: Any) -> None:
        self.optim, self.averager = optim, averager
        self.param_groups = optim.param_groups

    @property
    def state(self) -> Any:  # type: ignore[override]
        """The state of the wrapped optimizer."""
        return self.optim.state

    def __repr__(self) -> str:
        return repr(self.optim)

    def state_dict(self) -> dict[str, Any]:
        """The other optimizer's state, and the number of the averager's steps."""
        return {**self.optim.state_dict(), "step": self.averager.step}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes a state; one without a step starts the averager anew, with a warning."""
        self.optim.load_state_dict(state_dict)
        if "step" in state_dict:
            self.averager.step = state_dict["step"]
        else:
            warnings.warn(
                "Loaded state dict does not contain a step counter for an averager. Setting step counter to 0.",
                stacklevel=2,
            )
            self.averager.step = 0

    def step(self, closure: Callable[[], Any] | None = None) -> None:  # type: ignore[override]
        """One step, then the average."""
        self.optim.step()
        self.averager.average_parameters(params=self.param_groups)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """``zero_grad`` of the wrapped optimizer."""
        self.optim.zero_grad(set_to_none=set_to_none)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """``add_param_group`` of the wrapped optimizer."""
        self.optim.add_param_group(param_group)
