"""``torch.distributed.tensor.placement_types``: how a dimension of a mesh holds a tensor."""

from __future__ import annotations

__all__ = ["Partial", "Placement", "Replicate", "Shard"]


class Placement:
    """How a dimension of the mesh holds a tensor."""

    def is_shard(self, dim: int | None = None) -> bool:
        """Whether it is a ``Shard``, of dim ``dim`` if that is given."""
        return isinstance(self, Shard) and (dim is None or self.dim == dim)

    def is_replicate(self) -> bool:
        """Whether it is ``Replicate``."""
        return isinstance(self, Replicate)

    def is_partial(self, reduce_op: str | None = None) -> bool:
        """Whether it is ``Partial``, of ``reduce_op`` if that is given."""
        return isinstance(self, Partial) and (reduce_op is None or self.reduce_op == reduce_op)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    def __hash__(self) -> int:
        return hash((type(self), tuple(vars(self).items())))

    def __repr__(self) -> str:
        inner = ", ".join(f"{k}={v}" for k, v in vars(self).items())
        return f"{type(self).__name__}({inner})"


class _Split(Placement):
    """Each device has some places of a dimension."""

    def __init__(self, dim: int) -> None:
        self.dim = dim


class Shard(_Split):
    """Split along a dimension, as ``torch.chunk`` cuts."""

    @staticmethod
    def local_shard_size_and_offset(curr_local_size: int, num_chunks: int, rank: int) -> tuple[int, int]:
        """How many of ``curr_local_size`` places part ``rank`` of ``num_chunks`` has, as ``torch.chunk`` cuts, and the first."""
        size = -(-curr_local_size // num_chunks)
        start = min(curr_local_size, size * rank)
        return min(curr_local_size, start + size) - start, start

    def _local_shard_size_and_offset(self, curr_local_size: int, num_chunks: int, rank: int) -> tuple[int, int]:
        return Shard.local_shard_size_and_offset(curr_local_size, num_chunks, rank)

    def __str__(self) -> str:
        return f"S({self.dim})"


class _StridedShard(_Split):
    """Split along a dimension that another mesh dimension splits as well."""

    def __init__(self, dim: int, *, split_factor: int) -> None:
        super().__init__(dim)
        self.split_factor = split_factor

    def __repr__(self) -> str:
        return f"_StridedShard(dim={self.dim}, sf={self.split_factor})"

    def __str__(self) -> str:
        return f"_S({self.dim}, {self.split_factor})"


class Replicate(Placement):
    """A whole copy on every device."""

    def __str__(self) -> str:
        return "R"


class Partial(Placement):
    """Parts that together are the tensor: their sum, or another reduction."""

    def __init__(self, reduce_op: str = "sum") -> None:
        self.reduce_op = reduce_op

    def __repr__(self) -> str:
        return f"Partial({self.reduce_op})"

    def __str__(self) -> str:
        return f"P({self.reduce_op})"
