"""A parameter of which each process holds a part. It may be a DTensor of another mesh already: then its local part is cut."""

from __future__ import annotations

import dataclasses
from typing import Any

from shim_torch._impl.distributed import redistribute
from shim_torch._impl.distributed.parts import contiguous_strides
from shim_torch.distributed.tensor._dtensor_spec import DTensorSpec, TensorMeta
from shim_torch.distributed.tensor.placement_types import Replicate, Shard, _StridedShard


@dataclasses.dataclass
class Piece:
    """A parameter: ``part`` is this process's, ``whole`` has memory while it is gathered."""

    owners: list[tuple[Any, str]]  # modules that have it, and as what
    part: Any
    dim: int  # that is split
    size: int  # elements of a part, with what fills up the last one
    local: tuple[int, ...]  # this part's shape
    gathered: tuple[int, ...]  # the shape of what is gathered
    spread: DTensorSpec | None  # of a parameter that was a DTensor: the whole is one too
    large: bool = False  # copied to where it belongs, between GPUs of one host
    whole: Any = None
    accumulated: Any = None  # gradients that were not reduced yet
    kept: Any = None  # gradients of the part that the copies have not in common yet
    _rows: tuple[Any, list[Any]] | None = None

    def make_whole(self, dtype: Any, device: Any) -> None:
        """The whole parameter, without memory."""
        import shim_torch as torch
        from shim_torch.distributed.tensor import DTensor

        made = torch.empty(self.gathered, dtype=dtype, device=device)
        made.untyped_storage().resize_(0)
        if self.spread is not None:
            meta = self.spread._known()
            spec = DTensorSpec(self.spread.mesh, self.spread.placements, TensorMeta(meta.shape, meta.stride, dtype))
            made = DTensor(made, spec)
        self.whole = torch.nn.Parameter(made, self.part.requires_grad)

    @property
    def memory(self) -> Any:
        """What is gathered: the whole, or this process's part of a DTensor."""
        return self.whole if self.spread is None else self.whole._local_tensor

    def rows(self, n: int) -> list[Any]:
        """Where each of ``n`` processes' part lies in ``memory``, which may end and begin again."""
        memory = self.memory
        if self._rows is None or self._rows[0] is not memory:
            self._rows = memory, list(memory.data.view(n, self.size))
        return self._rows[1]

    def gradient(self) -> Any:
        """Of the whole, placed as it is; None where there is none."""
        grad = self.whole.grad
        if grad is None or self.spread is None:
            return grad
        return redistribute.move(
            grad._local_tensor, grad.shape, grad._spec.mesh, grad._spec.placements, self.spread.placements
        )

    def add_gradient(self, flat: Any) -> None:
        """Of the part, in the reductions' dtype."""
        from shim_torch.distributed.tensor import DTensor

        new = flat.to(self.part._local_tensor.dtype).view(self.local)
        if self.part.grad is None:
            self.part.grad = DTensor(new, self.part._spec)
        else:
            self.part.grad._local_tensor.add_(new)

    def show(self, parameter: Any) -> None:
        """Makes the part, or the whole, the modules' parameter."""
        for module, name in self.owners:
            module._parameters[name] = parameter


def _both(mesh: Any, inner: Any) -> Any:
    """The mesh of the copies and parts, with the dimensions of a parameter's own mesh behind. Errors: ValueError for parts of two meshes."""
    from shim_torch.distributed.device_mesh import DeviceMesh

    root = mesh._get_root_mesh()
    if root != inner._get_root_mesh() or list(root._ranks) != list(range(len(root._ranks))):
        raise ValueError(
            f"FSDP requires the DP and model parallel TP/EP mesh to have the same parent mesh but got: \nDP's global mesh: {root}\n"
            f"TP/EP's global mesh: {inner._get_root_mesh()}"
        )
    # Ranks of a grid in order: steps in different dimensions add up.
    outer = mesh.mesh.reshape(*mesh.shape, *[1] * inner.ndim)
    names = (*(mesh.mesh_dim_names or ()), *(inner.mesh_dim_names or ()))
    return DeviceMesh(
        mesh.device_type, outer + inner.mesh - mesh.get_rank(), mesh_dim_names=names or None,
        _groups=[*mesh.get_all_groups(), *inner.get_all_groups()], _root=root,
    )  # fmt: skip


def _spec_of_part(p: Any, dim: int, mesh: Any) -> DTensorSpec:
    copies = (Replicate(),) * (mesh.ndim - 1)
    meta = TensorMeta(p.shape, contiguous_strides(p.shape), p.dtype)
    spec = getattr(p, "_spec", None)
    if spec is None:
        return DTensorSpec(mesh, (*copies, Shard(dim)), meta)
    groups = 1
    for i, placement in enumerate(spec.placements):
        if isinstance(placement, _StridedShard) or placement.is_partial():
            raise NotImplementedError(
                f"fully_shard: a parameter that is placed as {placement} is not supported by shim-torch"
            )
        groups *= spec.mesh.shape[i] if placement == Shard(dim) else 1
    cut = Shard(dim) if groups == 1 else _StridedShard(dim, split_factor=groups)
    return DTensorSpec(_both(mesh, spec.mesh), (*copies, cut, *spec.placements), meta)


def piece(p: Any, owners: list[tuple[Any, str]], dim: int, mesh: Any, dtype: Any) -> Piece:
    """A parameter's, split along a dim over the last dimension of the mesh. ``dtype``: of the whole.

    Errors: NotImplementedError for parts of different sizes along another dim than the first.
    """
    import shim_torch as torch
    from shim_torch.distributed.tensor import DTensor

    spread = getattr(p, "_spec", None)
    held = p._local_tensor.detach() if spread is not None else p.detach()
    n, at = mesh.shape[-1], mesh.get_coordinate()[-1]
    rows, first = redistribute.chunk(held.shape[dim], n, at)
    if dim and held.shape[dim] % n:
        raise NotImplementedError(
            f"FSDP does not support uneven sharding on dim {dim}: {tuple(p.shape)} (world size: {n})"
        )
    local = held.narrow(dim, first, rows).contiguous()
    part = torch.nn.Parameter(DTensor(local, _spec_of_part(p, dim, mesh)), p.requires_grad)
    size = -(-held.shape[dim] // n) * (held.numel() // max(1, held.shape[dim]))
    made = Piece(owners, part, dim, size, tuple(local.shape), tuple(held.shape), spread)
    made.make_whole(dtype, p.device)
    return made
