"""Views of a part of a tensor: select, slice and narrow."""

from __future__ import annotations

from shim_torch._impl.native import _core
from shim_torch._impl.table.calls import aten
from shim_torch._impl.table.record import composite, view


@view(
    "select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)",
    native="select",
    grad={"self": lambda g, self_shape, dim, index: _select_grad(g, self_shape, dim, index)},
    batching="along_dim",
)
def select(self, dim, index):
    """A view of what is at ``index`` of ``dim``, without that dim; IndexError beyond the ends. -1 is the last one."""
    return _core.select(self, dim, index)


def _select_grad(g, shape, dim, index):
    return aten.select_backward(g, shape, dim, index)


@view(
    "slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor(a)",
    native="slice",
    function=False,
    method=False,
    grad={"self": lambda g, self_shape, dim, start, end, step: _slice_grad(g, self_shape, dim, start, end, step)},
    batching="along_dim",
)
def slice_(self, dim, start, end, step):
    """A view of ``start:end:step`` along a dim: as in Python negative ones count from the end, too large ones are cut.

    RuntimeError for a step below 1.
    """
    return _core.slice(self, dim, 0 if start is None else start, 2**63 - 1 if end is None else end, step)


def _slice_grad(g, shape, dim, start, end, step):
    return aten.slice_backward(g, shape, dim, 0 if start is None else start, 2**63 - 1 if end is None else end, step)


@composite(
    "narrow(Tensor(a) self, int dim, SymInt start, SymInt length) -> Tensor(a)", native="narrow", batching="along_dim"
)
def narrow(self, dim, start, length):
    """A view of ``length`` elements from ``start`` on along ``dim``; a negative start counts from the end.

    ``start`` may be a 0-d tensor of an integer dtype. RuntimeError for more elements than there are, IndexError for a
    start beyond them.
    """
    _core.narrow(self, dim, start, length)  # its errors
    if start < 0:
        start += self.size(dim)
    return aten.slice(self, dim, start, start + length, 1)


@composite("narrow.Tensor(Tensor(a) self, int dim, Tensor start, SymInt length) -> Tensor(a)", batching="along_dim")
def narrow_tensor(self, dim, start, length):
    """A view of ``length`` elements along ``dim`` from where ``start``, a 0-d tensor of an integer dtype, says."""
    if start.dim() or start.is_floating_point() or start.is_complex() or start.dtype is _core.bool:
        raise RuntimeError("start must be an 0-dim integral Tensor.")
    return narrow(self, dim, int(start.item()), length)
