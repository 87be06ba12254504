"""What ``fully_shard`` adds to a module: its parameters are whole while it runs, forward and backward, and in parts in between."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Iterator
from typing import Any

from shim_torch._impl.distributed.sharded_parameters import Flat, Reducing
from shim_torch._impl.distributed.sharded_streams import Comms
from shim_torch._impl.native import _core

states: weakref.WeakKeyDictionary[Any, State] = weakref.WeakKeyDictionary()


def _map(value: Any, change: Any) -> Any:
    from shim_torch.utils import _pytree as pytree

    return pytree.tree_map_only(_core.Tensor, change, value)


def _tensors(value: Any) -> list[Any]:
    from shim_torch.utils import _pytree as pytree

    return [t for t in pytree.tree_leaves(value) if isinstance(t, _core.Tensor) and t.requires_grad]


@functools.cache
def _entry() -> Any:
    """The function that stands before a sharded module: its backward comes after the module's."""
    from shim_torch.autograd import Function

    class Entry(Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, state: State, *tensors: Any) -> Any:
            ctx.state = state
            return tuple(t.view_as(t) for t in tensors)

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            ctx.state.after_backward()
            return None, *grads

    return Entry


class State:
    """Of one module that was given to ``fully_shard``."""

    def __init__(self, modules: list[Any], flats: list[Flat], policy: Any, reshard: bool | None) -> None:
        self.modules, self.flats, self.policy = modules, flats, policy
        self.reshard_after_forward, self.asked = reshard is not False, reshard
        self.reshard_after_backward = self.requires_sync = True
        self.unshard_in_backward, self.last_backward = True, True
        self.how = Reducing()
        self.comms = Comms()
        self.root: State | None = None
        self.all: list[State] = []  # of a root: the states within, itself first
        self.order: list[State] = []  # of a root: as they ran forward
        self.final: State | None = None  # of a root: the last one that ran forward, which backward begins with
        self.forward_prefetch: list[State] = []
        self.backward_prefetch: list[State] | None = None  # None: the one that ran before
        self.in_backward = self.reduced = self.ends = False
        self.finished: set[Any] = set()  # of several modules with one state
        for module in modules:
            states[module] = self
            module.register_forward_pre_hook(self._before, prepend=True, with_kwargs=True)
            module.register_forward_hook(self._after, prepend=False)
            module.register_state_dict_pre_hook(self._show_parts)
            module.register_load_state_dict_pre_hook(self._show_parts)

    def free(self) -> None:
        """The modules have the parts; the whole parameters' memory is given back."""
        for flat in self.flats:
            flat.free()

    def _show_parts(self, *_: Any) -> None:
        for flat in self.flats:
            flat.free(keeps=flat.kept)  # in one process alone, maybe: the others' backward will not gather

    # --- forward ----------------------------------------------------------------------------------------------------

    def _become_root(self) -> None:
        import shim_torch as torch

        within = [s for module in self.modules for m in module.modules() if (s := states.get(m)) is not None]
        self.all = list(dict.fromkeys([self, *within]))
        for state in self.all:
            for flat in state.flats:
                flat.bind()  # what was loaded in the parameters' place may be elsewhere than they were
        device = next((f.device for s in self.all for f in s.flats), torch.device("cpu"))
        if device.type == "cuda":
            self.comms.copy_in = torch.cuda.Stream(device)
        for state in self.all:
            if state.root is not None and state.root is not self:
                raise RuntimeError(
                    "FSDP state has already been lazily initialized for another root: run the whole module first"
                )
            state.root, state.comms = self, self.comms
            for flat in state.flats:
                if flat.device.type == "meta":
                    raise RuntimeError(
                        "FSDP parameters should be materialized from meta device before training, but the following were still on "
                        f"meta device: {[name for p in flat.pieces for _, name in p.owners]}"
                    )
        if self.asked is None:
            self.reshard_after_forward = False  # backward begins with it

    def _before(self, module: Any, args: Any, kwargs: Any) -> Any:
        import shim_torch as torch

        if self.root is None:
            self._become_root()
        if self.root is self and not self.in_backward and not self.finished:
            self._begin_iteration()
        self.gather()
        self.finish_gather()
        if not self.in_backward:
            for state in self.forward_prefetch:
                state.gather()
        if self.root is self and self.flats and self.flats[0].device.type == "cuda":
            device = self.flats[0].device
            args, kwargs = _map((args, kwargs), lambda t: t if t.device == device else t.to(device))
        if self.policy.cast_forward_inputs and (to := self.policy.param_dtype) is not None:
            args, kwargs = _map((args, kwargs), lambda t: t.to(to) if t.is_floating_point() else t)
        if torch.is_grad_enabled() and not self.in_backward and any(f.pieces for f in self.flats):
            args, kwargs = self._marked(args, kwargs)
        return args, kwargs

    def _begin_iteration(self) -> None:
        for state in self.all:
            for flat in state.flats:
                if flat.kept:
                    flat.free()  # backward did not come
                if not flat.whole_there:
                    flat.bind()
        self.comms.follow_current()

    def _marked(self, args: Any, kwargs: Any) -> Any:
        """The same arguments, whose gradients are there when the module's backward is over."""
        given = _tensors((args, kwargs))
        if not given:
            return args, kwargs
        replaced = dict(zip(map(id, given), _entry().apply(self, *given), strict=True))
        return _map((args, kwargs), lambda t: replaced.get(id(t), t))

    def _after(self, module: Any, args: Any, output: Any) -> Any:
        import shim_torch as torch

        self.finished.add(module)
        if len(self.finished) == len(self.modules):
            self.finished.clear()
            if not self.in_backward:
                self._end_forward()
        if self.policy.output_dtype is not None:
            output = _map(output, lambda t: t.to(self.policy.output_dtype) if t.is_floating_point() else t)
        if torch.is_grad_enabled() and not self.in_backward:
            for t in _tensors(output):
                t.register_hook(self._before_backward)
        return output

    def _end_forward(self) -> None:
        import shim_torch as torch

        root, keeps = self.root, False
        if root is not None and torch.is_grad_enabled() and not root.ends:  # not what backward computes again
            root.order.append(self)
            keeps = root.final is self  # as in the forward before
            if root is self:
                root.final = next((s for s in reversed(root.order[:-1]) if any(f.pieces for f in s.flats)), None)
        if self.reshard_after_forward:
            for flat in self.flats:
                flat.free(keeps)

    def gather(self) -> None:
        """Begins to gather the whole parameters, where they are not there."""
        for flat in self.flats:
            flat.begin_gather(self.comms, self.in_backward)

    def finish_gather(self) -> None:
        """The modules have the whole parameters."""
        for flat in self.flats:
            flat.end_gather()

    # --- backward ---------------------------------------------------------------------------------------------------

    def _before_backward(self, grad: Any) -> Any:
        if self.in_backward:
            return grad
        root = self.root
        assert root is not None
        if not root.ends:
            root.ends = True
            _core.queue_callback(root._end_backward)
        self.in_backward, self.reduced = True, False
        if self.unshard_in_backward:
            self.gather()
            self.finish_gather()
        for state in self._next():
            if state.unshard_in_backward:
                state.gather()
        return grad

    def _next(self) -> list[State]:
        """Whose parameters are gathered meanwhile."""
        if self.backward_prefetch is not None:
            return self.backward_prefetch
        order = self.root.order if self.root is not None else []
        while order:
            if order.pop() is self:
                break
        return order[-1:]

    def after_backward(self) -> None:
        """Its gradients go to the processes that have the parts; the whole parameters end."""
        self.in_backward, self.reduced = False, True
        waiting = self.comms.reductions
        for flat in self.flats:
            if self.requires_sync:
                while len(waiting) > 1:  # the memory of two at a time
                    waiting.pop(0).end()
                if (reduction := flat.begin_reduce(self.how)) is not None:
                    waiting.append(reduction)
            else:
                flat.keep_gradients()
        if self.reshard_after_backward:
            self.free()

    def _end_backward(self) -> None:
        """Of the root: what had no input with a gradient, or was not used, comes last."""
        for state in reversed(self.all):
            left = state.requires_sync and any(p.whole.grad is not None for f in state.flats for p in f.pieces)
            if state.in_backward or left or (not state.reduced and any(f.whole_there for f in state.flats)):
                state.after_backward()
            elif state.reshard_after_backward:
                state.free()  # what was gathered for nothing
            state.reduced = False
        while self.comms.reductions:
            self.comms.reductions.pop(0).end()
        self.ends = False
        self.order.clear()

    def below(self, recurse: bool = True) -> Iterator[State]:
        """Its own, and the states of the modules within."""
        found = [states.get(m) for module in self.modules for m in (module.modules() if recurse else [module])]
        yield from dict.fromkeys(s for s in found if s is not None)
