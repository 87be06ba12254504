"""When parameters are averaged: every so many steps, after some steps to warm up."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from shim_torch import distributed

from . import utils

__all__ = ["ModelAverager", "PeriodicModelAverager"]


class ModelAverager(ABC):
    """Counts its steps in ``step`` and averages over ``process_group``, the whole if none is given."""

    def __init__(self, process_group: Any = None) -> None:
        self.process_group = process_group if process_group is not None else distributed.group.WORLD
        self.step = 0

    @abstractmethod
    def average_parameters(self, params: Iterable[Any]) -> None:
        """Averages if it is time to."""
        raise NotImplementedError


class PeriodicModelAverager(ModelAverager):
    """Averages at each ``period``-th step from ``warmup_steps`` on. Errors: ValueError for a period below one."""

    def __init__(self, period: int, warmup_steps: int = 0, process_group: Any = None) -> None:
        super().__init__(process_group)
        if warmup_steps < 0:
            raise ValueError("Arg ``warmup_steps`` must be a non-negative number.")
        self.warmup_steps = warmup_steps
        if period < 1:
            raise ValueError("Arg ``period`` must be a positive value.")
        if period == 1:
            warnings.warn(
                "When period is 1, no need to use model averaging because the communication cost of all-reducing parameters "
                "will be no less than the cost of all-reducing gradients by DistributedDataParallel in the backward pass. "
                "Therefore, only DistributedDataParallel should be used for this case.",
                stacklevel=2,
            )
        self.period = period

    def average_parameters(self, params: Iterable[Any]) -> None:
        """Counts a call; averages over the group each ``period`` calls after ``warmup_steps``."""
        if self.step >= self.warmup_steps and (self.step - self.warmup_steps) % self.period == 0:
            utils.average_parameters_or_parameter_groups(params, self.process_group)
        self.step += 1
