"""How ``linear`` is sharded over a device mesh: from the operands' placements to the result's. Computes no tensors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

REPLICATED = -1

Mapping = tuple[int, ...]  # for each tensor dim the mesh dim that it is split over, or REPLICATED


@dataclass(frozen=True)
class LinearSharding:
    """The placements that the operands need, and the result's.

    ``partial`` names the mesh dimensions over which each device has only a part of the sum: an all-reduce follows, and a
    bias must then be added after it (``bias_after_reduce``), not by every device.
    """

    input: Mapping
    weight: Mapping
    bias: Mapping | None
    output: Mapping
    partial: frozenset[int] = frozenset()

    def __post_init__(self) -> None:
        for name in ("input", "weight", "bias", "output"):
            _check_mapping("LinearSharding", name, getattr(self, name) or (), None)

    @property
    def bias_after_reduce(self) -> bool:
        """Whether the bias has to be added once the partial results are summed."""
        return self.bias is not None and bool(self.partial)


def _check_mapping(function: str, name: str, mapping: Sequence[int], mesh_dims: int | None) -> None:
    for d in mapping:
        if type(d) is not int or d < REPLICATED or (mesh_dims is not None and d >= mesh_dims):
            most = "" if mesh_dims is None else f" to {mesh_dims - 1}"
            raise ValueError(
                f"{function}: {name} names {d!r}, which is no mesh dimension (from 0{most}; -1: not split)"
            )


def linear_sharding(
    input: Sequence[int], weight: Sequence[int], bias: Sequence[int] | None = None, mesh_dims: int | None = None
) -> LinearSharding:
    """The rule ``mk,nk->mn``: rows follow the input, features the weight (column parallel), and a split K (row parallel) is partial.

    Shapes:  input one entry a dimension of (*, K); weight two entries (N, K); bias one entry (N,)
    Choices: where input and weight split K differently the input's split is kept; a mesh dimension that would serve twice
             serves the rows before K, and K before the features
    Errors:  ValueError for a weight that is no matrix, an input without dimensions, a bias with more than one, and for what
             is no mesh dimension: an int from 0 (below ``mesh_dims``, where that is given), or -1
    Source:  Paddle's linear_v2 and torch's DTensor rules for addmm, except that a split K need not be gathered: see ``partial``
    """
    if len(input) < 1:
        raise ValueError("linear_sharding: input needs at least one dimension")
    if len(weight) != 2:
        raise ValueError(f"linear_sharding: weight must have two dimensions, got {len(weight)}")
    if bias is not None and len(bias) != 1:
        raise ValueError(f"linear_sharding: bias must have one dimension, got {len(bias)}")
    for name, mapping in (("input", input), ("weight", weight), ("bias", bias or ())):
        _check_mapping("linear_sharding", name, mapping, mesh_dims)
    used: set[int] = set()

    def claim(*wishes: int) -> int:
        for wish in wishes:
            if wish != REPLICATED and wish not in used:
                used.add(wish)
                return wish
        return REPLICATED

    rows = tuple(claim(d) for d in input[:-1])
    k = claim(input[-1], weight[1])
    n = claim(weight[0])
    return LinearSharding(
        input=(*rows, k),
        weight=(n, k),
        bias=None if bias is None else (n,),
        output=(*rows, n),
        partial=frozenset() if k == REPLICATED else frozenset({k}),
    )


def linear_grad_sharding(
    sharding: LinearSharding, mesh_dims: int | None = None
) -> dict[str, tuple[Mapping, frozenset[int]]]:
    """For the gradients of ``input``, ``weight`` and ``bias``: their mappings, and the mesh dimensions to be reduced over.

    Errors:  ValueError where the sharding names a dimension that a mesh of ``mesh_dims`` does not have
    """
    for name in ("input", "weight", "bias", "output"):
        _check_mapping("linear_grad_sharding", name, getattr(sharding, name) or (), mesh_dims)
    *rows, n = sharding.output
    split_rows = frozenset(d for d in rows if d != REPLICATED)
    found = {
        "input": (sharding.input, frozenset() if n == REPLICATED else frozenset({n})),
        "weight": (sharding.weight, split_rows),
    }
    if sharding.bias is not None:
        found["bias"] = (sharding.bias, split_rows)
    return found
