"""``functorch._src.vmap``."""

from shim_torch._impl.transforms.batching.vmap import vmap
from shim_torch.utils._pytree import _broadcast_to_and_flatten, tree_flatten, tree_unflatten

__all__ = ["_broadcast_to_and_flatten", "tree_flatten", "tree_unflatten", "vmap"]
