"""``torch.distributed.algorithms.join``: training loops whose processes have uneven numbers of inputs.

Before each iteration the processes count those that still have inputs (one all_reduce). Those that have none left run their main hooks,
which answer what the others send, until nobody has any.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from typing import Any, NamedTuple

from shim_torch import ones
from shim_torch.distributed import all_reduce

__all__ = ["Join", "JoinHook", "Joinable"]


class JoinHook:
    """What a :class:`Joinable` does for the processes that still work, and once all have joined."""

    def main_hook(self) -> None:
        """Called again and again while some process has not joined: shadows one iteration's collectives."""

    def post_hook(self, is_last_joiner: bool) -> None:
        """Called once all processes have joined; ``is_last_joiner``: this process was among the last."""


class _JoinConfig(NamedTuple):
    enable: bool
    throw_on_early_termination: bool
    is_first_joinable: bool

    @staticmethod
    def construct_disabled_join_config() -> _JoinConfig:
        return _JoinConfig(False, False, False)


class Joinable(ABC):
    """The base of classes that can take part in :class:`Join`."""

    @abstractmethod
    def __init__(self) -> None:
        super().__init__()
        self._join_config = _JoinConfig.construct_disabled_join_config()

    @abstractmethod
    def join_hook(self, **kwargs: Any) -> JoinHook:
        """The hook of this object; all objects of one context get the same ``kwargs``."""

    @property
    @abstractmethod
    def join_device(self) -> Any:
        """The device of the context's own collectives."""

    @property
    @abstractmethod
    def join_process_group(self) -> Any:
        """The process group of the context's own collectives."""


class Join:
    """The context in which the ``joinables`` take part.

    Raises:
        ValueError: no joinables, a joinable without device or group, or joinables of different process groups.
    """

    def __init__(
        self, joinables: list[Joinable], enable: bool = True, throw_on_early_termination: bool = False, **kwargs: Any
    ) -> None:
        if not joinables:
            raise ValueError("The join context manager requires at least one joinable")
        self._joinables = joinables
        self._join_hooks = [joinable.join_hook(**kwargs) for joinable in joinables]
        self._enable = enable
        for number, joinable in enumerate(joinables):
            joinable._join_config = _JoinConfig(enable, throw_on_early_termination, number == 0)
        groups = [joinable.join_process_group for joinable in joinables]
        if any(group is not groups[0] for group in groups):
            raise ValueError("Using join context manager with multiple process groups")
        self._throw, self._rank = throw_on_early_termination, groups[0].rank()
        self._process_group, self._device = groups[0], joinables[0].join_device

    def __enter__(self) -> None: ...

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> None:
        try:
            if self._enable and not kind:
                self._until_all_are_done()
        finally:
            for joinable in self._joinables:
                joinable._join_config = _JoinConfig.construct_disabled_join_config()

    def _until_all_are_done(self) -> None:
        last, rounds = True, 0
        while _counted(0, self._process_group, self._device):
            if self._throw:
                _counted(1, self._process_group, self._device)
                raise RuntimeError(f"Rank {self._rank} exhausted all inputs.")
            if rounds == _SKEW:
                warnings.warn(
                    f"Detected uneven input skew of greater than {_SKEW}. This means that rank {self._rank} has at least {_SKEW} "
                    "fewer inputs than other currently-active ranks. This level of skew could lead to performance degradation "
                    "during training.",
                    stacklevel=2,
                )
            last, rounds = False, rounds + 1
            for hook in self._join_hooks:
                hook.main_hook()
        for hook in self._join_hooks:
            hook.post_hook(last)

    @staticmethod
    def notify_join_context(joinable: Joinable) -> Any:
        """Says that a process still works, before its own communication of an iteration.

        Returns:
            The work of an all_reduce, whose result is the number of processes that work; None where the joinable is not the
            context's first, or the context is not enabled.

        Raises:
            RuntimeError: with ``throw_on_early_termination``, where a process has no inputs left.
        """
        if not hasattr(joinable, "_join_config"):
            raise AssertionError(f"Check that the {type(joinable)} constructor calls the ``Joinable`` constructor")
        config = joinable._join_config
        if not (config.enable and config.is_first_joinable):
            return None
        device, group = joinable.join_device, joinable.join_process_group
        work: Any = all_reduce(ones(1, device=device), group=group, async_op=True)
        if config.throw_on_early_termination:
            work.wait()
            here = int(work.result()[0].item())
            if here < group.size() and _counted(0, group, device):
                raise RuntimeError("Detected at least one rank that exhausted inputs. Throwing across all ranks.")
        return work


_SKEW = 1000  # iterations that a process may lack before it is said


def _counted(mine: int, group: Any, device: Any) -> int:
    """The sum of a number over the processes."""
    number = ones(1, device=device) * mine
    all_reduce(number, group=group)
    return int(number.item())
