"""Large parameters of ``fully_shard`` on the GPUs of one host: their parts are copied to where the whole is, and gradients from where they are."""

from __future__ import annotations

import math
from typing import Any

from shim_torch._impl.distributed import by_copies
from shim_torch._impl.distributed.sharded_pieces import Piece


def large(p: Piece, n: int) -> bool:
    """Whether its rows lie in the whole as the parts have them, and are worth a message of their own."""
    return p.dim == 0 and 2 * p.size >= by_copies.least() and p.size * n == math.prod(p.gathered)


def gather(pieces: list[Piece], mine: Any, group: Any) -> tuple[Any, Any] | None:
    """Begins to copy large parameters' parts, which ``mine`` begins with, into the wholes, whose memory is the current stream's.

    Gives a work, and what every process sent of the rest of ``mine`` (None where there is none); None where that is not possible.
    """
    if not pieces or not by_copies.possible(group, mine):
        return None
    ranks = [group.rank(), *by_copies.others(group)]  # itself too
    sources = [ranks[0], *ranks[:0:-1]]
    sent, received, where, out = [], [], 0, None
    rest = mine[sum(p.size for p in pieces) :]
    if rest.numel():
        out = rest.new_empty((group.size(), rest.numel()))
        sent += [(rest, to) for to in ranks]
        received += [(out[source], source) for source in sources]
    for p in pieces:
        p.memory.untyped_storage().resize_(p.memory.numel() * p.memory.element_size())
        part, rows = mine[where : where + p.size], p.rows(group.size())
        sent += [(part, to) for to in ranks]
        received += [(rows[source], source) for source in sources]
        where += p.size
    work = by_copies.copied(group, sent, received)
    if work is None:
        for p in pieces:
            p.memory.untyped_storage().resize_(0)
        return None
    return work, out


class Means:
    """Means of gradients on their way to the parts."""

    def __init__(self, pieces: list[Piece], means: list[Any], work: Any) -> None:
        self._pieces, self._means, self._work = pieces, means, work

    def end(self) -> None:
        """Adds them to the parts' gradients."""
        import shim_torch as torch

        with torch.no_grad():
            self._work.wait()
            for p, mean in zip(self._pieces, self._means, strict=True):
                p.add_gradient(mean)


def possible(grads: list[Any], dtype: Any, group: Any) -> bool:
    """Whether the means of these gradients of large parameters may go by copies."""
    return bool(grads) and all(by_copies.possible(group, g) and g.is_contiguous() and g.dtype == dtype for g in grads)


def reduce(large: list[tuple[Piece, Any]], small: list[Piece], packed: Any, group: Any) -> Means | None:
    """Begins the means of gradients of large parameters, and of small ones that are packed for the ranks; None where it is not possible."""
    n = group.size()
    sent = [g.view(-1) for _, g in large] + ([packed] if small else [])
    outs = [g.new_empty(g.numel() // n) for g in sent]
    work = by_copies.reduce_scatter(outs, sent, group)
    if work is None:
        return None
    means, where = outs[: len(large)], 0
    for p in small:
        means.append(outs[-1][where : where + p.part._local_tensor.numel()])
        where += p.size
    return Means([p for p, _ in large] + small, means, work)
