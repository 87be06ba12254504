"""``torch.optim.lr_scheduler``: learning-rate schedules. Schedules made of others: _schedule_chains.py; cycles: _schedule_cycles.py."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from typing import Any

from shim_torch._impl.optim.schedule import EPOCH_DEPRECATION_WARNING, LRScheduler
from shim_torch._impl.optim.schedule import FunctionsOfEpoch as _FunctionsOfEpoch
from shim_torch._impl.optim.schedule import ScaledRates as _ScaledRates
from shim_torch._impl.optim.schedule_chains import ChainedScheduler, ReduceLROnPlateau, SequentialLR
from shim_torch._impl.optim.schedule_cycles import CosineAnnealingWarmRestarts, CyclicLR, OneCycleLR
from shim_torch.optim.optimizer import Optimizer

__all__ = [
    "LambdaLR",
    "MultiplicativeLR",
    "StepLR",
    "MultiStepLR",
    "ConstantLR",
    "LinearLR",
    "ExponentialLR",
    "SequentialLR",
    "CosineAnnealingLR",
    "ChainedScheduler",
    "ReduceLROnPlateau",
    "CyclicLR",
    "CosineAnnealingWarmRestarts",
    "OneCycleLR",
    "PolynomialLR",
    "LRScheduler",
    "EPOCH_DEPRECATION_WARNING",
]


class _LRScheduler(LRScheduler):
    """The base class's old name."""


class LambdaLR(_FunctionsOfEpoch):
    """The initial rate times ``lr_lambda(epoch)``."""

    def get_lr(self) -> list[Any]:
        """The initial rates times what each group's function gives for this epoch."""
        self._warn_outside_step()
        return [base * f(self.last_epoch) for f, base in zip(self.lr_lambdas, self.base_lrs, strict=True)]


class MultiplicativeLR(_FunctionsOfEpoch):
    """The last rate times ``lr_lambda(epoch)``."""

    def _check_functions(self) -> None:
        for function in self.lr_lambdas:
            if not callable(function):
                raise TypeError(f"lr_lambda should be a function, but got {type(function).__name__}")

    def get_lr(self) -> list[Any]:
        """The present rates times what each group's function gives for this epoch."""
        self._warn_outside_step()
        if self._is_initial:
            return self._rates()
        groups = self.optimizer.param_groups
        return [group["lr"] * f(self.last_epoch) for f, group in zip(self.lr_lambdas, groups, strict=True)]


class StepLR(_ScaledRates):
    """Times ``gamma`` every ``step_size`` epochs."""

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def _share(self, epoch: int) -> float:
        return self.gamma ** (epoch // self.step_size)

    def _change(self, epoch: int) -> float | None:
        return self.gamma if epoch and not epoch % self.step_size else None


class MultiStepLR(_ScaledRates):
    """Times ``gamma`` at each of the ``milestones``."""

    def __init__(
        self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def _share(self, epoch: int) -> float:
        return self.gamma ** sum(times for milestone, times in self.milestones.items() if milestone <= epoch)

    def _change(self, epoch: int) -> float | None:
        return self.gamma ** self.milestones[epoch] if epoch in self.milestones else None


class ConstantLR(_ScaledRates):
    """Times ``factor`` for the first ``total_iters`` epochs."""

    def __init__(
        self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1
    ) -> None:
        if not 0 <= factor <= 1:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def _share(self, epoch: int) -> float:
        return self.factor + (epoch >= self.total_iters) * (1 - self.factor)

    def _change(self, epoch: int) -> float | None:
        if epoch == 0:
            return self.factor
        return 1.0 / self.factor if epoch == self.total_iters else None


class LinearLR(_ScaledRates):
    """A factor going linearly from ``start_factor`` to ``end_factor`` in ``total_iters`` epochs."""

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if not 0 < start_factor <= 1:
            raise ValueError("Starting multiplicative factor expected to be greater than 0 and less or equal to 1.")
        if not 0 <= end_factor <= 1:
            raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def _share(self, epoch: int) -> float:
        slope = self.end_factor - self.start_factor
        return self.start_factor + slope * min(self.total_iters, epoch) / self.total_iters

    def _change(self, epoch: int) -> float | None:
        if epoch == 0:
            return self.start_factor
        if self._is_initial or epoch > self.total_iters:
            return None
        slope = self.end_factor - self.start_factor
        return 1.0 + slope / (self.total_iters * self.start_factor + (epoch - 1) * slope)


class ExponentialLR(_ScaledRates):
    """Times ``gamma`` every epoch."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _share(self, epoch: int) -> float:
        return self.gamma**epoch

    def _change(self, epoch: int) -> float | None:
        return None if self._is_initial else self.gamma


class PolynomialLR(_ScaledRates):
    """(1 - epoch / total_iters) ** power of the initial rate, down to 0."""

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def _left(self, epoch: int) -> float:
        return 1.0 - min(self.total_iters, epoch) / self.total_iters

    def _share(self, epoch: int) -> float:
        return self._left(epoch) ** self.power

    def _change(self, epoch: int) -> float | None:
        if self._is_initial or epoch > self.total_iters:
            return None
        return (self._left(epoch) / self._left(epoch - 1)) ** self.power


class CosineAnnealingLR(LRScheduler):
    """Half a cosine from the initial rate to ``eta_min`` in ``T_max`` epochs, and back in as many."""

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def _height(self, epoch: int) -> float:
        """Where the wave stands between ``eta_min`` (0) and the initial rate (1)."""
        return (1 + math.cos(math.pi * epoch / self.T_max)) / 2

    def get_lr(self) -> list[Any]:
        """The rates of this epoch, from those of the epoch before."""
        self._warn_outside_step()
        epoch = self.last_epoch
        if self._step_count == 1 and epoch > 0 and not self._is_initial:  # resumed: no epoch before to go on from
            return self._get_closed_form_lr()
        rates = self._rates()
        if self._is_initial:
            return rates
        if (epoch - 1) % (2 * self.T_max) == self.T_max:  # the wave was 0, which nothing can be multiplied with
            first = (1 - math.cos(math.pi / self.T_max)) / 2
            return [rate + first * (base - self.eta_min) for rate, base in zip(rates, self.base_lrs, strict=True)]
        change = self._height(epoch) / self._height(epoch - 1)
        return [self.eta_min + change * (rate - self.eta_min) for rate in rates]

    def _get_closed_form_lr(self) -> list[Any]:
        height = self._height(self.last_epoch)
        return [self.eta_min + height * (base - self.eta_min) for base in self.base_lrs]
