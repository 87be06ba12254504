"""Schedules made of other schedules, and the one that follows a metric."""

from __future__ import annotations

import math
import warnings
from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from shim_torch._impl.optim.schedule import (
    EPOCH_DEPRECATION_WARNING,
    LRScheduler,
    check_optimizer,
    group_values,
    set_group_value,
)
from shim_torch._impl.surface import naming
from shim_torch.optim.optimizer import Optimizer


class ReduceLROnPlateau(LRScheduler):
    """Times ``factor`` when a metric has not improved for more than ``patience`` epochs.

    Args:
        mode: "min" or "max", which way the metric improves.
        threshold, threshold_mode: the least improvement that counts, relative ("rel") or absolute ("abs").
        cooldown: epochs after a reduction in which nothing is counted.
        min_lr: the least rate, one for all groups or one each; eps: smaller changes are not made.

    Raises:
        ValueError: factor >= 1, unknown modes, or a list of another length than the groups.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: Any = 0,
        eps: float = 1e-8,
    ) -> None:
        if factor >= 1.0:
            raise ValueError("Factor should be < 1.0.")
        check_optimizer(optimizer)
        self.optimizer, self.factor, self.patience, self.cooldown, self.eps = optimizer, factor, patience, cooldown, eps
        count = len(optimizer.param_groups)
        self.default_min_lr = None if isinstance(min_lr, (list, tuple)) else min_lr
        self.min_lrs = [min_lr] * count if self.default_min_lr is not None else list(min_lr)
        if len(self.min_lrs) != count:
            raise ValueError(f"expected {count} min_lrs, got {len(min_lr)}")
        self._init_is_better(mode, threshold, threshold_mode)
        self._reset()
        self.last_epoch, self._last_lr = 0, group_values(optimizer, "lr")

    def _init_is_better(self, mode: str, threshold: float, threshold_mode: str) -> None:
        if mode not in ("min", "max"):
            raise ValueError("mode " + mode + " is unknown!")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError("threshold mode " + threshold_mode + " is unknown!")
        self.mode, self.threshold, self.threshold_mode = mode, threshold, threshold_mode
        self.mode_worse = math.inf if mode == "min" else -math.inf

    def _reset(self) -> None:
        """Forgets the metric's history."""
        self.best = self.mode_worse
        self.cooldown_counter = 0
        self.num_bad_epochs = 0

    @property
    def in_cooldown(self) -> bool:
        """Whether the steps after a reduction are still being waited for."""
        return self.cooldown_counter > 0

    def _is_better(self, value: float, best: float) -> bool:
        sign = -1.0 if self.mode == "min" else 1.0
        if self.threshold_mode == "rel":
            return sign * value > sign * best * (1.0 + sign * self.threshold)
        return sign * value > sign * (best + sign * self.threshold)

    def step(self, metrics: Any, epoch: int | None = None) -> None:  # type: ignore[override]
        """Counts an epoch whose metric was ``metrics`` and reduces the rates where they must be."""
        if epoch is not None:
            warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=2)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self._counts(float(metrics)) > self.patience:
            self._reduce_lr(self.last_epoch)
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = group_values(self.optimizer, "lr")

    def _counts(self, value: float) -> int:
        """Takes in an epoch's metric: how many epochs in a row were no better. None are counted while it cools down."""
        better, cooling = self._is_better(value, self.best), self.in_cooldown
        self.best = value if better else self.best
        self.cooldown_counter -= cooling
        self.num_bad_epochs = 0 if better or cooling else self.num_bad_epochs + 1
        return self.num_bad_epochs

    def _reduce_lr(self, epoch: int) -> None:
        scaled = [float(group["lr"]) * self.factor for group in self.optimizer.param_groups]
        lower = map(max, scaled, self._least_rates())
        for group, rate in zip(self.optimizer.param_groups, lower, strict=True):
            if float(group["lr"]) - rate > self.eps:
                set_group_value(group, "lr", rate)

    def _least_rates(self) -> list[Any]:
        """``min_lrs``, for groups added since too where all have the same."""
        count, known = len(self.optimizer.param_groups), len(self.min_lrs)
        if count != known and self.default_min_lr is None:
            raise RuntimeError(
                f"The number of param groups in the `optimizer` ({count}) differs from when `ReduceLROnPlateau` was initialized "
                f"({known}), usually due to a new param group being added to the optimizer. Please modify the `min_lrs` field to "
                "match the length of the `optimizer` param groups."
            )
        if count != known:
            self.min_lrs = [self.default_min_lr] * count
        return self.min_lrs

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes over the state that ``state_dict`` gave."""
        self.__dict__.update(state_dict)
        self._init_is_better(self.mode, self.threshold, self.threshold_mode)


class _Several(LRScheduler):
    """Schedules that hold other schedules of one optimizer."""

    _schedulers: Sequence[LRScheduler]
    _no_member = "expects at least one scheduler, but got no scheduler."

    def _hold(self, optimizer: Optimizer | None, schedulers: Sequence[Any]) -> None:
        """Keeps the schedules and their optimizer, by default the first one's."""
        name = type(self).__name__
        if len(schedulers) < 1:
            raise ValueError(f"{name} {self._no_member}")
        optimizer = optimizer or schedulers[0].optimizer
        for number, scheduler in enumerate(schedulers):
            if not hasattr(scheduler, "optimizer"):
                raise TypeError(f"{name} at index {number} should have `optimizer` as its attribute.")
            if isinstance(scheduler, ReduceLROnPlateau):
                raise ValueError(
                    f"{name} does not support `ReduceLROnPlateau` scheduler as it requires additional kwargs to be "
                    f"specified when calling `step`, but got one at index {number} in the given schedulers sequence."
                )
            if optimizer != scheduler.optimizer:
                raise ValueError(
                    f"{name} expects all schedulers to belong to the same optimizer, but got scheduler "
                    f"{type(scheduler).__name__} at index {number} has {scheduler.optimizer}, which is different from "
                    f"{type(optimizer).__name__}."
                )
        self._schedulers, self.optimizer = schedulers, optimizer

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer, with the states of the schedules held."""
        state = {key: value for key, value in self.__dict__.items() if key not in ("optimizer", "_schedulers")}
        return {**state, "_schedulers": [scheduler.state_dict() for scheduler in self._schedulers]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.__dict__.update({key: value for key, value in state_dict.items() if key != "_schedulers"})
        for scheduler, state in zip(self._schedulers, state_dict["_schedulers"], strict=False):
            scheduler.load_state_dict(state)


class SequentialLR(_Several):
    """One schedule after another: the next begins, at its own epoch 0, at each of the ``milestones``."""

    def __init__(
        self, optimizer: Optimizer, schedulers: list[LRScheduler], milestones: list[int], last_epoch: int = -1
    ) -> None:
        self._hold(optimizer, schedulers)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                "Sequential Schedulers expects number of schedulers provided to be one more than the number of "
                f"milestone points, but got number of schedulers {len(schedulers)} and the number of milestones to be "
                f"equal to {len(milestones)}"
            )
        self._milestones, self.last_epoch = milestones, last_epoch + 1
        self._rewind()
        self._at(0)._initial_step()
        self._last_lr = self._at(0).get_last_lr()

    def _rewind(self) -> None:
        """Takes back the first step, which each schedule made when it was built: rates and epochs."""
        for group in self.optimizer.param_groups:
            set_group_value(group, "lr", group["initial_lr"])
        self.recursive_undo()

    def _at(self, epoch: int) -> LRScheduler:
        """The schedule whose turn it is."""
        return self._schedulers[bisect_right(self._milestones, epoch)]

    def recursive_undo(self, sched: Any = None) -> None:
        """Takes back the first step of the schedules held."""
        scheduler = self if sched is None else sched
        if hasattr(scheduler, "_schedulers"):
            for inner in scheduler._schedulers:
                self.recursive_undo(inner)
        elif hasattr(scheduler, "last_epoch"):
            scheduler.last_epoch -= 1

    def step(self) -> None:  # type: ignore[override]
        """Steps the schedule whose turn it is."""
        self.last_epoch += 1
        scheduler = self._at(self.last_epoch)
        if self.last_epoch in self._milestones:
            scheduler._update_lr(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


class ChainedScheduler(_Several):
    """Several schedules at once, each step going through all of them."""

    _no_member = "expects at least one scheduler to be chained, but got no scheduler."

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None) -> None:
        self._hold(optimizer, schedulers)
        self._last_lr = group_values(self.optimizer, "lr")

    def step(self) -> None:  # type: ignore[override]
        """Steps every schedule."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = group_values(self.optimizer, "lr")


naming.present(globals(), "torch.optim.lr_scheduler")
