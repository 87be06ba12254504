"""Operators of our own (``torch.ops.shim``) for resampling on the CPU, one kernel each: along one dim, where each element of
the result is the sum of a few weighted ones, and at the places of a grid.

What they serve calls them where nobody looks on (``_core.unseen``); bodies are their references.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shim_torch._impl.autograd.grad_mode import enable_grad
from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.formulas import apart, gradients
from shim_torch._impl.records.shared.taps import transposed_taps
from shim_torch._impl.table.calls import shim
from shim_torch._impl.table.record import op

_SHIM = {"function": False}


def _gradient(g: Any, dim: int, size: int, indices: Any, weights: Any) -> Any:
    found = transposed_taps.get(id(indices)) if g.is_cuda else None
    return shim.resample_dim(g, dim, *found[1]) if found else shim.resample_dim_backward(g, dim, size, indices, weights)


def _replaced(sizes: Any, dim: int, size: int) -> tuple[int, ...]:
    return (*sizes[:dim], size, *sizes[dim + 1 :])


@op(
    "shim::resample_dim(Tensor self, int dim, Tensor indices, Tensor weights) -> Tensor",
    shape=lambda self, dim, indices: _replaced(self.shape, dim, indices.shape[0]),
    dtype=lambda self: self.dtype,
    keep=("indices",),
    native="weighted_taps",
    saves_tables=True,
    grad={"self": lambda g, self_shape, dim, indices, weights: _gradient(g, dim, self_shape[dim], indices, weights)},
    **_SHIM,
)
def resample_dim(xp, self, dim, indices, weights):
    """Resampled along a dim: element i is Σ_k weights[i, k] self[indices[i, k]]; an index below 0 ends its row."""
    parts = xp.take(self, xp.maximum(indices, 0), axis=dim)
    shape = (*[1] * dim, *indices.shape, *[1] * (self.ndim - dim - 1))
    return xp.where((indices >= 0).reshape(shape), parts * weights.reshape(shape), 0).sum(axis=dim + 1)


@op(
    "shim::resample_dim_backward(Tensor grad_output, int dim, int size, Tensor places, Tensor weights) -> Tensor",
    shape=lambda grad_output, dim, size: _replaced(grad_output.shape, dim, size),
    dtype=lambda grad_output: grad_output.dtype,
    keep=("places",),
    native="weighted_taps_backward",
    saves_tables=True,
    grad={"grad_output": lambda g, dim, places, weights: shim.resample_dim(g, dim, places, weights)},
    **_SHIM,
)
def resample_dim_backward(xp, grad_output, dim, size, places, weights):
    """The gradient of ``resample_dim`` by an input of ``size`` along the dim."""
    matrix = xp.zeros((places.shape[0], size), grad_output.dtype)
    rows = xp.broadcast_to(xp.arange(places.shape[0])[:, None], places.shape)
    xp.add.at(matrix, (rows[places >= 0], places[places >= 0]), weights[places >= 0])
    return xp.moveaxis(xp.tensordot(grad_output, matrix, axes=(dim, 0)), -1, dim)


# --- the nearest, on CUDA ------------------------------------------------------------------------------------------------


def _nearest_places(xp: Any, size: int, out: int, scale: float, exact: bool) -> Any:
    at = xp.arange(out, dtype="float32")
    return xp.clip(xp.floor((at + 0.5 if exact else at) * xp.float32(scale)).astype("int64"), 0, size - 1)


@op(
    "shim::nearest(Tensor self, int[] size, float[] scales, bool exact) -> Tensor",
    shape=lambda self, size: (*self.shape[:2], *size),
    dtype=lambda self: self.dtype,
    native="nearest",
    grad={"self": lambda g, self_shape, scales, exact: shim.nearest_backward(g, self_shape[2:], scales, exact)},
    **_SHIM,
)
def nearest(xp, self, size, scales, exact):
    """(N, C, *) at another size: along a dim, result o is floor(scale o) of ``self``, or of scale (o + 1/2) where ``exact``."""
    for dim, (out, scale) in enumerate(zip(size, scales, strict=True), 2):
        self = xp.take(self, _nearest_places(xp, self.shape[dim], out, scale, exact), axis=dim)
    return self


@op(
    "shim::nearest_backward(Tensor grad_output, int[] size, float[] scales, bool exact) -> Tensor",
    shape=lambda grad_output, size: (*grad_output.shape[:2], *size),
    dtype=lambda grad_output: grad_output.dtype,
    native="nearest_backward",
    grad={
        "grad_output": lambda g, grad_output_shape, scales, exact: shim.nearest(g, grad_output_shape[2:], scales, exact)
    },
    **_SHIM,
)
def nearest_backward(xp, grad_output, size, scales, exact):
    """The gradient of ``nearest`` by a ``self`` whose dims behind the channels are ``size``."""
    for dim, (n, scale) in enumerate(zip(size, scales, strict=True), 2):
        at = _nearest_places(xp, n, grad_output.shape[dim], scale, exact)
        reads = (at == xp.arange(n)[:, None]).astype(grad_output.dtype)
        grad_output = xp.moveaxis(xp.tensordot(grad_output, reads, axes=(dim, 1)), -1, dim)
    return grad_output


# --- grids --------------------------------------------------------------------------------------------------------------


def _by_composite(input: Any, grid: Any, mode: int, padding: int, align_corners: bool) -> Any:
    from shim_torch._impl.records.shared.interpolation import sampled_at

    return sampled_at(input, grid, mode, padding, align_corners)


def _grid_gradient(of_grid: bool) -> Callable[..., Any]:
    def formula(g, input, grid, mode, padding, align_corners):
        if not _core.is_grad_enabled():
            return shim.sample_grid_backward(g, input, grid, mode, padding, align_corners, of_grid)
        # gradients of gradients: those of the tensor operations
        leaf = apart(grid if of_grid else input)
        input, grid = (input, leaf) if of_grid else (leaf, grid)
        found = _by_composite(input, grid, mode, padding, align_corners)
        return gradients(found, (leaf,), g, True)[0]

    return formula


def _on_host(xp: Any, array: Any) -> Any:
    return _core.from_numpy((xp.asnumpy if hasattr(xp, "asnumpy") else xp.ascontiguousarray)(array))


@op(
    "shim::sample_grid(Tensor input, Tensor grid, int mode, int padding, bool align_corners) -> Tensor",
    shape=lambda input, grid: (*input.shape[:2], *grid.shape[1:-1]),
    dtype=lambda input: input.dtype,
    native="sample_grid",
    grad={"input": _grid_gradient(False), "grid": _grid_gradient(True)},
    **_SHIM,
)
def sample_grid(xp, input, grid, mode, padding, align_corners):
    """Samples of images or volumes at the points of a grid, as ``grid_sampler`` says, in modes 0 and 1."""
    image, points = (_on_host(xp, a) for a in (input, grid))
    return xp.asarray(_core.to_numpy(_by_composite(image, points, mode, padding, align_corners).detach()))


@op(
    "shim::sample_grid_backward(Tensor grad_output, Tensor input, Tensor grid, int mode, int padding, bool align_corners, bool of_grid) -> Tensor",
    shape=lambda input, grid, of_grid: grid.shape if of_grid else input.shape,
    dtype=lambda input: input.dtype,
    native="sample_grid_backward",
    **_SHIM,
)
def sample_grid_backward(xp, grad_output, input, grid, mode, padding, align_corners, of_grid):
    """The gradient of ``sample_grid`` by its grid, or by its input."""
    g, x, at = (_on_host(xp, a) for a in (grad_output, input, grid))
    with enable_grad():
        leaf = (at if of_grid else x).requires_grad_()
        found = gradients(_by_composite(x, at, mode, padding, align_corners), (leaf,), g)[0]
    return xp.asarray(_core.to_numpy(found))
