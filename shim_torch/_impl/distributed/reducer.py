"""DistributedDataParallel's gradients: reduced in buckets while the rest of backward runs."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from shim_torch._impl.distributed import by_copies, collectives
from shim_torch._impl.distributed.buckets import Bucket
from shim_torch._impl.distributed.groups import ProcessGroup
from shim_torch._impl.distributed.reductions import ReduceOp
from shim_torch._impl.native import _core

_FIRST_BUCKET = 1 << 20  # bytes: what is ready first is sent at once

_LARGE = 1 << 18  # bytes of a gradient that is worth a reduction of its own on a device, for three copies less

_UNFINISHED = (
    "Expected to have finished reduction in the prior iteration before starting a new one. This error indicates that your "
    "module has parameters that were not used in producing loss. You can enable unused parameter detection by passing the "
    "keyword argument `find_unused_parameters=True` to `torch.nn.parallel.DistributedDataParallel`, and by making sure all "
    "`forward` function outputs participate in calculating loss. Parameter indices which did not receive grad for rank {}: {}"
)
_TWICE = (
    "Expected to mark a variable ready only once. This error is caused by one of the following reasons: 1) Use of a module "
    "parameter outside the `forward` function. 2) Reused parameters in multiple reentrant backward passes. Parameter at "
    "index {} has been marked as ready twice."
)


@dataclasses.dataclass
class _Round:
    """One backward: what is ready, and the buckets under way."""

    ready: set[int] = dataclasses.field(default_factory=set)
    pending: list[int] = dataclasses.field(default_factory=list)
    unused: set[int] = dataclasses.field(default_factory=set)
    running: list[tuple[Any, list[Any]]] = dataclasses.field(default_factory=list)
    begun: bool = False


def tensors(value: Any) -> Iterator[Any]:
    """The tensors in containers and dataclasses."""
    if isinstance(value, _core.Tensor):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from tensors(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors(item)
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            yield from tensors(getattr(value, field.name))


def reached(outputs: Any) -> set[int]:
    """The ids of the leaves that the outputs were computed from."""
    nodes = [t.grad_fn for t in tensors(outputs) if t.grad_fn is not None]
    found = {id(t) for t in tensors(outputs) if t.grad_fn is None and t.requires_grad}
    seen = set()
    while nodes:
        node = nodes.pop()
        if node in seen:
            continue
        seen.add(node)
        if (leaf := getattr(node, "variable", None)) is not None:
            found.add(id(leaf))
        nodes += [following for following, _ in node.next_functions if following is not None]
    return found


class Reducer:
    """Averages the gradients of parameters over a group at the end of each backward that was prepared for.

    ``find_unused``: a forward's outputs say which parameters get no gradient. ``at_end``: nothing is reduced before the end of
    backward, which may then run through a parameter several times.
    """

    def __init__(
        self,
        parameters: Sequence[Any],
        group: ProcessGroup,
        cap: int,
        *,
        find_unused: bool,
        as_view: bool,
        at_end: bool,
    ) -> None:
        self._parameters, self._group = list(parameters), group
        self.find_unused, self._as_view, self.at_end = find_unused, as_view, at_end
        self._buckets = self._divided(cap)
        self._bucket_of = {i: number for number, bucket in enumerate(self._buckets) for i in bucket}
        self._round: _Round | None = None
        self.started = False
        self._unreduced: set[int] = set()  # what backwards since the last reduction gave gradients
        self._hook: tuple[Any, Callable[..., Any]] | None = None
        self.divisor: int | None = None  # within ``Join``: of the sum of gradients; and nothing is reduced in place
        self._handles = [
            p.register_post_accumulate_grad_hook(lambda _, i=i: self._accumulated(i))
            for i, p in enumerate(self._parameters)
        ]

    def _divided(self, cap: int) -> list[list[int]]:
        """The parameters' numbers by bucket: the last ones, whose gradients come first, in the first bucket."""
        open_ones: dict[Any, tuple[list[int], int]] = {}
        done: list[list[int]] = []
        for i in reversed(range(len(self._parameters))):
            p = self._parameters[i]
            kind, size = (p.dtype, p.device), p.numel() * p.element_size()
            bucket, held = open_ones.pop(kind, ([], 0))
            bucket.append(i)
            limit = cap if done else min(cap, _FIRST_BUCKET)
            if held + size >= limit:
                done.append(bucket)
            else:
                open_ones[kind] = bucket, held + size
        return done + [bucket for bucket, _ in open_ones.values()]

    def set_hook(self, state: Any, hook: Callable[..., Any]) -> None:
        """Calls ``hook(state, bucket)`` in place of the reduction; its future has the bucket's new values."""
        if self._hook is not None:
            raise RuntimeError("register_comm_hook or register_builtin_comm_hook can only be called once.")
        self._hook = state, hook

    def prepare_for_backward(self, outputs: Any) -> None:
        """The next backward reduces. Errors: RuntimeError where the one before did not come to an end."""
        self.started = True
        if self._round is not None and self._round.begun:
            left = sorted(set(range(len(self._parameters))) - self._round.ready)
            raise RuntimeError(_UNFINISHED.format(self._group.rank(), " ".join(map(str, left))))
        self._round = _Round(pending=[len(bucket) for bucket in self._buckets])
        if self.find_unused and not self.at_end:
            there = reached(outputs)
            self._round.unused = {i for i, p in enumerate(self._parameters) if id(p) not in there}

    def _rebuild_buckets(self) -> bool:
        """Whether buckets were made anew, in the order of the gradients: they stay as they are here."""
        return False

    def skip_backward(self) -> None:
        """The next backward adds up, and reduces nothing."""
        self.started = True
        if self._round is not None and not self._round.begun:
            self._round = None

    def _accumulated(self, i: int) -> None:
        now = self._round
        if now is None:
            self._unreduced.add(i)
            return
        if not now.begun:
            now.begun = True
            _core.queue_callback(self._finish)
            for unused in sorted(now.unused):
                self._mark(now, unused)
        if self.at_end:
            now.ready.add(i)
            return
        if i in now.unused:
            return  # a graph of another forward
        if i in now.ready:
            raise RuntimeError(_TWICE.format(i))
        self._mark(now, i)

    def _mark(self, now: _Round, i: int) -> None:
        now.ready.add(i)
        now.pending[self._bucket_of[i]] -= 1
        while len(now.running) < len(self._buckets) and not now.pending[len(now.running)]:
            self._launch(now, len(now.running))  # in the same order in each process

    def _launch(self, now: _Round, number: int) -> None:
        import shim_torch as torch

        members = [self._parameters[i] for i in self._buckets[number]]
        grads = [p.grad for p in members]
        if self._hook is None and not self._as_view and self.divisor is None and self._in_place(grads):
            with torch.no_grad():
                work = by_copies.all_reduce(grads, self._group, average=True)
            if work is None:
                work = collectives.all_reduce_coalesced(grads, ReduceOp.AVG, group=self._group, async_op=True)
            now.running.append((work, grads))
            return
        with torch.no_grad():
            flat = torch.cat([(torch.zeros_like(p) if p.grad is None else p.grad).reshape(-1) for p in members])
            parts = [
                part.view(p.shape) for part, p in zip(flat.split([p.numel() for p in members]), members, strict=True)
            ]
            now.running.append((self._sent(number, flat, parts, members), parts))

    def _sent(self, number: int, flat: Any, parts: list[Any], members: list[Any]) -> Any:
        """A bucket's work, or the future that a hook gives."""
        if self._hook is None:
            flat.div_(self.divisor or self._group.size())
            return collectives.all_reduce(flat, group=self._group, async_op=True)
        state, hook = self._hook
        made = hook(state, Bucket(number, number == len(self._buckets) - 1, flat, parts, members))
        if not hasattr(made, "wait"):
            raise RuntimeError(
                "DDP communication hook's callback must return a torch.futures.Future object, but got "
                f"{type(made).__module__}.{type(made).__qualname__}"
            )
        return made

    def shadow(self) -> None:
        """What one backward of the others sends, of zeros, for a process that has no inputs left."""
        import shim_torch as torch

        with torch.no_grad():
            running = []
            for number, bucket in enumerate(self._buckets):
                members = [self._parameters[i] for i in bucket]
                flat = torch.cat([torch.zeros_like(p).reshape(-1) for p in members])
                sizes = [p.numel() for p in members]
                parts = [part.view(p.shape) for part, p in zip(flat.split(sizes), members, strict=True)]
                running.append(self._sent(number, flat, parts, members))
            self._used_anywhere(_Round())
            for work in running:
                work.wait()

    @staticmethod
    def _in_place(grads: list[Any]) -> bool:
        """Whether gradients are reduced where they are, together in one call, and not in a bucket that they are copied to and from."""
        if not all(g is not None and g.is_cuda and g.is_contiguous() and g.is_floating_point() for g in grads):
            return False
        return sum(g.numel() * g.element_size() for g in grads) >= _LARGE * len(grads)

    def _used_anywhere(self, now: _Round) -> set[int]:
        """The parameters that some process has a gradient of; what none has stays as it is."""
        import shim_torch as torch

        everything = set(range(len(self._parameters)))
        if not (self.find_unused or self.at_end):
            return everything
        mine = (now.ready - now.unused) | self._unreduced
        self._unreduced.clear()
        used = torch.tensor([int(i in mine) for i in everything], dtype=torch.int32).to(self._parameters[0].device)
        collectives.all_reduce(used, group=self._group)
        return {i for i, count in enumerate(used.tolist()) if count}

    def _finish(self) -> None:
        import shim_torch as torch

        now = self._round
        if now is None:
            return
        while self.at_end and len(now.running) < len(self._buckets):
            self._launch(now, len(now.running))
        if len(now.running) < len(self._buckets):
            return  # the next forward says so
        used = self._used_anywhere(now)
        with torch.no_grad():
            for bucket, (work, parts) in zip(self._buckets, now.running, strict=True):
                if self._hook is not None:
                    self._take(work.wait(), parts)
                else:
                    work.wait()
                for i, part in zip(bucket, parts, strict=True):
                    if i in used:
                        self._give(self._parameters[i], part)
        self._round = None

    @staticmethod
    def _take(value: Any, parts: list[Any]) -> None:
        """A hook's result, in the bucket's parts."""
        flat = value[0] if isinstance(value, (list, tuple)) else value
        for part, new in zip(parts, flat.split([p.numel() for p in parts]), strict=True):
            part.copy_(new.view(part.shape))

    def _give(self, parameter: Any, gradient: Any) -> None:
        if parameter.grad is gradient:
            return  # reduced where it is
        if self._as_view or parameter.grad is None:
            parameter.grad = gradient if self._as_view else gradient.clone()
        else:
            parameter.grad.copy_(gradient)
