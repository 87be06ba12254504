"""``torch.cuda.graphs``."""

from shim_torch._impl.cuda.graphs import (
    CUDAGraph,
    graph,
    graph_pool_handle,
    is_current_stream_capturing,
    make_graphed_callables,
)
from shim_torch._impl.surface.missing import asked_of as _asked_of

__all__ = ["CUDAGraph", "graph", "graph_pool_handle", "is_current_stream_capturing", "make_graphed_callables"]

__getattr__ = _asked_of(__name__)
