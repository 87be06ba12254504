"""``torch.distributed.device_mesh``: processes as a grid, with a group for each row of each dimension."""

from __future__ import annotations

import itertools
import math
from typing import Any

from shim_torch._impl.distributed.groups import GroupMember
from shim_torch._impl.native import _core

__all__ = ["DeviceMesh", "init_device_mesh"]


class DeviceMesh:
    """A grid of ranks. ``mesh``: a tensor or nested lists of them; every process of the default group makes the same meshes.

    Errors: RuntimeError for a grid of more ranks than there are, ValueError for a rank that it has twice.
    """

    def __init__(
        self, device_type: str, mesh: Any = None, *, mesh_dim_names: tuple[str, ...] | None = None,
        backend_override: Any = None, _init_backend: bool = True, _groups: Any = None, _root: DeviceMesh | None = None,
    ) -> None:  # fmt: skip
        import shim_torch as torch

        if backend_override is not None:
            raise NotImplementedError("torch.distributed.DeviceMesh: backend_override is not supported by shim-torch")
        self.device_type = device_type
        grid = mesh if isinstance(mesh, _core.Tensor) else torch.tensor(mesh)
        self.mesh = grid.detach().to("cpu", torch.int32)
        self.mesh_dim_names = None if mesh_dim_names is None else tuple(mesh_dim_names)
        self._ranks = tuple(int(rank) for rank in self.mesh.reshape(-1).tolist())
        self._shape = tuple(self.mesh.shape)
        self._root = _root
        self._flattened: dict[str, DeviceMesh] = {}
        self._rank: int = _start(device_type, len(self._ranks)) if _root is None else _root._rank
        if len(set(self._ranks)) != len(self._ranks):
            raise ValueError(f"torch.distributed.DeviceMesh: a rank stands in the mesh twice: {self._ranks}")
        place = self._ranks.index(self._rank) if self._rank in self._ranks else None
        self._coordinate = None if place is None else _coordinate(place, self._shape)
        self._groups: list[Any] = self._made_groups() if _groups is None else list(_groups)

    def _made_groups(self) -> list[Any]:
        """This process's group in each dimension; all processes make all groups, in the same order."""
        from shim_torch._impl.distributed.checks import found
        from shim_torch._impl.distributed.subgroups import new_group

        if len(self._shape) == 1 and self._ranks == tuple(range(found().size())):
            return [GroupMember.WORLD]
        groups = []
        for dim in range(len(self._shape)):
            mine: Any = GroupMember.NON_GROUP_MEMBER
            name = self.mesh_dim_names[dim] if self.mesh_dim_names else f"dim_{dim}"
            for row in self.mesh.movedim(dim, -1).reshape(-1, self._shape[dim]).tolist():
                group = new_group(row, group_desc=f"mesh_{name}")
                mine = group if group != GroupMember.NON_GROUP_MEMBER else mine
            groups.append(mine)
        return groups

    @property
    def shape(self) -> tuple[int, ...]:
        """How many ranks each dimension has."""
        return self._shape

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self._shape)

    def size(self, mesh_dim: int | None = None) -> int:
        """The number of ranks, of a dimension or of all."""
        return math.prod(self._shape) if mesh_dim is None else self._shape[mesh_dim]

    def _dim(self, mesh_dim: int | str | None, more: str = "") -> int:
        if mesh_dim is None:
            if self.ndim == 1:
                return 0
            texts = [
                f"Found the DeviceMesh have {self.ndim} dimensions",
                "Optional kwarg `mesh_dim` needs to be specified when device_mesh.ndim > 1.",
            ]
            raise RuntimeError(*texts, *([more] if more else []))
        if isinstance(mesh_dim, str):
            return self._names((mesh_dim,))[0]
        return mesh_dim

    def _names(self, names: tuple[str, ...]) -> list[int]:
        known = list(self.mesh_dim_names or ())
        if not known or any(name not in known for name in names):
            known += list((self._root or self)._flattened)
            raise KeyError(f"Invalid mesh_dim_names {names} specified. Valid mesh_dim_names are {known}.")
        dims = [known.index(name) for name in names]
        if dims != sorted(dims):
            raise KeyError(f"Invalid mesh_dim_names {names} specified. Mesh dim indices should be in ascending order.")
        return dims

    def get_group(self, mesh_dim: int | str | None = None) -> Any:
        """The process group of this process's row in a dimension."""
        more = "If you want to get the list of all the ProcessGroups in the DeviceMesh,please use `get_all_groups()` instead."
        return self._group(self._dim(mesh_dim, more))

    def _group(self, dim: int) -> Any:
        """One of an unpickled mesh is found by its name, once somebody asks."""
        group = self._groups[dim]
        if isinstance(group, str):
            from shim_torch.distributed.distributed_c10d import _resolve_process_group

            group = self._groups[dim] = _resolve_process_group(group)
        return group

    def get_all_groups(self) -> list[Any]:
        """Those of all dimensions."""
        return [self._group(dim) for dim in range(self.ndim)]

    def __getstate__(self) -> dict[str, Any]:
        """For copies and pickles: the groups by their names."""
        return self.__dict__ | {"_groups": [getattr(group, "group_name", group) for group in self._groups]}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Needs no process group. Errors: NotImplementedError for a mesh that PyTorch pickled."""
        if "_groups" not in state:
            raise NotImplementedError("torch.distributed.DeviceMesh: shim-torch reads no mesh that PyTorch pickled")
        self.__dict__.update(state)

    def get_rank(self) -> int:
        """This process's rank in the default group."""
        return self._rank

    def get_local_rank(self, mesh_dim: int | str | None = None) -> int:
        """This process's place in a dimension. Errors: RuntimeError where it is not in the mesh."""
        dim = self._dim(mesh_dim)
        if self._coordinate is None:
            raise RuntimeError(f"torch.distributed.DeviceMesh.get_local_rank: rank {self._rank} is not in {self!r}")
        return self._coordinate[dim]

    def get_coordinate(self) -> tuple[int, ...] | None:
        """This process's place in each dimension, None where it is not in the mesh."""
        return self._coordinate

    def __getitem__(self, names: str | tuple[str, ...]) -> DeviceMesh:
        """The part of the mesh that has these dimensions and this process. Errors: KeyError for names that it has not."""
        names = (names,) if isinstance(names, str) else tuple(names)
        root = self._root or self
        if len(names) == 1 and names[0] in root._flattened:
            return root._flattened[names[0]]
        dims = self._names(names)
        if dims == list(range(self.ndim)):
            return self
        at = self._coordinate or (0,) * self.ndim
        grid = self.mesh[tuple(slice(None) if d in dims else at[d] for d in range(self.ndim))]
        return DeviceMesh(
            self.device_type, grid, mesh_dim_names=names, _groups=[self._group(d) for d in dims], _root=root
        )

    def _get_root_mesh(self) -> DeviceMesh:
        return self._root or self

    def _flatten(self, mesh_dim_name: str | None = None, backend_override: Any = None) -> DeviceMesh:
        """All dimensions as one, by a name: the groups of all such parts of the whole mesh are made."""
        if backend_override is not None:
            raise NotImplementedError(
                "torch.distributed.DeviceMesh._flatten: backend_override is not supported by shim-torch"
            )
        from shim_torch._impl.distributed.subgroups import new_group

        root, names = self._root or self, self.mesh_dim_names or ()
        name = mesh_dim_name or "_".join(names)
        if name in root._flattened:
            return root._flattened[name]
        if self.ndim > 1 and name in (root.mesh_dim_names or ()):
            raise ValueError(
                f"{name} already exists for submesh of the {root!r}. ",
                f"The mesh_dim_names of submesh and flattened mesh are {root.mesh_dim_names}. Please specify another valid mesh_dim_name.",
            )
        if self.ndim == 1:
            return self
        dims = list(range(root.ndim)) if root is self else root._names(names)
        rest = [d for d in range(root.ndim) if d not in dims]
        mine: Any = GroupMember.NON_GROUP_MEMBER
        for row in root.mesh.permute(*rest, *dims).reshape(-1, self.size()).tolist():
            group = new_group(row, group_desc=f"mesh_{name}")
            mine = group if group != GroupMember.NON_GROUP_MEMBER else mine
        made = DeviceMesh(self.device_type, self.mesh.reshape(-1), mesh_dim_names=(name,), _groups=[mine], _root=root)
        root._flattened[name] = made
        return made

    @staticmethod
    def from_group(
        group: Any, device_type: str, mesh: Any = None, *, mesh_dim_names: tuple[str, ...] | None = None
    ) -> DeviceMesh:
        """A mesh of groups that exist: one, or one for each dimension of ``mesh``."""
        from shim_torch._impl.distributed.ranks import get_process_group_ranks

        groups = list(group) if isinstance(group, (list, tuple)) else [group]
        if mesh is None:
            if len(groups) != 1:
                raise ValueError("Must pass mesh if passing multiple ProcessGroups")
            mesh = get_process_group_ranks(groups[0])
        elif isinstance(group, (list, tuple)) and mesh_dim_names is None:
            raise ValueError("Must pass mesh_dim_names if passing multiple ProcessGroups")
        return DeviceMesh(device_type, mesh, mesh_dim_names=mesh_dim_names, _groups=groups)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DeviceMesh) and self._key() == other._key()

    def _key(self) -> Any:
        return self.device_type, self._shape, self._ranks, self.mesh_dim_names

    def __hash__(self) -> int:
        return hash(self._key())

    def __enter__(self) -> DeviceMesh:
        _entered.append(self)
        return self

    def __exit__(self, *_: Any) -> None:
        _entered.pop()

    def __repr__(self) -> str:
        names = self.mesh_dim_names or ()
        sizes = [f"{n}={s}" for n, s in zip(names, self._shape, strict=True)] if names else list(map(str, self._shape))
        shape = ", ".join(sizes) + ("," if len(sizes) == 1 and not names else "")
        stride = tuple(() if n == 1 else step for n, step in zip(self._shape, self.mesh.stride(), strict=True))
        return f"DeviceMesh(({shape}), '{self.device_type}', stride={stride})"


