"""Reductions that pick an element: their shapes, values and gradients."""

from __future__ import annotations

from shim_torch._impl.records.shared.formulas import speaks_for_itself
from shim_torch._impl.table.rules import reduced, wrap_dims


def full_extremum_grad(g, self, result):
    """The gradient of an extremum of all elements, divided evenly among equal ones; where it is NaN, these are the NaNs."""
    if not self.is_floating_point() or self.is_meta:
        hit = self == result
    elif self.is_cuda or speaks_for_itself(g, self, result):  # without waiting for the value
        hit = (self == result) | (self.isnan() & result.isnan())
    else:
        hit = self.isnan() if bool(result.isnan()) else self == result
    return hit * (g / hit.sum())


def nonempty(name):
    """A shape rule of reductions that need an element; without one an error is raised in the words of ``name``."""

    def shape(self, dim, keepdim):
        dims = wrap_dims(dim, len(self.shape))
        if not dim and dim != 0 and 0 in self.shape:
            raise RuntimeError(
                f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' "
                "argument."
            )
        for d in dims:
            if len(self.shape) and self.shape[d] == 0:
                raise IndexError(f"{name}(): Expected reduction dim {d} to have non-zero size.")
        return reduced(self, dim, keepdim)

    return shape


def picked_grad(g, self_shape, result1, dim, keepdim):
    """The gradient goes to the picked element."""
    zeros = g.new_zeros(self_shape)
    if not len(self_shape):
        return g
    index = result1 if keepdim else result1.unsqueeze(dim)
    return zeros.scatter(dim, index, g if keepdim else g.unsqueeze(dim))


def picked(xp, self, index, dim, keepdim):
    """The elements at ``index`` along ``dim``, and the index; both with the dim at size 1 where ``keepdim`` is True."""
    values = xp.take_along_axis(self, xp.expand_dims(index, dim), dim)
    if keepdim:
        return values, xp.expand_dims(index, dim)
    return xp.squeeze(values, dim), index
