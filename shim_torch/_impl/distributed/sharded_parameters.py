"""Parameters of which each process of a group holds a part; the whole ones exist while a module needs them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

from shim_torch._impl.distributed import by_copies, collectives, sharded_copies
from shim_torch._impl.distributed.reductions import ReduceOp
from shim_torch._impl.distributed.sharded_pieces import Piece, piece
from shim_torch._impl.distributed.sharded_streams import Comms, Gathering


@dataclasses.dataclass
class Reducing:
    """What ``set_gradient_divide_factor`` and its like say."""

    factor: float | None = None
    force_sum: bool = False
    hook: Any = None
    across: bool = True  # over the copies too, of a mesh of two dimensions

    def averages(self, dtype: Any) -> bool:
        """Whether gradients are averaged on their way, and not divided after it."""
        import shim_torch as torch

        return self.factor is None and not self.force_sum and dtype in (torch.float32, torch.bfloat16)


class Flat:
    """Parameters of one dtype, whose parts lie in one tensor, so that one collective gathers them."""

    def __init__(self, owned: list[tuple[Any, list[tuple[Any, str]]]], mesh: Any, place: Any, policy: Any) -> None:
        self.mesh, self.policy = mesh, policy
        self.group, self.n = mesh.get_group(mesh.ndim - 1), mesh.shape[-1]
        self.at = mesh.get_coordinate()[-1]
        first = owned[0][0]
        self.dtype, self.device = first.dtype, first.device
        self.pieces = [piece(p, owners, place(p), mesh, self.gathered_dtype) for p, owners in owned]
        for p in self.pieces:
            p.large = sharded_copies.large(p, self.n)
        self.pieces.sort(key=lambda p: not p.large)  # those first
        self.total = sum(p.size for p in self.pieces)
        self.data: Any = None
        self.whole_there = False
        self.kept = False  # the wholes are there, out of the modules' sight
        self._gathering: Gathering | None = None
        for p in self.pieces:
            p.show(p.part)
        self.bind()

    @property
    def gathered_dtype(self) -> Any:
        """Of the whole parameters."""
        wanted = self.policy.param_dtype
        return wanted if wanted is not None and self.dtype.is_floating_point else self.dtype

    def bind(self) -> None:
        """Takes the parts that the modules have now, and moves them into one tensor where they are not there yet."""
        import shim_torch as torch

        for p in self.pieces:
            module, name = p.owners[0]
            now = module._parameters[name]
            if now is not p.whole and now is not p.part and hasattr(now, "_local_tensor"):
                p.part = now  # moved, or loaded in its place
        base, where = (None if self.data is None else self.data.data_ptr()), 0
        fine = self.data is not None
        for p in self.pieces:
            held = p.part._local_tensor
            there = base is not None and (not held.numel() or held.data_ptr() == base + where * held.element_size())
            fine = fine and there and held.dtype == self.data.dtype and held.device == self.data.device
            where += p.size
        if fine:
            return
        held = self.pieces[0].part._local_tensor
        self.dtype, self.device = held.dtype, held.device
        self.data, where = torch.zeros(self.total, dtype=held.dtype, device=held.device), 0
        for p in self.pieces:
            held = p.part._local_tensor
            mine = self.data[where : where + held.numel()].view(p.local)
            mine.copy_(held.detach())
            p.part._local_tensor = mine
            where += p.size
            if p.whole.device != self.device or p.whole.dtype != self.gathered_dtype:
                p.make_whole(self.gathered_dtype, self.device)
            p.show(p.part)

    # --- whole parameters -------------------------------------------------------------------------------------------

    def begin_gather(self, comms: Comms, backward: bool = False) -> None:
        """Sends the parts; ``end_gather`` has the wholes. ``backward``, of what ran forward last, takes those that were kept."""
        import shim_torch as torch

        if self.whole_there or self._gathering is not None:
            return
        if self.kept:
            if backward:
                self.kept, self.whole_there = False, True
                for p in self.pieces:
                    p.show(p.whole)
                return
            self.free()
        with torch.no_grad(), comms.on_copy_in():
            mine = self.data if self.gathered_dtype == self.dtype else self.data.to(self.gathered_dtype)
            there = [p for p in self.pieces if p.large]
            copies = sharded_copies.gather(there, mine, self.group)
            if copies is not None:
                works, out = [copies[0]], copies[1]
            else:
                there, out = [], torch.empty(self.n * mine.numel(), dtype=self.gathered_dtype, device=self.device)
                work = by_copies.all_gather(out, mine, self.group)
                work = work or collectives.all_gather_into_tensor(out, mine, group=self.group, async_op=True)
                works = [work]
            cast = None if mine is self.data else mine
            self._gathering = Gathering(works, out, there, cast, self.device)

    def end_gather(self) -> None:
        """The whole parameters, in the modules; on CUDA what the current stream gets from now on sees them."""
        import shim_torch as torch

        gathering, self._gathering = self._gathering, None
        if gathering is None:
            return
        with torch.no_grad(), gathering.awaited() as (out, there):
            rows, where = None if out is None else out.view(self.n, -1), 0
            for i, p in enumerate(self.pieces):
                if rows is not None and i >= len(there):
                    self._fill(p, rows[:, where : where + p.size])
                    where += p.size
                p.whole.requires_grad_(p.part.requires_grad)
                p.show(p.whole)
        self.whole_there = True

    def _fill(self, p: Piece, parts: Any) -> None:
        import shim_torch as torch

        p.memory.untyped_storage().resize_(p.memory.numel() * p.memory.element_size())
        target = p.memory.data  # with a count of changes of its own: what was saved is the same again
        if p.dim:
            shape = list(target.shape)
            shape[p.dim] //= self.n
            target.copy_(torch.cat([part.view(shape) for part in parts.contiguous()], p.dim))
        elif p.size * self.n == target.numel():
            target.view(self.n, p.size).copy_(parts)
        else:
            target.view(-1).copy_(parts.reshape(-1)[: target.numel()])

    def free(self, keeps: bool = False) -> None:
        """Gives the wholes' memory back, unless it ``keeps`` that for backward; the modules have the parts."""
        there = self.pieces if self.whole_there or self.kept else []
        gathering, self._gathering = self._gathering, None
        if gathering is not None:
            with gathering.awaited() as (_, there):
                pass
        for p in self.pieces:
            p.show(p.part)
        self.kept = keeps and (self.whole_there or self.kept)
        if not self.kept:
            for p in there:
                p.memory.untyped_storage().resize_(0)
        self.whole_there = False

    # --- gradients --------------------------------------------------------------------------------------------------

    def keep_gradients(self) -> None:
        """Adds this backward's to what is reduced later."""
        wanted = self.policy.reduce_dtype
        for p in self.pieces:
            if (grad := p.gradient()) is not None:
                grad = grad if wanted is None else grad.to(wanted)
                p.accumulated = grad if p.accumulated is None else p.accumulated + grad
                p.whole.grad = None

    def begin_reduce(self, how: Reducing) -> Any:
        """Sends the gradients: what is under way; None where there are none."""
        import shim_torch as torch

        with torch.no_grad():
            if any(p.accumulated is not None for p in self.pieces):
                self.keep_gradients()
            found = [(p, p.gradient() if p.accumulated is None else p.accumulated) for p in self.pieces]
            late = [p.memory.new_zeros(p.gathered) if p.kept is not None else None for p in self.pieces]
            found = [(p, other if grad is None else grad) for (p, grad), other in zip(found, late, strict=True)]
            found = [(p, grad) for p, grad in found if grad is not None]
            if not found:
                return None
            dtype = found[0][1].dtype if self.policy.reduce_dtype is None else self.policy.reduce_dtype
            if self.mesh.ndim == 1 and how.hook is None and how.averages(dtype):
                apart = [(p, grad) for p, grad in found if p.large]
                if sharded_copies.possible([grad for _, grad in apart], dtype, self.group):
                    rest = [(p, grad) for p, grad in found if not p.large]
                    packed = self._packed(rest, dtype) if rest else None
                    means = sharded_copies.reduce(apart, [p for p, _ in rest], packed, self.group)
                    if means is not None:
                        for p, _ in apart:
                            p.whole.grad = p.accumulated = None
                        return means
            return Reduction(self, [p for p, _ in found], self._packed(found, dtype), how)

    def _packed(self, found: list[tuple[Piece, Any]], dtype: Any) -> Any:
        """Gradients as they are sent to each process, one behind the other; the parameters have none after it."""
        import shim_torch as torch

        sent = torch.empty((self.n, sum(p.size for p, _ in found)), dtype=dtype, device=self.device)
        where = 0
        for p, grad in found:
            self._put(sent[:, where : where + p.size], p, grad)
            where += p.size
            p.whole.grad = p.accumulated = None
        return sent.view(-1)

    def _put(self, to: Any, p: Piece, grad: Any) -> None:
        if p.dim:
            for row, part in zip(to, grad.chunk(self.n, p.dim), strict=True):
                row.view(part.shape).copy_(part)
        elif p.size * self.n == grad.numel():
            to.copy_(grad.reshape(self.n, p.size))
        else:
            for row, part in zip(to, grad.reshape(-1).split(p.size), strict=False):
                row[: part.numel()].copy_(part)


