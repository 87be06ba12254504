"""Large parameters of ``fully_shard`` on the GPUs of one host: their parts are copied to where the whole is, and gradients from where they are."""

from __future__ import annotations

import math
from typing import Any

from shim_torch._impl.distributed import by_copies
from shim_torch._impl.distributed.sharded_pieces import Piece


def large(p: Piece, n: int) -> bool:
    """Whether its rows lie in the whole as the parts have them, and are worth a message of their own."""
    return p.dim == 0 and 2 * p.size >= by_copies.least() and p.size * n == math.prod(p.gathered)


def gather(pieces: list[Piece], mine: Any, group: Any) -> Any:
    """Begins to copy large parameters' parts, which ``mine`` begins with, into the wholes, whose memory is the current stream's.

    Gives a work; None where that is not possible.
    """
    if not pieces or not by_copies.possible(group, mine):
        return None
    ranks, at = by_copies.others(group), group.rank()
    sent, received, where = [], [], 0
    for p in pieces:
        p.memory.untyped_storage().resize_(p.memory.numel() * p.memory.element_size())
        part, rows = mine[where : where + p.size], p.memory.data.view(group.size(), p.size)
        rows[at].copy_(part)
        sent += [(part, to) for to in ranks]
        received += [(rows[source], source) for source in reversed(ranks)]
        where += p.size
    work = by_copies.copied(group, sent, received)
    if work is None:
        for p in pieces:
            p.memory.untyped_storage().resize_(0)
    return work


class Means:
    """Means of large gradients on their way to the parts."""

    def __init__(self, pieces: list[Piece], means: list[Any], work: Any) -> None:
        self._pieces, self._means, self._work = pieces, means, work

    def end(self) -> None:
        """Adds them to the parts' gradients."""
        import shim_torch as torch

        with torch.no_grad():
            self._work.wait()
            for p, mean in zip(self._pieces, self._means, strict=True):
                p.add_gradient(mean)


def reduce(found: list[tuple[Piece, Any]], dtype: Any, group: Any) -> Means | None:
    """Begins the means of gradients of large parameters; None where that is not possible."""
    n = group.size()
    if not found or not all(by_copies.possible(group, g) and g.is_contiguous() and g.dtype == dtype for _, g in found):
        return None
    means = [g.new_empty(g.numel() // n) for _, g in found]
    work = by_copies.reduce_scatter(means, [g.view(-1) for _, g in found], group)
    return None if work is None else Means([p for p, _ in found], means, work)


class Together:
    """Several reductions as one."""

    def __init__(self, parts: list[Any]) -> None:
        self._parts = parts

    def end(self) -> None:
        """Ends each."""
        for part in self._parts:
            part.end()
