"""``torch.utils._cxx_pytree``: the same as ``_pytree``; PyTorch's is built on the package optree."""

from shim_torch.utils._pytree import *  # noqa: F403
from shim_torch.utils._pytree import (  # noqa: F401
    TreeSpec as PyTreeSpec,
)
from shim_torch.utils._pytree import (  # noqa: F401
    tree_all,
    tree_any,
    tree_iter,
    tree_leaves,
    tree_map_,
    tree_map_only,
    tree_structure,
    treespec_pprint,
)
