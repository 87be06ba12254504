"""``torch.optim.swa_utils``: averaged copies of models."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.optim.schedule import per_group as _per_group
from shim_torch.autograd.grad_mode import no_grad as _no_grad
from shim_torch.nn.modules.module import Module
from shim_torch.optim.lr_scheduler import LRScheduler

__all__ = [
    "SWALR",
    "AveragedModel",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "update_bn",
]


def get_ema_avg_fn(decay: float = 0.999) -> Callable[..., Any]:
    """(average, new, count) -> decay * average + (1 - decay) * new."""
    if decay < 0.0 or decay > 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")

    def ema_update(ema_param: Any, current_param: Any, num_averaged: Any) -> Any:
        with _no_grad():
            return decay * ema_param + (1 - decay) * current_param

    return ema_update


def get_swa_avg_fn() -> Callable[..., Any]:
    """(average, new, count) -> the mean of all so far."""

    def swa_update(averaged_param: Any, current_param: Any, num_averaged: Any) -> Any:
        with _no_grad():
            return averaged_param + (current_param - averaged_param) / (num_averaged + 1)

    return swa_update


def _each(one: Callable[..., Any]) -> Callable[..., None]:
    def update(averages: list[Any], currents: list[Any], num_averaged: Any) -> None:
        with _no_grad():
            for average, current in zip(averages, currents, strict=True):
                average.copy_(one(average, current, num_averaged))

    return update


def get_ema_multi_avg_fn(decay: float = 0.999) -> Callable[..., None]:
    """As ``get_ema_avg_fn``, over lists, in place."""
    return _each(get_ema_avg_fn(decay))


def get_swa_multi_avg_fn() -> Callable[..., None]:
    """As ``get_swa_avg_fn``, over lists, in place."""
    return _each(get_swa_avg_fn())


def _copied(model: Module, device: Any) -> Module:
    """A copy of a model, on another device where one is told."""
    made = deepcopy(model)
    return made if device is None else made.to(device)


class AveragedModel(Module):
    """A copy of a model whose parameters are averages: call ``update_parameters`` after each step."""

    n_averaged: Any

    def __init__(
        self,
        model: Module,
        device: Any = None,
        avg_fn: Callable[..., Any] | None = None,
        multi_avg_fn: Callable[..., None] | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        import shim_torch

        self.module = _copied(model, device)
        self.register_buffer("n_averaged", shim_torch.zeros((), dtype=shim_torch.long, device=device))
        self.avg_fn, self.multi_avg_fn, self.use_buffers = avg_fn, multi_avg_fn, use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The result of the averaged module."""
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Takes the model's parameters into the average."""

        def tensors(m: Module) -> list[Any]:
            return list(itertools.chain(m.parameters(), m.buffers()) if self.use_buffers else m.parameters())

        mine = [p.detach() for p in tensors(self.module)]
        new = [p.detach().to(a.device) for p, a in zip(tensors(model), mine, strict=True)]
        count = int(self.n_averaged.item())
        if count == 0:
            for average, current in zip(mine, new, strict=True):
                average.copy_(current)
        elif self.multi_avg_fn is not None:
            self.multi_avg_fn(mine, new, count)
        else:
            one = self.avg_fn or get_swa_avg_fn()
            for average, current in zip(mine, new, strict=True):
                average.copy_(one(average, current, count))
        if not self.use_buffers:
            for average, current in zip(self.module.buffers(), model.buffers(), strict=True):
                average.detach().copy_(current.detach().to(average.device))
        self.n_averaged += 1


def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Computes the running statistics of batch normalisation again, over a whole data set."""
    norms = [m for m in model.modules() if hasattr(m, "running_mean") and hasattr(m, "reset_running_stats")]
    if not norms:
        return
    momenta = [m.momentum for m in norms]
    for m in norms:
        m.reset_running_stats()
        m.momentum = None
    training = model.training
    model.train()
    with _no_grad():
        for batch in loader:
            batch = batch[0] if isinstance(batch, (list, tuple)) else batch
            model(batch if device is None or not isinstance(batch, _core.TensorBase) else batch.to(device))
    for m, momentum in zip(norms, momenta, strict=True):
        m.momentum = momentum
    model.train(training)


_PARTS: dict[str, Callable[[float], float]] = {
    "cos": lambda t: (1 - math.cos(math.pi * t)) / 2,
    "linear": lambda t: t,
}  # how far each way to anneal has come at the part t of the time


class SWALR(LRScheduler):
    """Goes to a constant learning rate within ``anneal_epochs``, along a cosine or a line."""

    def __init__(
        self, optimizer: Any, swa_lr: Any, anneal_epochs: int = 10, anneal_strategy: str = "cos", last_epoch: int = -1
    ) -> None:
        if anneal_strategy not in _PARTS:
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        for group, rate in zip(optimizer.param_groups, _per_group("swa_lr", optimizer, swa_lr), strict=True):
            group["swa_lr"] = rate
        self.anneal_epochs, self._anneal_strategy = anneal_epochs, anneal_strategy
        super().__init__(optimizer, last_epoch)

    def _done(self, step: int) -> float:
        """The part of the way from the first rate to the last that ``step`` steps have made."""
        return _PARTS[self._anneal_strategy](max(0.0, min(1.0, step / max(1, self.anneal_epochs))))

    def get_lr(self) -> list[float]:
        """The rates of this step, whatever the number of the epoch."""
        self._warn_outside_step()
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = self._done(step - 1), self._done(step)
        found = []
        for group in self.optimizer.param_groups:
            rate, target = group["lr"], group["swa_lr"]
            start = rate if before == 1 else (rate - before * target) / (1 - before)
            found.append(target * now + start * (1 - now))
        return found
