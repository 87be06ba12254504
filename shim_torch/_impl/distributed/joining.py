"""How DistributedDataParallel takes part in ``Join``: a process without inputs answers what the others send."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.distributed import collectives
from shim_torch._impl.distributed.reductions import ReduceOp
from shim_torch.distributed.algorithms.join import Join, JoinHook


class ModelHook(JoinHook):
    """Of one model. In each iteration the processes agree on what follows: whose buffers, and whether gradients are reduced."""

    def __init__(self, model: Any, by_all: bool) -> None:
        self._model, self._by_all = model, by_all
        model._joining = self

    def _agreed(self, *mine: int) -> list[int]:
        """The greatest of each number over the processes."""
        import shim_torch as torch

        numbers = torch.tensor(mine, dtype=torch.int32, device=self._model.device)
        collectives.all_reduce(numbers, ReduceOp.MAX, group=self._model.process_group)
        return numbers.tolist()  # type: ignore[no-any-return]

    def begin(self) -> int:
        """Before a forward of a process that has inputs: the process whose buffers all take."""
        from shim_torch import is_grad_enabled

        model = self._model
        if not model._join_config.enable:
            model._joining, model.reducer.divisor = None, None
            return 0
        work = Join.notify_join_context(model)
        source, _, _ = self._agreed(
            model.process_group.rank(),
            int(is_grad_enabled() and model.require_backward_grad_sync),
            int(model.require_forward_param_sync),
        )
        size = model.process_group.size()
        model.reducer.divisor = size if self._by_all or work is None else int(work.result()[0].item())
        return source

    def main_hook(self) -> None:
        """One iteration of the others."""
        model = self._model
        source, reduces, buffers = self._agreed(-1, 0, 0)
        if model._several and model.broadcast_buffers and buffers:
            model._first_ones(model._buffers_to_sync(), source)
        if reduces:
            model.reducer.shadow()

    def post_hook(self, is_last_joiner: bool) -> None:
        """All take the parameters and buffers of the last."""
        model = self._model
        model._joining, model.reducer.divisor = None, None
        (source,) = self._agreed(model.process_group.rank() if is_last_joiner else -1)
        if model._several:
            model._first_ones(model._state(), source)
