"""``torch.distributed._tensor._utils``."""

from shim_torch.distributed.tensor._utils import compute_local_shape_and_global_offset

__all__ = ["compute_local_shape_and_global_offset"]
