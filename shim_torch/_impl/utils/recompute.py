"""Checkpoints that are not reentrant: saved tensors give way to holders, and the first one asked for runs the forward again.

A pass of backward (a "group") runs a region's forward at most once; what it saved then is handed out once, and forgotten.
Inputs of a region are saved tensors themselves, so that the hooks of a region around this one see them.
"""

from __future__ import annotations

import weakref
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from shim_torch._impl.native import _core
from shim_torch.autograd.grad_mode import enable_grad
from shim_torch.autograd.graph import saved_tensors_hooks

TIP = (
    "\nTip: To see a more detailed error message, either pass `debug=True` to\n"
    "`torch.utils.checkpoint.checkpoint(...)` or wrap the code block\n"
    "with `with torch.utils.checkpoint.set_checkpoint_debug_enabled(True):` to\n"
    "enable checkpoint\u2011debug mode globally.\n"
)
_unique = -1  # groups of saved tensors that are looked at outside of backward


class CheckpointError(RuntimeError):
    """The second forward pass did something else than the first."""


class Stop(Exception):
    """Every saved tensor is back: the rest of the second pass is not needed."""


class GraphExecGroup:
    """Within it, the passes of backward share what they compute again: each region's forward runs at most once.

    Two passes in one group may not need the same saved tensor. RuntimeError when groups are nested.
    """

    _current: GraphExecGroup | None = None

    def __enter__(self) -> GraphExecGroup:
        if GraphExecGroup._current is not None:
            raise RuntimeError(
                f"GraphExecGroup contexts cannot be nested. Already inside group {GraphExecGroup._current}"
            )
        GraphExecGroup._current = self
        return self

    def __exit__(self, *args: object) -> None:
        GraphExecGroup._current = None

    @classmethod
    def _get_current_group(cls) -> GraphExecGroup | None:
        return cls._current


class _Key:
    """Stands for one recomputed tensor: it lives as long as it may be asked for."""

    __slots__ = ("__weakref__",)


class Holder:
    """Stands in the graph for a tensor that will be computed again."""

    __slots__ = ("__weakref__", "keys")

    def __init__(self) -> None:
        self.keys: dict[Any, _Key | None] = {}


def _group() -> Any:
    """What the recomputed tensors belong to: the open group, or this pass of backward."""
    global _unique
    if GraphExecGroup._current is not None:
        return GraphExecGroup._current
    task = _core._current_graph_task_id()
    if task == -1:
        _unique -= 1
        return _unique
    return task


class Frame:
    """One checkpointed call: ``again(*inputs)`` runs it a second time."""

    def __init__(
        self,
        again: Callable[..., Any],
        inputs: tuple[Any, ...],
        early_stop: bool,
        describe: Callable[[Any], Any] | None,
    ) -> None:
        self.again, self.early_stop, self.describe = again, early_stop, describe
        self.inputs = [_core._make_saved_tensor(x) if isinstance(x, _core.TensorBase) else x for x in inputs]
        self.holders: list[weakref.ref[Holder]] = []
        self.descriptions: list[Any] = []
        self.recomputed: Any = defaultdict(weakref.WeakKeyDictionary)
        self.counts: dict[Any, int] = defaultdict(int)
        self.done: set[Any] = set()
        self.complete = self.backward_within = False

    def saving(self, on_error: Callable[[CheckpointError], None] | None = None) -> Any:
        """The hooks of the first pass: nothing is kept but where a tensor would have been."""

        def pack(x: Any) -> Holder:
            holder = Holder()
            self.holders.append(weakref.ref(holder))
            if self.describe is not None:
                self.descriptions.append(self.describe(x))
            return holder

        def unpack(holder: Holder) -> Any:
            try:
                return self.take(holder)
            except CheckpointError as error:
                if on_error is None:
                    raise
                on_error(error)

        return saved_tensors_hooks(pack, unpack)

    def take(self, holder: Holder) -> Any:
        """The tensor that ``holder`` stands for; the forward runs again when the first one is asked for."""
        group = _group()
        if group not in self.done:
            self._recompute(group)
            self.done.add(group)
            self._check(group)
        key = holder.keys.get(group)
        if key is None:
            overlap = (
                "Performing two backward calls that overlap (i.e. require the same saved activation in order to compute "
                "gradients) is not allowed while under the torch.utils.checkpoint.GraphExecGroup context. "
                if GraphExecGroup._current is not None
                else ""
            )
            raise CheckpointError(
                "torch.utils.checkpoint: Unpack is being triggered for a tensor that was already unpacked once. "
                f"{overlap}If you are calling ctx.saved_tensors in backward, make sure to do so only once. Otherwise please "
                "open an issue with details on your use case."
            )
        value = self.recomputed[group][key]
        holder.keys[group] = None
        return value

    def _recompute(self, group: Any) -> None:
        inputs = [x.unpack() if isinstance(x, _core.SavedTensor) else x for x in self.inputs]
        try:
            with recomputing(weakref.ref(self), group), enable_grad():
                self.again(*inputs)
        except Stop:
            pass

    def receive(self, group: Any, x: Any) -> Any:
        """A tensor that the second pass saves."""
        x = x.detach() if x.requires_grad else x
        place = self.counts[group]
        self.counts[group] += 1
        if place >= len(self.holders):
            if not self.complete:  # backward within the region itself
                self.backward_within = True
                return x
            raise CheckpointError(
                "torch.utils.checkpoint: trying to save more tensors during recomputation than during the original "
                f"forward pass.\n{TIP}"
            )
        holder = self.holders[place]()
        if holder is not None:
            key = holder.keys[group] = _Key()
            self.recomputed[group][key] = x
        if self.early_stop and self.counts[group] == len(self.holders):
            raise Stop
        return x

    def _check(self, group: Any) -> None:
        if self.backward_within:
            return
        if len(self.holders) != self.counts[group]:
            raise CheckpointError(
                "torch.utils.checkpoint: A different number of tensors was saved during the original forward and recomputation.\n"
                f"Number of tensors saved during forward: {len(self.holders)}\n"
                f"Number of tensors saved during recomputation: {self.counts[group]}.\n{TIP}"
            )
        if self.describe is None:
            return
        differing = ""
        for place, ref in enumerate(self.holders):
            holder = ref()
            key = None if holder is None else holder.keys.get(group)
            if key is None:
                continue
            now = self.describe(self.recomputed[group][key])
            if now != self.descriptions[place]:
                differing += f"tensor at position {place}:\nsaved metadata: {self.descriptions[place]}\nrecomputed metadata: {now}\n"
        if differing:
            raise CheckpointError(
                "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than during "
                f"the forward pass.\n{differing}.\n{TIP}"
            )


def recomputing(frame: weakref.ref[Frame], group: Any) -> Any:
    """The hooks of the second pass."""

    def pack(x: Any) -> Any:
        target = frame()
        assert target is not None
        return target.receive(group, x)

    return saved_tensors_hooks(pack, lambda x: x)


def describe(x: Any) -> dict[str, Any]:
    """What the two passes must agree on."""
    return {"shape": x.shape, "dtype": x.dtype, "device": x.device}


CheckpointError.__module__ = GraphExecGroup.__module__ = "torch.utils.checkpoint"
