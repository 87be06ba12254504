"""``fully_shard``: a module's parameters are spread over the processes of a mesh, and gathered while it runs."""

from __future__ import annotations

import functools
import types
from dataclasses import dataclass
from typing import Any

from shim_torch._impl.distributed.sharded_modules import State, states
from shim_torch._impl.distributed.sharded_parameters import Flat
from shim_torch._impl.distributed.sharding_arguments import (
    check_offloading,
    check_parameter,
    mesh_of,
    owned_by,
    split_dim,
)
from shim_torch._impl.surface import naming
from shim_torch.nn.modules.module import Module

__all__: list[str] = []


@dataclass(frozen=True)
class MixedPrecisionPolicy:
    """The dtypes of the gathered parameters, of the reduction of gradients, and of what a module gets and gives.

    None: the parameters' own; ``reduce_dtype`` None: that of the gradients. ``cast_forward_inputs``: to ``param_dtype``.
    """

    param_dtype: Any = None
    reduce_dtype: Any = None
    output_dtype: Any = None
    cast_forward_inputs: bool = True


@dataclass
class OffloadPolicy:
    """The parameters stay where they are."""


@dataclass
class CPUOffloadPolicy(OffloadPolicy):
    """The parts are kept on the CPU."""

    pin_memory: bool = True


class UnshardHandle:
    """What ``unshard(async_op=True)`` gives."""

    def __init__(self, state: State) -> None:
        self._state = state

    def wait(self) -> None:
        """The module has its whole parameters; on CUDA the current stream sees them."""
        self._state.finish_gather()


def _states_of(modules: list[Any]) -> list[State]:
    for m in modules:
        if not isinstance(m, FSDPModule):
            raise ValueError(f"Expects FSDPModule but got {type(m)}: {m}")
    return [states[m] for m in modules]


class FSDPModule:
    """What modules that ``fully_shard`` changed are besides their own class."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """One that is made of such a module's class (a slice of a ModuleList) is of the class before."""
        original: Any = cls.__mro__[2]
        made = original.__new__(original)
        made.__init__(*args, **kwargs)
        return made

    def _get_fsdp_state(self) -> State:
        return states[self]

    def unshard(self, async_op: bool = False) -> UnshardHandle | None:
        """Gathers the whole parameters of this module (not of those within), or begins to."""
        state = states[self]
        state.comms.follow_current()
        state.gather()
        if async_op:
            return UnshardHandle(state)
        state.finish_gather()
        return None

    def reshard(self) -> None:
        """Gives the whole parameters' memory back."""
        states[self].free()

    def set_is_last_backward(self, is_last_backward: bool) -> None:
        """Whether gradients are complete after the next backward. They are waited for after each one."""
        states[self].last_backward = is_last_backward

    def set_requires_gradient_sync(self, requires_gradient_sync: bool, *, recurse: bool = True) -> None:
        """Whether backward reduces the gradients; those of backwards that do not are kept, whole."""
        for state in states[self].below(recurse):
            state.requires_sync = requires_gradient_sync

    def set_requires_all_reduce(self, requires_all_reduce: bool, *, recurse: bool = True) -> None:
        """Whether a mesh of two dimensions reduces over the copies too; gradients of backwards that do not are kept, in parts."""
        for state in states[self].below(recurse):
            state.how.across = requires_all_reduce

    def set_reshard_after_forward(self, reshard_after_forward: bool, recurse: bool = True) -> None:
        """Whether the whole parameters end after forward, and are gathered again for backward."""
        if not isinstance(reshard_after_forward, bool):
            raise ValueError(f"reshard_after_forward should be a bool, got {type(reshard_after_forward)}")
        for state in states[self].below(recurse):
            state.reshard_after_forward = state.asked = reshard_after_forward

    def set_reshard_after_backward(self, reshard_after_backward: bool, *, recurse: bool = True) -> None:
        """Whether they end after backward; where not, ``reshard()`` has to come before the optimizer's step."""
        for state in states[self].below(recurse):
            state.reshard_after_backward = reshard_after_backward

    def set_modules_to_forward_prefetch(self, modules: list[Any]) -> None:
        """Whose parameters are sent while this module runs forward."""
        states[self].forward_prefetch = _states_of(modules)

    def set_modules_to_backward_prefetch(self, modules: list[Any]) -> None:
        """Whose parameters are sent while its backward runs, in place of the one's that ran before it."""
        states[self].backward_prefetch = _states_of(modules)

    def set_all_reduce_hook(self, hook: Any, *, stream: Any = None) -> None:
        """Calls ``hook(gradients)`` with this process's reduced parts, flat. Errors: NotImplementedError for a stream."""
        if stream is not None:
            raise NotImplementedError("FSDPModule.set_all_reduce_hook(stream=) is not supported by shim-torch")
        states[self].how.hook = hook

    def set_gradient_divide_factor(self, factor: float) -> None:
        """What the sum of gradients is divided by, in place of the number of processes."""
        states[self].how.factor = factor

    set_reduce_scatter_divide_factor = set_gradient_divide_factor

    def set_force_sum_reduction_for_comms(self, enable: bool) -> None:
        """Whether gradients are summed, and divided after it, where else they would be averaged on their way."""
        states[self].how.force_sum = enable

    def set_unshard_in_backward(self, unshard_in_backward: bool) -> None:
        """Whether backward needs the whole parameters."""
        states[self].unshard_in_backward = unshard_in_backward

    def _set_unshard_async_op(self, async_op: bool) -> None:
        """Gathers are always asynchronous."""

    def _apply(self, *args: Any, **kwargs: Any) -> Any:
        states[self].free()
        result = super()._apply(*args, **kwargs)  # type: ignore[misc]
        for flat in states[self].flats:
            flat.bind()
        return result


