"""Gradients averaged over all processes at first, and within a part of them from some step on."""

from __future__ import annotations

from typing import Any

from shim_torch import distributed
from shim_torch.distributed.algorithms.ddp_comm_hooks import debugging_hooks, default_hooks

__all__ = ["PostLocalSGDState", "post_localSGD_hook"]


class PostLocalSGDState:
    """``process_group`` (None: the default one) until step ``start_localSGD_iter``, then ``subgroup`` (None: this host's).

    Without ``post_local_gradient_allreduce`` nothing is averaged from that step on.
    """

    def __init__(
        self, process_group: Any, subgroup: Any, start_localSGD_iter: int, post_local_gradient_allreduce: bool = True
    ) -> None:
        self.process_group, self.subgroup = process_group, subgroup
        self.start_localSGD_iter, self.post_local_gradient_allreduce = (
            start_localSGD_iter,
            post_local_gradient_allreduce,
        )
        self.iter = 0

    def maybe_increase_iter(self, bucket: Any) -> None:
        """Counts a step when its last bucket comes."""
        self.iter += bucket.is_last()


def post_localSGD_hook(state: PostLocalSGDState, bucket: Any) -> Any:
    """The mean over the group of this step. Gives a future of the bucket's new values."""
    local = state.iter >= state.start_localSGD_iter
    state.maybe_increase_iter(bucket)
    if not local:
        return default_hooks.allreduce_hook(state.process_group, bucket)
    if not state.post_local_gradient_allreduce:
        return debugging_hooks.noop_hook(None, bucket)
    if state.subgroup is None:
        state.subgroup, _ = distributed.new_subgroups()
    return default_hooks.allreduce_hook(state.subgroup, bucket)
