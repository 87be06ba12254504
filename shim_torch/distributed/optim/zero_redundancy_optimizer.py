"""``ZeroRedundancyOptimizer``: each process keeps the state of a part of the parameters; here one keeps all."""

from __future__ import annotations

from typing import Any

from shim_torch._missing import asked_of as _asked_of
from shim_torch.distributed.algorithms.join import Joinable, JoinHook
from shim_torch.optim.optimizer import Optimizer

__all__ = ["ZeroRedundancyOptimizer"]


class ZeroRedundancyOptimizer(Optimizer, Joinable):
    """Wraps ``optimizer_class(params, **defaults)``, as ``optim``; groups and state are the wrapped optimizer's.

    Errors: ValueError before ``init_process_group``; NotImplementedError for ``overlap_with_ddp``.
    """

    def __init__(
        self, params: Any, optimizer_class: type[Optimizer], process_group: Any = None,
        parameters_as_bucket_view: bool = False, overlap_with_ddp: bool = False, **defaults: Any,
    ) -> None:  # fmt: skip
        from shim_torch import distributed

        distributed.get_world_size(process_group)
        if overlap_with_ddp:
            raise NotImplementedError(
                "torch.distributed.optim.ZeroRedundancyOptimizer(overlap_with_ddp=True) is not supported by shim-torch"
            )
        self.process_group, self.parameters_as_bucket_view = process_group, parameters_as_bucket_view
        self.rank = self.global_rank = 0
        self.world_size = 1
        params = list(params)
        Joinable.__init__(self)
        Optimizer.__init__(self, params, defaults)
        self.optim = optimizer_class(self.param_groups, **defaults)
        self.param_groups, self.state = self.optim.param_groups, self.optim.state

    def step(self, closure: Any = None, **kwargs: Any) -> Any:
        """One step of the wrapped optimizer."""
        return self.optim.step(**({} if closure is None else {"closure": closure}), **kwargs)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Adds a group of parameters, to the wrapped optimizer too."""
        if "optim" in vars(self):
            self.optim.add_param_group(param_group)
        else:
            super().add_param_group(param_group)

    def consolidate_state_dict(self, to: int = 0) -> None:
        """Gathers the state on one process: it is there."""

    def state_dict(self) -> dict[str, Any]:
        """The wrapped optimizer's state."""
        return self.optim.state_dict()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Loads the wrapped optimizer's state."""
        self.optim.load_state_dict(state_dict)
        self.param_groups, self.state = self.optim.param_groups, self.optim.state

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """For ``Join``: there is nothing to do for other processes."""
        return JoinHook()

    @property
    def join_device(self) -> Any:
        return self.param_groups[0]["params"][0].device

    @property
    def join_process_group(self) -> Any:
        return self.process_group


__getattr__ = _asked_of(__name__)