class Reduction:
    """Gradients on their way: each process gets those of its parts."""

    def __init__(self, flat: Flat, pieces: list[Piece], sent: Any, how: Reducing) -> None:
        import shim_torch as torch

        self.flat, self.pieces, self.how = flat, pieces, how
        self.copies, self.across = (flat.mesh.shape[0] if flat.mesh.ndim > 1 else 1), how.across
        self.average = how.averages(sent.dtype)
        self.out = torch.empty(sent.numel() // flat.n, dtype=sent.dtype, device=sent.device)
        self.work: Any = by_copies.reduce_scatter([self.out], [sent], flat.group) if self.average else None
        if self.work is None:
            self.work = collectives.reduce_scatter_tensor(self.out, sent, self._op, group=flat.group, async_op=True)

    def _each(self, flat: Any) -> Iterator[tuple[Piece, Any]]:
        """What belongs to each parameter's part."""
        where = 0
        for p in self.pieces:
            yield p, flat[where : where + p.part._local_tensor.numel()]
            where += p.size

    def _keep(self) -> None:
        """Adds this backward's to what the copies have in common later."""
        for p, mine in self._each(self.out):
            p.kept = mine.clone() if p.kept is None else p.kept.add_(mine)

    @property
    def _op(self) -> Any:
        return ReduceOp.AVG if self.average else ReduceOp.SUM

    def end(self) -> None:
        """Adds them to the parts' gradients."""
        import shim_torch as torch

        with torch.no_grad():
            self.work.wait()
            if self.copies > 1 and not self.across:
                self._keep()
                return
            if self.copies > 1:
                for p, mine in self._each(self.out):
                    if p.kept is not None:
                        mine.add_(p.kept)
                        p.kept = None
                collectives.all_reduce(self.out, self._op, group=self.flat.mesh.get_group(0))
            if self.how.hook is not None:
                self.how.hook(self.out)
            if not self.average:
                self.out.div_(self.flat.n * self.copies if self.how.factor is None else self.how.factor)
            for p, mine in self._each(self.out.to(self.flat.dtype)):
                p.add_gradient(mine)
