"""``torch.distributed.tensor._dtensor_spec``: how a tensor is spread, as a record. No tensor is spread here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from shim_torch.distributed.tensor.placement_types import Placement, _Split

__all__ = ["DTensorSpec", "TensorMeta"]


class TensorMeta(NamedTuple):
    """Shape, strides and dtype of the whole tensor."""

    shape: Any
    stride: tuple[int, ...]
    dtype: Any


@dataclass
class DTensorSpec:
    """A mesh, a placement for each of its dimensions, and what the whole tensor is like."""

    mesh: Any
    placements: tuple[Placement, ...]
    tensor_meta: TensorMeta | None = None

    def __post_init__(self) -> None:
        self.placements = tuple(self.placements)

    def __hash__(self) -> int:
        return hash((self.mesh, self.placements, self.tensor_meta and tuple(map(repr, self.tensor_meta))))

    def _known(self) -> TensorMeta:
        if self.tensor_meta is None:
            raise ValueError("tensor_meta is not set")
        return self.tensor_meta

    @property
    def shape(self) -> Any:
        """The global shape."""
        return self._known().shape

    @property
    def stride(self) -> tuple[int, ...]:
        """The global strides, in elements."""
        return self._known().stride

    @property
    def ndim(self) -> int:
        """The number of dims."""
        return len(self._known().shape)

    @property
    def device_mesh(self) -> Any:
        """The mesh."""
        return self.mesh

    @property
    def dim_map(self) -> list[int]:
        """For each dimension of the tensor the mesh dimension that splits it, -1 for none."""
        found = [-1] * self.ndim
        for i, each in enumerate(self.placements):
            if isinstance(each, _Split):
                found[each.dim] = i
        return found

    def is_replicated(self) -> bool:
        """Whether every device holds the whole tensor."""
        return all(each.is_replicate() for each in self.placements)
