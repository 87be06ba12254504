"""Sparse tensors in pickles and files of ``torch.save``: the layout and the parts, as PyTorch writes them."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.sparse import coo


def arguments(t: Any) -> tuple[Any, tuple[Any, ...]]:
    """What ``torch._utils._rebuild_sparse_tensor`` is called with."""
    p = coo.parts(t.detach())
    if p.layout == _core.sparse_coo:
        return p.layout, (p.indices, p.values, t.size(), p.coalesced)
    return p.layout, (p.indices, p.plain, p.values, t.size())


def rebuild(layout: Any, data: Any) -> Any:
    """The tensor of such arguments. The parts are checked: files are anybody's."""
    from shim_torch._impl.sparse.construct import sparse_compressed_tensor, sparse_coo_tensor

    if layout == _core.sparse_coo:
        indices, values, size, *coalesced = data
        return sparse_coo_tensor(
            indices, values, size, check_invariants=True, is_coalesced=coalesced[0] if coalesced else None
        )
    if layout in (_core.sparse_csr, _core.sparse_csc, _core.sparse_bsr, _core.sparse_bsc):
        compressed, plain, values, size = data
        return sparse_compressed_tensor(compressed, plain, values, size, layout=layout, check_invariants=True)
    raise NotImplementedError(f"rebuilding sparse tensor for layout {layout}")
