"""``torch._lobpcg``: eigenpairs of large symmetric matrices."""

from shim_torch._lowrank import lobpcg

__all__ = ["lobpcg"]
