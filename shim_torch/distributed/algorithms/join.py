"""``torch.distributed.algorithms.join``: training loops whose processes have uneven numbers of inputs.

There is one process here, so it is the first and the last to join: no other process needs shadowing, the main hooks
never run and the post hooks run once, as PyTorch's do in a group of one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

from shim_torch._impl.distributed.checks import one_process_only

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
        one_process_only("torch.distributed.algorithms.Join", groups[0])
        self._process_group, self._device = groups[0], joinables[0].join_device

    def __enter__(self) -> None: ...

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> None:
        if not self._enable or kind:
            return
        for hook in self._join_hooks:
            hook.post_hook(True)

    @staticmethod
    def notify_join_context(joinable: Joinable) -> None:
        """Says that a process still works: nobody waits for it in a group of one.

        Returns:
            None where PyTorch returns the work of an all-reduce: nothing is to be waited for.
        """
        if not hasattr(joinable, "_join_config"):
            raise AssertionError(f"Check that the {type(joinable)} constructor calls the ``Joinable`` constructor")
