"""``torch.distributed.tensor``: the types, so that ``isinstance(x, DTensor)`` answers. Distributed tensors cannot be made."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core


def _refuse(what: str) -> NotImplementedError:
    return NotImplementedError(
        f"torch.distributed.tensor.{what} is not supported by shim-torch: tensors are on one device"
    )


class DTensor(_core.Tensor):
    """A tensor spread over a mesh of devices; none can exist here."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        raise _refuse("DTensor")

    @staticmethod
    def from_local(local_tensor: Any, *args: Any, **kwargs: Any) -> Any:
        """Raises NotImplementedError: there are no distributed tensors."""
        raise _refuse("DTensor.from_local")


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


class Shard(Placement):
    """Split along a dimension."""

    def __init__(self, dim: int) -> None:
        self.dim = dim

    @staticmethod
    def local_shard_size_and_offset(curr_local_size: int, num_chunks: int, rank: int) -> tuple[int, int]:
        """How many of ``curr_local_size`` places part ``rank`` of ``num_chunks`` has, as ``torch.chunk`` cuts, and the first."""
        size = -(-curr_local_size // num_chunks)
        start = min(curr_local_size, size * rank)
        return min(curr_local_size, start + size) - start, start

    def _local_shard_size_and_offset(self, curr_local_size: int, num_chunks: int, rank: int) -> tuple[int, int]:
        return Shard.local_shard_size_and_offset(curr_local_size, num_chunks, rank)


class Replicate(Placement):
    """A whole copy on every device."""


class Partial(Placement):
    """Partial results, to be reduced."""

    def __init__(self, reduce_op: str = "sum") -> None:
        self.reduce_op = reduce_op


def distribute_tensor(tensor: Any, *args: Any, **kwargs: Any) -> Any:
    """Raises NotImplementedError: there are no distributed tensors."""
    raise _refuse("distribute_tensor")


def distribute_module(module: Any, *args: Any, **kwargs: Any) -> Any:
    """Raises NotImplementedError: there are no distributed tensors."""
    raise _refuse("distribute_module")


def __getattr__(name: str) -> Any:
    if name in ("DeviceMesh", "init_device_mesh"):
        from shim_torch.distributed import device_mesh

        return getattr(device_mesh, name)
    from shim_torch._impl.surface.missing import missing

    return missing("torch.distributed.tensor", name)
