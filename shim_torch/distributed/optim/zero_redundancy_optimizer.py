"""An optimizer whose state is split over the processes of a group: the one process here has it all."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from shim_torch import distributed
from shim_torch._impl.distributed.checks import one_process_only
from shim_torch.distributed.algorithms.join import Joinable, JoinHook
from shim_torch.optim import Optimizer

__all__ = ["ZeroRedundancyOptimizer"]


class _ZeROJoinHook(JoinHook):
    def __init__(self, zero: ZeroRedundancyOptimizer) -> None:
        self.zero = zero
        super().__init__()

    def main_hook(self) -> None:
        """A step without gradients of its own, for the others' sake."""
        self.zero.step()


class ZeroRedundancyOptimizer(Optimizer, Joinable):
    """``optimizer_class`` over the parameters of this process's part: of a group of one, all of them.

    Errors:  TypeError or ValueError for parameters that are no dense tensors of one type; RuntimeError where no process
             group was made, and for a state dict that was not consolidated
    """

    def __init__(
        self,
        params: Iterable[Any],
        optimizer_class: Any,
        process_group: Any = None,
        parameters_as_bucket_view: bool = False,
        overlap_with_ddp: bool = False,
        **defaults: Any,
    ) -> None:
        params = self._checked(params)
        self.process_group = process_group if process_group is not None else distributed.group.WORLD
        one_process_only("torch.distributed.optim.ZeroRedundancyOptimizer", self.process_group)
        self.world_size: int = distributed.get_world_size(self.process_group)
        self.rank: int = distributed.get_rank(self.process_group)
        self.global_rank: int = distributed.get_global_rank(self.process_group, self.rank)
        self._optim_constructor, self._optim_defaults = optimizer_class, defaults
        self._overlap_with_ddp, self.parameters_as_bucket_view = overlap_with_ddp, parameters_as_bucket_view
        self.initialized = False
        self._all_state_dicts: list[dict[str, Any]] = []
        Optimizer.__init__(self, params, defaults)
        Joinable.__init__(self)
        self.optim: Any = optimizer_class(self.param_groups, **defaults)
        self._share_groups()
        self.state = self.optim.state
        self.initialized = True

    @staticmethod
    def _checked(params: Any) -> list[Any]:
        import shim_torch

        if isinstance(params, shim_torch.Tensor):
            raise TypeError(
                f"`params` argument should be an iterable of Tensors, but got {shim_torch.typename(params)}"
            )
        try:
            found = list(params)
        except TypeError as e:
            raise TypeError(
                f"`params` argument should be an iterable of Tensors, but got {shim_torch.typename(params)}"
            ) from e
        if not found:
            raise ValueError("ZeroRedundancyOptimizer got an empty parameter list")
        if not (all(isinstance(p, shim_torch.Tensor) for p in found) or all(isinstance(p, dict) for p in found)):
            raise TypeError("`params` argument should be an iterable of Tensors or dicts")
        return found

    def _share_groups(self) -> None:
        """Schedulers change our groups and the optimizer steps by its own: they are the same dicts."""
        self.optim.param_groups = self.param_groups
        for group in self.param_groups:
            for name, value in self.optim.defaults.items():
                group.setdefault(name, value)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Adds parameters with settings of their own."""
        Optimizer.add_param_group(self, param_group)
        if self.initialized:
            self._share_groups()

    def step(self, closure: Callable[[], Any] | None = None, **kwargs: Any) -> Any:
        """The optimizer's step; its loss if a closure gives one."""
        from shim_torch.distributed.algorithms.join import Join

        Join.notify_join_context(self)
        return self.optim.step(**kwargs) if closure is None else self.optim.step(closure=closure, **kwargs)

    def consolidate_state_dict(self, to: int = 0) -> None:
        """Gathers the states of all processes on one."""
        self._all_state_dicts = [self.optim.state_dict()] if self.rank == to else []

    def state_dict(self) -> dict[str, Any]:
        """The state as the optimizer itself would give it, after ``consolidate_state_dict``."""
        if not self._all_state_dicts:
            raise RuntimeError(
                f"Optimizer state has not been consolidated on this rank. Please call `consolidate_state_dict(to={self.rank})` "
                "on all ranks beforehand if you meant to save the global state."
            )
        return self.optim.state_dict()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes a state, of this class or of the optimizer itself."""
        self.optim.load_state_dict(state_dict)
        self.param_groups, self.state = self.optim.param_groups, self.optim.state

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """The hook by which ``Join`` steps the optimizer of a process that is done."""
        return _ZeROJoinHook(self)

    @property
    def join_device(self) -> Any:
        """The device of the first parameter."""
        return self.param_groups[0]["params"][0].device

    @property
    def join_process_group(self) -> Any:
        """The group that shares the state."""
        return self.process_group