_entered: list[DeviceMesh] = []  # by ``with mesh:``, the last one innermost


def entered_mesh(mesh: DeviceMesh | None) -> DeviceMesh:
    """A mesh, or that of the ``with`` around. Errors: RuntimeError where there is none."""
    if mesh is not None:
        return mesh
    if _entered:
        return _entered[-1]
    raise RuntimeError("No device mesh is currently active!")


def _coordinate(place: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    return next(itertools.islice(itertools.product(*map(range, shape)), place, None))


def _start(device_type: str, size: int) -> int:
    """This process's rank; the default group is made where there is none, as torchrun's environment says."""
    from shim_torch import cuda
    from shim_torch.distributed import distributed_c10d as c10d

    if not c10d.is_initialized():
        c10d.init_process_group()
    if size > c10d.get_world_size():
        raise RuntimeError(
            f"Mesh should not be bigger than default world size {c10d.get_world_size()}, but found {size} ranks!"
        )
    if device_type == "cuda" and cuda.device_count() > 1 and cuda.current_device() == 0:
        cuda.set_device(c10d.get_node_local_rank(c10d.get_rank() % cuda.device_count()))
    return c10d.get_rank()


def _check_names(names: tuple[str, ...], dimensions: int) -> None:
    if len({*names}) < len(names):
        raise RuntimeError(f"Each mesh_dim_name must be unique. Found repeated mesh_dim_name in mesh_dim_names {names}")
    if dimensions != len(names):
        raise RuntimeError(
            "mesh_shape and mesh_dim_names should have same length! Found len(mesh_dim_names): "
            f"{len(names)} and len(mesh_shape):{dimensions}."
        )


def init_device_mesh(
    device_type: str, mesh_shape: tuple[int, ...], *, mesh_dim_names: tuple[str, ...] | None = None,
    backend_override: Any = None,
) -> DeviceMesh:  # fmt: skip
    """A mesh of the first ranks, in order. Errors: RuntimeError for names that are not one for each dimension."""
    import shim_torch as torch

    if mesh_dim_names is not None:
        _check_names(mesh_dim_names, len(mesh_shape))
    if not device_type.isalpha():
        raise RuntimeError(
            f"Device type with index is not supported but got {device_type}. ",
            "If you maintained a 'torch.device' object, it's recommended to pass in 'device.type'.",
        )
    grid = torch.arange(math.prod(mesh_shape), dtype=torch.int32).reshape(tuple(mesh_shape))
    return DeviceMesh(device_type, grid, mesh_dim_names=mesh_dim_names, backend_override=backend_override)