_classes: dict[type, type] = {}


def _class_of(cls: type) -> type:
    if cls not in _classes:
        _classes[cls] = type(
            f"FSDP{cls.__name__}", (FSDPModule, cls), {"__deepcopy__": _no_copy, "__module__": cls.__module__}
        )
    return _classes[cls]


def _no_copy(self: Any, memo: Any) -> Any:
    raise AssertionError("FSDP does not support deepcopy. Please use state dict for serialization.")


def fully_shard(
    module: Any, *, mesh: Any = None, reshard_after_forward: Any = None, shard_placement_fn: Any = None,
    mp_policy: MixedPrecisionPolicy = MixedPrecisionPolicy(),
    offload_policy: OffloadPolicy = OffloadPolicy(),
    ignored_params: Any = None, dp_mesh_dims: Any = None,
) -> Any:  # fmt: skip
    """Spreads a module's parameters over a mesh, in place: each becomes a DTensor with this process's rows, and is whole while
    the module runs. The modules within that were given before keep theirs. A mesh of two dimensions has copies in the first.

    Gradients are averaged over all processes. Errors: ValueError for containers and meshes that cannot be, NotImplementedError
    for offloading from a device, DTensors that are placed as parts of sums and ``reshard_after_forward`` as a number.
    """
    from shim_torch import nn

    modules = list(module) if isinstance(module, (list, tuple)) else [module]
    for m in modules:
        if isinstance(m, (nn.ModuleList, nn.ModuleDict)):
            raise ValueError(f"fully_shard does not support containers that do not implement forward: {m}")
        if m in states:
            raise AssertionError(
                "Each distinct composable distributed API can only be applied to a module once. fully_shard has already been "
                f"applied to the following module:\n{m}"
            )
    if dp_mesh_dims is not None:
        raise NotImplementedError("fully_shard: dp_mesh_dims is not supported by shim-torch")
    if reshard_after_forward is not None and not isinstance(reshard_after_forward, bool):
        raise NotImplementedError("fully_shard: reshard_after_forward is True, False or None in shim-torch")
    mesh = mesh_of(mesh)
    if isinstance(offload_policy, CPUOffloadPolicy):
        check_offloading(offload_policy, mesh)
    owned = owned_by(modules, set(ignored_params or ()))
    by_dtype: dict[Any, list[Any]] = {}
    for p, owners in owned:
        check_parameter(p, owners[0][1])
        device = p.device
        if mesh.device_type == "cuda" and device.type == "cpu":
            p.data = p.data.to("cuda")
        by_dtype.setdefault((p.dtype, p.device), []).append((p, owners))
    place = (lambda p: 0) if shard_placement_fn is None else (lambda p: split_dim(shard_placement_fn(p)))
    flats = [Flat(group, mesh, place, mp_policy) for group in by_dtype.values()]
    for m in modules:
        m.__class__ = _class_of(type(m))
    State(modules, flats, mp_policy, reshard_after_forward)
    return module


def register_fsdp_forward_method(module: Any, method_name: str) -> None:
    """Makes a method of a sharded module gather its parameters, as ``forward`` does. Nothing for other modules."""
    state = states.get(module)
    if state is None:
        return
    if not hasattr(module, method_name):
        raise ValueError(f"{type(module)} does not have a method {method_name}")
    original = getattr(module, method_name)

    @functools.wraps(original)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        args, kwargs = state._before(self, args, kwargs)
        return state._after(self, args, original(*args, **kwargs))

    setattr(module, method_name, types.MethodType(method, module))


def share_comm_ctx(modules: list[Any]) -> None:
    """Lets several roots share their streams: NotImplementedError."""
    raise NotImplementedError("torch.distributed.fsdp.share_comm_ctx is not supported by shim-torch")


def is_sharded(module: Module) -> bool:
    """Whether a module was given to ``fully_shard``."""
    return module in states


naming.present(globals(), "torch.distributed.fsdp")
