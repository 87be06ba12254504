"""``DistributedDataParallel``: gradients averaged over the processes of a group."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

from shim_torch.nn.modules.module import Module

__all__ = ["DistributedDataParallel"]


def _find_tensors(obj: Any) -> list[Any]:
    """The tensors in containers and dataclasses: what ``reducer.prepare_for_backward`` takes."""
    from shim_torch._impl.distributed.reducer import tensors

    return list(tensors(obj))


class DistributedDataParallel(Module):
    """A module whose gradients are averaged over a group's processes at the end of each backward.

    All processes begin with the first one's parameters and buffers. Errors: RuntimeError without a group, and for modules that differ.
    """

    def __init__(
        self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0, broadcast_buffers: bool = True,
        init_sync: bool = True, process_group: Any = None, bucket_cap_mb: Any = None, find_unused_parameters: bool = False,
        check_reduction: bool = False, gradient_as_bucket_view: bool = False, static_graph: bool = False,
        delay_all_reduce_named_params: Any = None, param_to_hook_all_reduce: Any = None, mixed_precision: Any = None,
        device_mesh: Any = None, skip_all_reduce_unused_params: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        from shim_torch import distributed
        from shim_torch.distributed.algorithms.join import Joinable, _JoinConfig

        if not distributed.is_initialized():
            raise RuntimeError(
                "Default process group has not been initialized, please make sure to call init_process_group."
            )
        refused = delay_all_reduce_named_params, param_to_hook_all_reduce, mixed_precision, device_mesh
        if any(option is not None for option in refused) or skip_all_reduce_unused_params:
            raise NotImplementedError(
                "torch.nn.parallel.DistributedDataParallel: mixed_precision, device_mesh, delayed and skipped reductions are "
                "not supported by shim-torch"
            )
        ignored = set(getattr(module, "_ddp_params_and_buffers_to_ignore", ()))
        named = {n: p for n, p in module.named_parameters() if p.requires_grad and n not in ignored}
        if not named:
            raise RuntimeError(
                "DistributedDataParallel is not needed when a module doesn't have any parameter that requires a gradient."
            )
        devices = {p.device for p in named.values()}
        if device_ids and all(device.type == "cpu" for device in devices):
            raise ValueError(
                "DistributedDataParallel device_ids and output_device arguments only work with single-device/multiple-device "
                f"GPU modules or CPU modules, but got device_ids {device_ids}, output_device {output_device}, and module "
                f"parameters {devices}."
            )
        self.module, self.device_ids, self.output_device = module, device_ids, output_device
        group: Any = process_group if process_group is not None else distributed.group.WORLD
        if isinstance(group, int):
            raise TypeError("DistributedDataParallel: this process is not in the group that process_group names")
        self.process_group = group
        self.dim, self.broadcast_buffers, self.find_unused_parameters = dim, broadcast_buffers, find_unused_parameters
        self.gradient_as_bucket_view, self.static_graph = gradient_as_bucket_view, static_graph
        self.parameters_to_ignore = ignored
        self.device = next(iter(named.values())).device
        self.device_type, self.is_multi_device_module = self.device.type, False
        self.require_backward_grad_sync = self.require_forward_param_sync = True
        self._join_config = _JoinConfig.construct_disabled_join_config()
        self._joining: Any = None  # the hook of the ``Join`` that it is in
        Joinable.register(type(self))
        self._several = distributed.get_world_size(self.process_group) > 1
        cap = int((25 if bucket_cap_mb is None else bucket_cap_mb) * (1 << 20))
        if self._several and init_sync:
            self._same_everywhere(named)
            self._first_ones(self._state())
        self._cap = cap
        self.reducer: Any = self._reducer()

    def _reducer(self) -> Any:
        from shim_torch._impl.distributed.reducer import Reducer

        ignored = self.parameters_to_ignore
        reduced = [p for n, p in self.module.named_parameters() if p.requires_grad and n not in ignored]
        return Reducer(
            reduced, self.process_group, self._cap, find_unused=self.find_unused_parameters,
            as_view=self.gradient_as_bucket_view, at_end=self.static_graph,
        )  # fmt: skip

    def __getstate__(self) -> dict[str, Any]:
        """For copies and pickles: without the group and what reduces. Errors: RuntimeError for another group than the default one."""
        from shim_torch._impl.distributed.checks import found

        if self.process_group is not found():
            raise RuntimeError(
                "DDP Pickling/Unpickling are only supported when using DDP with the default process group. That is, when "
                "you have called init_process_group and have not passed process_group argument to DDP constructor"
            )
        return {k: v for k, v in self.__dict__.items() if k not in ("process_group", "reducer", "_joining")}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        """In the default group. Errors: ValueError where there is none."""
        from shim_torch._impl.distributed.checks import found

        group: Any = found()
        super().__setstate__(state)
        self.process_group, self._joining = group, None
        self.require_backward_grad_sync = self.require_forward_param_sync = True
        self.reducer = self._reducer()

    def _same_everywhere(self, named: dict[str, Any]) -> None:
        from shim_torch import distributed

        group = self.process_group
        mine = [(tuple(p.shape), str(p.dtype)) for p in named.values()]
        every: list[Any] = [None] * group.size()
        distributed.all_gather_object(every, mine, group=group)
        for rank, theirs in enumerate(every):
            if len(theirs) != len(every[0]):
                raise RuntimeError(
                    f"DDP expects same model across all ranks, but Rank 0 has {len(every[0])} params, while rank {rank} has "
                    f"inconsistent {len(theirs)} params."
                )
            if theirs != every[0]:
                which = next(i for i, (a, b) in enumerate(zip(theirs, every[0], strict=True)) if a != b)
                raise RuntimeError(
                    f"[{group.rank()}]: params[{which}] in this process with sizes {list(mine[which][0])} appears not to "
                    "match sizes of the same param in process 0."
                )

    def _buffers_to_sync(self) -> list[Any]:
        return [b for n, b in self.module.named_buffers() if n not in self.parameters_to_ignore]

    def _state(self) -> list[Any]:
        parameters = [p for n, p in self.module.named_parameters() if n not in self.parameters_to_ignore]
        return parameters + self._buffers_to_sync()

    def _first_ones(self, tensors: list[Any], source: int = 0) -> None:
        """The first process's values, or another one's, in each."""
        from shim_torch import distributed, no_grad

        with no_grad():
            for tensor in tensors:
                distributed.broadcast(tensor.detach(), group=self.process_group, group_src=source)

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """The module's own result; its buffers are the first process's before."""
        from shim_torch import is_grad_enabled

        source = 0 if self._joining is None else self._joining.begin()
        if self._several and self.broadcast_buffers and self.require_forward_param_sync:
            self._first_ones(self._buffers_to_sync(), source)
        result = self.module(*inputs, **kwargs)
        self.require_forward_param_sync = is_grad_enabled() and self.require_backward_grad_sync
        if self.require_forward_param_sync and (self._several or self.reducer._hook is not None):
            self.reducer.prepare_for_backward(result)
        elif is_grad_enabled():
            self.reducer.skip_backward()
        return result

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """Gradients are summed locally; the first backward after it reduces them all."""
        old, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = old

    def join(
        self, divide_by_initial_world_size: bool = True, enable: bool = True, throw_on_early_termination: bool = False
    ) -> Any:
        """A context for processes with uneven numbers of inputs: those that have none left send zeros until all are done.

        Gradients are divided by the group's size, or (False) by the number of processes that have inputs. Errors:
        RuntimeError in all processes once one is done, with ``throw_on_early_termination``.
        """
        from shim_torch.distributed.algorithms.join import Join

        joinables: list[Any] = [self]
        return Join(
            joinables, enable, throw_on_early_termination, divide_by_initial_world_size=divide_by_initial_world_size
        )

    def join_hook(self, **kwargs: Any) -> Any:
        """For ``Join``: sends zeros for a process that has no inputs left, then takes the last one's parameters."""
        from shim_torch._impl.distributed.joining import ModelHook

        return ModelHook(self, bool(kwargs.get("divide_by_initial_world_size", True)))

    @property
    def join_device(self) -> Any:
        """The device that ``Join`` communicates on."""
        return self.device

    @property
    def join_process_group(self) -> Any:
        """The process group that ``Join`` communicates in."""
        return self.process_group

    @staticmethod
    def _set_params_and_buffers_to_ignore_for_model(module: Module, params_and_buffers_to_ignore: Any) -> None:
        """Parameters and buffers, by name, that are not synchronized: to be said before the module is wrapped."""
        module._ddp_params_and_buffers_to_ignore = params_and_buffers_to_ignore

    def _set_static_graph(self) -> None:
        """Each iteration uses the same parameters, some of them perhaps several times. Errors: RuntimeError after a forward."""
        if self.reducer.started:
            raise RuntimeError(
                "set_static_graph() should be called before training loop starts and after DistributedDataParallel is constructed."
            )
        self.static_graph = self.reducer.at_end = True

    def register_comm_hook(self, state: object, hook: Any) -> None:
        """Calls ``hook(state, bucket)`` in place of each reduction; it gives a future of the bucket's new values.

        Errors: TypeError for what cannot be called, ValueError for annotations of something else.
        """
        from shim_torch._impl.distributed.buckets import check_hook

        if not callable(hook):
            raise TypeError("Communication hook must be callable.")
        check_hook(hook)
        self.reducer.set_hook(state, hook)
