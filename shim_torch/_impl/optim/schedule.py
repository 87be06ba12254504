"""The base of the learning-rate schedules, and how a rate is read from and written to the parameter groups."""

from __future__ import annotations

import functools
import types
import warnings
import weakref
from collections.abc import Callable
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.surface import naming
from shim_torch.optim.optimizer import Optimizer

EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. Please use "
    "`scheduler.step()` to step the scheduler. During the deprecation, if epoch is different from None, the closed "
    "form is used instead of the new chainable form, where available. Please open an issue if you are unable to "
    "replicate your use case: https://github.com/pytorch/pytorch/issues/new/choose."
)
_ORDER = (
    "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, you should call "
    "them in the opposite order: `optimizer.step()` before `lr_scheduler.step()`.  Failure to do this will result in "
    "PyTorch skipping the first value of the learning rate schedule. See more details at "
    "https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"
)
_OVERRIDDEN = (
    "Seems like `optimizer.step()` has been overridden after learning rate scheduler initialization. Please, make "
    "sure to call `optimizer.step()` before `lr_scheduler.step()`. See more details at "
    "https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"
)
_RESUMING = (
    "param 'initial_lr' is not specified in param_groups[{}] when resuming scheduler with last_epoch >= 0.\n"
    "This typically happens when:\n"
    "1. You're trying to resume training from a checkpoint but haven't properly loaded the optimizer state\n"
    "2. You're using last_epoch >= 0 for a fresh training run (not recommended)"
)


def copied(value: Any) -> Any:
    """The value; a tensor is cloned, because rates in tensors change in place."""
    return value.clone() if isinstance(value, _core.TensorBase) else value


def group_values(optimizer: Optimizer, key: str) -> list[Any]:
    """The values of ``key`` in each parameter group, cloned."""
    return [copied(group[key]) for group in optimizer.param_groups]


def set_group_value(group: dict[str, Any], key: str, value: Any) -> None:
    """Sets a group's value; a tensor is filled in place, so that captured graphs see the change."""
    if isinstance(group[key], _core.TensorBase):
        group[key].fill_(value.item() if isinstance(value, _core.TensorBase) else value)
    else:
        group[key] = value


def per_group(name: str, optimizer: Optimizer, value: Any) -> list[Any]:
    """One value a parameter group: a list of that length as it is, else the value repeated."""
    count = len(optimizer.param_groups)
    if isinstance(value, (list, tuple)):
        if len(value) != count:
            raise ValueError(
                f"{name} must have the same length as optimizer.param_groups. "
                f"{name} has {len(value)} values, param_groups has {count}."
            )
        return [copied(v) for v in value]
    return [copied(value) for _ in range(count)]


def check_optimizer(optimizer: Any) -> None:
    """TypeError unless ``optimizer`` is an Optimizer."""
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


def _note_steps(optimizer: Optimizer) -> None:
    """Wraps ``optimizer.step`` to set ``_opt_called``: a schedule warns if it steps before the optimizer."""
    if hasattr(optimizer.step, "_wrapped_by_lr_sched"):
        return
    owner, function = weakref.ref(optimizer), optimizer.step.__func__  # type: ignore[attr-defined]

    @functools.wraps(function)
    def step(*args: Any, **kwargs: Any) -> Any:
        of: Any = owner()
        of._opt_called = True
        return function.__get__(of, type(of))(*args, **kwargs)

    step._wrapped_by_lr_sched = True  # type: ignore[attr-defined]
    optimizer.step = step  # type: ignore[method-assign]


def _initial_rates(optimizer: Optimizer, resuming: bool) -> list[Any]:
    """Each group's ``initial_lr``: set by a new schedule; KeyError if a resumed one does not find it."""
    for number, group in enumerate(optimizer.param_groups):
        if resuming and "initial_lr" not in group:
            raise KeyError(_RESUMING.format(number))
        group.setdefault("initial_lr", copied(group["lr"]))
    return group_values(optimizer, "initial_lr")


def _order_mistake(optimizer: Optimizer) -> str | None:
    """What to warn of at a schedule's second step, where the optimizer has not made its first."""
    if not hasattr(optimizer.step, "_wrapped_by_lr_sched"):
        return _OVERRIDDEN
    return None if getattr(optimizer, "_opt_called", False) else _ORDER


