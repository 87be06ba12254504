"""Views with the dims in another order: transpose, permute, movedim and theirs."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.table.record import composite, view
from shim_torch._impl.table.rules import wrap_dim


@view(
    "transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)",
    native="transpose",
    grad={"self": lambda g, dim0, dim1: g.transpose(dim0, dim1)},
    batching="along_dim",
)
def transpose(self, dim0, dim1):
    """A view with two dims exchanged."""
    return _core.transpose(self, dim0, dim1)


@composite("swapaxes(Tensor(a) self, int axis0, int axis1) -> Tensor(a)", batching="along_dim")
def swapaxes(self, axis0, axis1):
    """A view with two dims exchanged: ``transpose`` by NumPy's name."""
    return self.transpose(axis0, axis1)


@composite("swapdims(Tensor(a) self, int dim0, int dim1) -> Tensor(a)", batching="along_dim")
def swapdims(self, dim0, dim1):
    """A view with two dims exchanged: another name of ``transpose``."""
    return self.transpose(dim0, dim1)


@view("t(Tensor(a) self) -> Tensor(a)", native="t", grad={"self": lambda g: g.t()})
def t(self):
    """A view: the transpose of a matrix; a tensor of fewer dims as it is. RuntimeError for more dims."""
    if self.dim() > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {self.dim()}D")
    return _core.alias(self) if self.dim() < 2 else _core.transpose(self, 0, 1)


@view(
    "permute(Tensor(a) self, int[] dims) -> Tensor(a)",
    native="permute",
    grad={"self": lambda g, dims: g.permute(_inverse(dims))},
)
def permute(self, dims):
    """A view with the dims in another order: dim i of the result is ``dims[i]`` of the tensor."""
    return _core.permute(self, dims)


def _inverse(dims: Any) -> list[int]:
    n = len(dims)
    out = [0] * n
    for i, d in enumerate(dims):
        out[d % n] = i
    return out


@composite(
    "movedim.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)",
    aliases=("moveaxis",),
    batching="along_dim",
)
def movedim(self, source, destination):
    """A view with the dims ``source`` at the places ``destination``; the others keep their order.

    Each is a dim or a list. RuntimeError for lists of different lengths and for a dim named twice.
    """
    n = self.dim()
    if len(source) != len(destination):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({list(source)} dims) should contain the same number of dims as "
            f"destination ({list(destination)} dims)"
        )
    src, dst = [wrap_dim(d, n) for d in source], [wrap_dim(d, n) for d in destination]
    for what, dims, given in (("source", src, source), ("destination", dst, destination)):
        if len(set(dims)) != len(dims):
            raise RuntimeError(f"movedim: repeated dim in `{what}` ({list(given)})")
    if n == 0:
        return self.permute([])
    order = [-1] * n
    for s, d in zip(src, dst, strict=True):
        order[d] = s
    rest = iter(d for d in range(n) if d not in src)
    return self.permute([next(rest) if d < 0 else d for d in order])


@composite(
    "movedim.int(Tensor(a) self, int source, int destination) -> Tensor(a)", aliases=("moveaxis",), batching="along_dim"
)
def movedim_int(self, source, destination):
    """A view with one dim at another place; the others keep their order."""
    n = self.dim()
    if n == 0 or not (-n <= source < n and -n <= destination < n):
        return self.movedim((source,), (destination,))  # which says what is wrong
    order = list(range(n))
    order.insert(destination % n, order.pop(source % n))
    return self.permute(order)
