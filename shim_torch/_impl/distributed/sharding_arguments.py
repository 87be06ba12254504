"""What ``fully_shard`` asks of its arguments."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.distributed.sharded_modules import states


def mesh_of(mesh: Any) -> Any:
    """A mesh, or that of all processes. Errors: ValueError, AssertionError for those that cannot be."""
    import shim_torch as torch
    from shim_torch.distributed import get_world_size, init_process_group, is_initialized
    from shim_torch.distributed.device_mesh import init_device_mesh

    if mesh is None:
        if not is_initialized():
            init_process_group()
        device = "cuda" if torch.cuda.is_available() else "cpu"
        return init_device_mesh(device, (get_world_size(),))
    if mesh.ndim not in (1, 2):
        raise ValueError(f"fully_shard expects a 1D or 2D DeviceMesh but got {mesh}")
    if mesh.ndim == 2 and mesh.mesh_dim_names is None:
        raise AssertionError("Please init the 2D mesh for HSDP with mesh_dim_names specified")
    return mesh


def owned_by(modules: list[Any], ignored: Any) -> list[tuple[Any, list[tuple[Any, str]]]]:
    """The parameters that no sharded module within has, with who has them, in order."""
    found: dict[int, tuple[Any, list[tuple[Any, str]]]] = {}
    seen: set[int] = set()

    def walk(module: Any) -> None:
        if id(module) in seen:
            return
        seen.add(id(module))
        for name, p in module._parameters.items():
            if p is not None and p not in ignored:
                found.setdefault(id(p), (p, []))[1].append((module, name))
        for child in module._modules.values():
            if child is not None and child not in states:
                walk(child)

    for module in modules:
        walk(module)
    return list(found.values())


def check_parameter(p: Any, name: str) -> None:
    """ValueError for a scalar, NotImplementedError for one that is not contiguous."""
    if p.dim() == 0:
        raise ValueError(
            f"fully_shard doesn't support scalar parameters. Change {name} to a 1D tensor with numel equal to 1."
        )
    if not p.is_contiguous():
        raise NotImplementedError(f"FSDP does not support non-contiguous parameters yet: {tuple(p.shape)} {p.stride()}")


def check_offloading(policy: Any, mesh: Any) -> None:
    """On a mesh of CPUs the parts are there anyway."""
    from shim_torch import cuda

    if mesh.device_type != "cpu":
        raise NotImplementedError("fully_shard: CPUOffloadPolicy on a device's mesh is not supported by shim-torch")
    if policy.pin_memory and not cuda.is_available():
        raise RuntimeError("Cannot access accelerator device when none is available.")


def split_dim(placement: Any) -> int:
    """The dim of a ``Shard``, the first one of None. Errors: NotImplementedError for other placements."""
    from shim_torch.distributed.tensor.placement_types import Shard

    if placement is None:
        return 0
    if type(placement) is not Shard:
        raise NotImplementedError(f"fully_shard: shard_placement_fn gives a Shard or None here, got {placement}")
    return int(placement.dim)