class LRScheduler:
    """Sets the learning rate of an optimizer's parameter groups epoch by epoch.

    A schedule gives ``get_lr``, the rates of ``last_epoch`` from those of the epoch before, so that several schedules
    can act on one optimizer, and often ``_get_closed_form_lr``, the rates from ``last_epoch`` alone.

    Args:
        optimizer: the optimizer.
        last_epoch: the epoch to resume after; -1 starts anew.

    Raises:
        TypeError: no Optimizer. KeyError: resuming groups without ``initial_lr``.
    """

    _get_lr_called_within_step: bool = False
    _is_initial: bool = False

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        check_optimizer(optimizer)
        self.optimizer, self.last_epoch = optimizer, last_epoch
        self.base_lrs = _initial_rates(optimizer, resuming=last_epoch != -1)
        _note_steps(optimizer)
        self._initial_step()

    def _initial_step(self) -> None:
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer."""
        return {key: value for key, value in self.__dict__.items() if key != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes what ``state_dict`` gave."""
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> list[Any]:
        """The rates set last, one a parameter group."""
        return self._last_lr

    def get_lr(self) -> list[Any]:
        """The rates of ``last_epoch``; for ``step`` only."""
        raise NotImplementedError

    def step(self, epoch: int | None = None) -> None:
        """Moves on to the next epoch (or to ``epoch``, deprecated) and sets its rates."""
        if self._step_count == 1 and (mistake := _order_mistake(self.optimizer)):
            warnings.warn(mistake, UserWarning, stacklevel=2)
        if epoch is not None:
            warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=2)
        self._step_count += 1
        self._update_lr(epoch)

    def _update_lr(self, epoch: int | None = None) -> None:
        closed = getattr(self, "_get_closed_form_lr", None) if epoch is not None else None
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        self._take(self.get_lr if closed is None else closed)

    def _take(self, rates: Callable[[], list[Any]]) -> None:
        """Sets the rates that a method gives; within it ``get_lr`` does not warn."""
        self._get_lr_called_within_step = True
        try:
            found = rates()
        finally:
            self._get_lr_called_within_step = False
        self._set_rates(found)

    def _set_rates(self, rates: list[Any]) -> None:
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            set_group_value(group, "lr", rate)
        self._last_lr: list[Any] = group_values(self.optimizer, "lr")

    def _warn_outside_step(self) -> None:
        if not self._get_lr_called_within_step:
            warnings.warn(
                "To get the last learning rate computed by the scheduler, please use `get_last_lr()`.",
                UserWarning,
                stacklevel=3,
            )

    def _rates(self) -> list[Any]:
        """The present rates: what ``get_lr`` gives when an epoch changes nothing."""
        return group_values(self.optimizer, "lr")


class ScaledRates(LRScheduler):
    """Schedules that are one curve: the share of the initial rate at an epoch, and its change from the epoch before."""

    def _share(self, epoch: int) -> float:
        """The rate at ``epoch``, over the initial rate."""
        raise NotImplementedError

    def _change(self, epoch: int) -> float | None:
        """What ``epoch`` multiplies the rates with; None where they stay, as they do at the start of most schedules."""
        raise NotImplementedError

    def get_lr(self) -> list[Any]:
        """The rates of the last epoch times the change since: schedules that are chained multiply."""
        self._warn_outside_step()
        change = self._change(self.last_epoch)
        return self._rates() if change is None else [group["lr"] * change for group in self.optimizer.param_groups]

    def _get_closed_form_lr(self) -> list[Any]:
        share = self._share(self.last_epoch)
        return [base * share for base in self.base_lrs]


def function_state(function: Any) -> dict[str, Any] | None:
    """What of a schedule's function can be stored: a callable object's attributes, nothing of a plain function."""
    return None if isinstance(function, types.FunctionType) else function.__dict__.copy()


class FunctionsOfEpoch(LRScheduler):
    """Schedules made of one function of the epoch a parameter group."""

    def __init__(self, optimizer: Optimizer, lr_lambda: Any, last_epoch: int = -1) -> None:
        self.optimizer = optimizer
        count = len(optimizer.param_groups)
        given = lr_lambda if isinstance(lr_lambda, (list, tuple)) else [lr_lambda] * count
        if len(given) != count:
            raise ValueError(f"Expected {count} lr_lambdas, but got {len(given)}")
        self.lr_lambdas: list[Callable[[int], float]] = list(given)
        self._check_functions()
        super().__init__(optimizer, last_epoch)

    def _check_functions(self) -> None: ...

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer; of ``lr_lambdas`` only the attributes of callable objects."""
        state = {key: value for key, value in self.__dict__.items() if key not in ("optimizer", "lr_lambdas")}
        return {**state, "lr_lambdas": [function_state(f) for f in self.lr_lambdas]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes over the state that ``state_dict`` gave, with that of callable objects."""
        self.__dict__.update({key: value for key, value in state_dict.items() if key != "lr_lambdas"})
        for function, state in zip(self.lr_lambdas, state_dict["lr_lambdas"], strict=False):
            if state is not None:
                function.__dict__.update(state)


naming.present(globals(), "torch.optim.lr_scheduler")
