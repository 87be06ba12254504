"""Schedules that go up and down: cycles, warm restarts, one cycle."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from shim_torch._impl.optim.schedule import LRScheduler, check_optimizer, function_state, per_group
from shim_torch._impl.surface import naming
from shim_torch.optim.optimizer import Optimizer


class _WithMomentum(LRScheduler):
    """Cycles that move the momentum (SGD's ``momentum``, Adam's beta1) against the rate."""

    cycle_momentum: bool
    use_beta1: bool

    def _begin_momentum(self, base: Any, top: Any, last_epoch: int) -> tuple[list[Any], list[Any]]:
        """Both ends of the momentum, one a group, which a new schedule notes in its groups: it begins at the upper one."""
        defaults = self.optimizer.defaults
        if "momentum" not in defaults and "betas" not in defaults:
            raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
        self.use_beta1 = "betas" in defaults
        lows, highs = (per_group(n, self.optimizer, v) for n, v in (("base_momentum", base), ("max_momentum", top)))
        for group, low, high in zip(self.optimizer.param_groups, lows, highs, strict=True):
            if last_epoch == -1:
                self._set_momentum(group, high)
                group.update(max_momentum=high, base_momentum=low)
        return lows, highs

    def _set_momentum(self, group: dict[str, Any], value: Any) -> None:
        if self.use_beta1:
            group["betas"] = (value, *group["betas"][1:])
        else:
            group["momentum"] = value


# CyclicLR's modes: what a height depends on, and the height of gamma and that.
_MODES: dict[str, tuple[str, Callable[[float, float], float]]] = {
    "triangular": ("cycle", lambda gamma, x: 1.0),
    "triangular2": ("cycle", lambda gamma, x: 1 / 2.0 ** (x - 1)),
    "exp_range": ("iterations", lambda gamma, x: gamma**x),
}


class CyclicLR(_WithMomentum):
    """Triangles between ``base_lr`` and ``max_lr`` (Smith, arXiv 1506.01186), stepped after every batch.

    Args:
        step_size_up, step_size_down: the batches a triangle rises and falls.
        mode: "triangular", "triangular2" (half as high each cycle) or "exp_range" (times gamma ** batch).
        scale_fn, scale_mode: a height of one's own, a function of the cycle or of the batch ("iterations").

    Raises:
        ValueError: an unknown mode without ``scale_fn``, or no momentum to cycle.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: Any,
        max_lr: Any,
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: Any = 0.8,
        max_momentum: Any = 0.9,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        lowest, self.max_lrs = per_group("base_lr", optimizer, base_lr), per_group("max_lr", optimizer, max_lr)
        if last_epoch == -1:
            self._set_rates(lowest)
        sizes = [float(step_size_up if size is None else size) for size in (step_size_up, step_size_down)]
        self.total_size = sum(sizes)
        self.step_ratio = sizes[0] / self.total_size
        self._set_heights(mode, gamma, scale_fn, scale_mode)
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.base_momentums, self.max_momentums = self._begin_momentum(base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = lowest

    def _set_heights(self, mode: str, gamma: float, scale_fn: Callable[[float], float] | None, scale_mode: str) -> None:
        if scale_fn is None and mode not in _MODES:
            raise ValueError("mode is invalid and scale_fn is None")
        self.mode, self.gamma, self._scale_fn_custom = mode, gamma, scale_fn
        self.scale_mode = _MODES[mode][0] if scale_fn is None else scale_mode

    @property
    def _scale_fn_ref(self) -> Callable[..., float]:
        return type(self).scale_fn if self._scale_fn_custom is None else self._scale_fn_custom

    def scale_fn(self, x: float) -> float:
        """The height of cycle (or batch) ``x``, from 0 to 1."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        return _MODES[self.mode][1](self.gamma, x)

    def get_lr(self) -> list[Any]:
        """The rates; sets the momentum as well."""
        self._warn_outside_step()
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        rise = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        scale = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            pairs = zip(self.optimizer.param_groups, self.base_momentums, self.max_momentums, strict=True)
            for group, low, high in pairs:
                self._set_momentum(group, high - (high - low) * rise * scale)
        return [low + (high - low) * rise * scale for low, high in zip(self.base_lrs, self.max_lrs, strict=True)]

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer; of ``scale_fn`` only a callable object's attributes."""
        function = self._scale_fn_custom
        return {**super().state_dict(), "_scale_fn_custom": None if function is None else function_state(function)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continues from a saved state; an object that is ``scale_fn`` gets its attributes back."""
        super().load_state_dict({key: value for key, value in state_dict.items() if key != "_scale_fn_custom"})
        state = state_dict["_scale_fn_custom"]
        if state is not None:
            self._scale_fn_custom.__dict__.update(state)


_RESTARTS: tuple[tuple[str, Callable[[Any], bool], str], ...] = (
    ("T_0", lambda v: not v <= 0 and isinstance(v, int), "positive integer T_0, but got {0}"),
    ("T_mult", lambda v: not v < 1 and isinstance(v, int), "integer T_mult >= 1, but got {0}"),
    ("eta_min", lambda v: isinstance(v, (float, int)), "float or int eta_min, but got {0} of type {1}"),
)  # the settings of warm restarts, and what is expected of each


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half cosines to ``eta_min`` that start again (Loshchilov and Hutter, arXiv 1608.03983).

    The first takes ``T_0`` epochs, each further one ``T_mult`` times as many as the one before. ``step`` takes a
    fraction of an epoch, too.
    """

    def __init__(
        self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        given = {"T_0": T_0, "T_mult": T_mult, "eta_min": eta_min}
        for name, holds, expected in _RESTARTS:
            if not holds(given[name]):
                raise ValueError(f"Expected {expected.format(given[name], type(given[name]))}")
        self.T_0 = self.T_i = T_0
        self.T_mult, self.eta_min = T_mult, eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The groups' rates at the epoch that was reached; warns if called by others than ``step``."""
        self._warn_outside_step()
        wave = 1 + math.cos(math.pi * self.T_cur / self.T_i)
        return [self.eta_min + (base - self.eta_min) * wave / 2 for base in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:  # type: ignore[override]
        """The next epoch, or epoch number ``epoch`` (a fraction is allowed)."""
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is not None:
            self._move_to(epoch)
        elif self.T_cur + 1 < self.T_i:
            self.T_cur += 1
        else:
            self.T_cur, self.T_i = (self.T_cur + 1) % self.T_i, self.T_i * self.T_mult
        self.last_epoch = self.last_epoch + 1 if epoch is None else math.floor(epoch)
        self._take(self.get_lr)

    def _move_to(self, epoch: float) -> None:
        if epoch < 0:
            raise ValueError(f"Expected non-negative epoch, but got {epoch}")
        if epoch < self.T_0:
            self.T_i, self.T_cur = self.T_0, epoch
        elif self.T_mult == 1:
            self.T_cur = epoch % self.T_0
        else:
            cycle = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
            self.T_i = self.T_0 * self.T_mult**cycle
            self.T_cur = epoch - self.T_0 * (self.T_mult**cycle - 1) / (self.T_mult - 1)


def _all_steps(total_steps: int | None, epochs: int | None, steps_per_epoch: int | None) -> int:
    """How many batches one cycle takes: ``total_steps``, or ``epochs`` times ``steps_per_epoch``."""
    settings = (
        {"total_steps": total_steps}
        if total_steps is not None
        else {"epochs": epochs, "steps_per_epoch": steps_per_epoch}
    )
    if None in settings.values():
        raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
    for name, value in settings.items():
        if not isinstance(value, int) or value <= 0:
            raise ValueError(f"Expected positive integer {name}, but got {value}")
    return math.prod(settings.values())  # type: ignore[arg-type]


class OneCycleLR(_WithMomentum):
    """One rise to ``max_lr`` and one fall below the first rate (Smith and Topin, arXiv 1708.07120), by batches.

    Args:
        total_steps: the batches of the cycle, or epochs and steps_per_epoch.
        pct_start: the part of the cycle that rises; anneal_strategy: "cos" or "linear".
        div_factor: max_lr / first rate; final_div_factor: first rate / last rate.
        three_phase: falls to the first rate as slowly as it rose, and only then below.

    Raises:
        ValueError: no or impossible numbers of steps, a part outside [0, 1], no momentum to cycle, or stepped past
            the end.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: Any,
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: Any = 0.85,
        max_momentum: Any = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        self.optimizer, self.total_steps = optimizer, _all_steps(total_steps, epochs, steps_per_epoch)
        self._schedule_phases = self._phases(pct_start, three_phase)
        if pct_start < 0 or pct_start > 1 or not isinstance(pct_start, float):
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._anneal_func_type, self.cycle_momentum = anneal_strategy, cycle_momentum
        tops = per_group("max_lr", optimizer, max_lr)
        for group, top in zip(optimizer.param_groups, tops, strict=True) if last_epoch == -1 else ():
            first = top / div_factor
            group.update(initial_lr=first, max_lr=top, min_lr=first / final_div_factor)
        if cycle_momentum:
            self._begin_momentum(base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)

    def _phases(self, part: float, three: bool) -> list[dict[str, Any]]:
        """Where each phase ends, and between which entries of a group it moves the rate and the momentum."""
        ends = [float(part * self.total_steps) - 1, float(2 * part * self.total_steps) - 2, self.total_steps - 1]
        rates = ["initial_lr", "max_lr", "initial_lr", "min_lr"]
        momenta = ["max_momentum", "base_momentum", "max_momentum", "max_momentum"]
        if not three:  # there is no way back to the first rate
            del ends[1], rates[2], momenta[2]
        names = ("end_step", "start_lr", "end_lr", "start_momentum", "end_momentum")
        pairs = zip(ends, rates, rates[1:], momenta, momenta[1:], strict=False)
        return [dict(zip(names, phase, strict=True)) for phase in pairs]

    @staticmethod
    def _annealing_cos(start: Any, end: Any, pct: float) -> Any:
        return end + (start - end) / 2.0 * (1 + math.cos(math.pi * pct))

    @staticmethod
    def _annealing_linear(start: Any, end: Any, pct: float) -> Any:
        return (end - start) * pct + start

    def _anneal_func(self, start: Any, end: Any, pct: float) -> Any:
        """The value at the part ``pct`` of a phase; old checkpoints bring the function itself, as ``anneal_func``."""
        kind = getattr(self, "_anneal_func_type", None)
        if kind is None:
            return self.anneal_func(start, end, pct)  # type: ignore[attr-defined]
        return (self._annealing_linear if kind == "linear" else self._annealing_cos)(start, end, pct)

    def get_lr(self) -> list[Any]:
        """The rates; sets the momentum as well."""
        self._warn_outside_step()
        at = self.last_epoch
        if at > self.total_steps:
            raise ValueError(f"Tried to step {at} times. The specified number of total steps is {self.total_steps}")
        begin: float = 0
        for phase in self._schedule_phases:
            if at <= phase["end_step"] or phase is self._schedule_phases[-1]:
                break
            begin = phase["end_step"]
        done = (at - begin) / (phase["end_step"] - begin)
        rates = []
        for group in self.optimizer.param_groups:
            rates.append(self._anneal_func(group[phase["start_lr"]], group[phase["end_lr"]], done))
            if self.cycle_momentum:
                low, high = group[phase["start_momentum"]], group[phase["end_momentum"]]
                self._set_momentum(group, self._anneal_func(low, high, done))
        return rates


naming.present(globals(), "torch.optim.lr_scheduler")
