"""Operators of our own (``torch.ops.shim``) for resizing and sampling on the CPU, one kernel each: sums of a few weighted elements
along one dim, and samples at the points of a grid.

Interpolation calls them where no mode, transform or subclass has to see the call (``_core.unseen``); bodies are their references.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.formulas import shim, torch_module
from shim_torch._impl.table.record import op
from shim_torch._impl.table.rules import WIDE

_SHIM = {"function": False}
_CACHED = 256  # sizes whose taps are kept
_taps: dict[Any, tuple[Any, Any]] = {}


# Of taps on CUDA, by the id of their indices: the indices, kept alive, and the transposed taps.
_transposed: dict[int, tuple[Any, Any]] = {}


def _gradient(g: Any, dim: int, size: int, indices: Any, weights: Any) -> Any:
    found = _transposed.get(id(indices)) if g.is_cuda else None
    return (
        shim().weighted_taps(g, dim, *found[1])
        if found
        else shim().weighted_taps_backward(g, dim, size, indices, weights)
    )


def _transposed_taps(indices: Any, weights: Any, size: int) -> tuple[Any, Any]:
    """The taps of the transposed map: for each of ``size`` input elements the outputs that it went into, and their weights. No history."""
    torch = torch_module()
    there = indices >= 0
    at, given = indices[there], weights[there]
    outs = torch.arange(indices.size(0), device=at.device).unsqueeze(1).expand(indices.shape)[there]
    order = at.argsort(stable=True)
    counts = torch.bincount(at, minlength=size)
    begins = counts.cumsum(0) - counts
    column = torch.arange(at.numel(), device=at.device) - begins[at[order]]
    most = max(int(counts.max()), 1)
    back = torch.full((size, most), -1, dtype=torch.int64, device=at.device).index_put_(
        (at[order], column), outs[order]
    )
    return back, given.new_zeros((size, most)).index_put_((at[order], column), given[order])


def _replaced(sizes: Any, dim: int, size: int) -> tuple[int, ...]:
    return (*sizes[:dim], size, *sizes[dim + 1 :])


@op(
    "shim::weighted_taps(Tensor self, int dim, Tensor indices, Tensor weights) -> Tensor",
    shape=lambda self, dim, indices: _replaced(self.shape, dim, indices.shape[0]),
    dtype=lambda self: self.dtype,
    keep=("indices",),
    native="weighted_taps",
    grad={"self": lambda g, self_shape, dim, indices, weights: _gradient(g, dim, self_shape[dim], indices, weights)},
    **_SHIM,
)
def weighted_taps(xp, self, dim, indices, weights):
    """Along a dim, element i is the sum over k of weights[i, k] self[indices[i, k]]; an index below 0 ends its row."""
    parts = xp.take(self, xp.maximum(indices, 0), axis=dim)
    shape = (*[1] * dim, *indices.shape, *[1] * (self.ndim - dim - 1))
    return xp.where((indices >= 0).reshape(shape), parts * weights.reshape(shape), 0).sum(axis=dim + 1)


@op(
    "shim::weighted_taps_backward(Tensor grad_output, int dim, int size, Tensor indices, Tensor weights) -> Tensor",
    shape=lambda grad_output, dim, size: _replaced(grad_output.shape, dim, size),
    dtype=lambda grad_output: grad_output.dtype,
    keep=("indices",),
    native="weighted_taps_backward",
    grad={"grad_output": lambda g, dim, indices, weights: shim().weighted_taps(g, dim, indices, weights)},
    **_SHIM,
)
def weighted_taps_backward(xp, grad_output, dim, size, indices, weights):
    """The gradient of ``weighted_taps`` by an input of ``size`` along the dim."""
    matrix = xp.zeros((indices.shape[0], size), grad_output.dtype)
    rows = xp.broadcast_to(xp.arange(indices.shape[0])[:, None], indices.shape)
    xp.add.at(matrix, (rows[indices >= 0], indices[indices >= 0]), weights[indices >= 0])
    return xp.moveaxis(xp.tensordot(grad_output, matrix, axes=(dim, 0)), -1, dim)


def taps(key: Any, make: Callable[..., tuple[Any, Any]], like: Any) -> tuple[Any, Any]:
    """``make(like, *key)``: indices (int64) and weights (of ``like``'s dtype), both (count, taps); cached."""
    if like.is_cuda:
        return _taps_on_cuda(key, make, like)
    found = _taps.get((make, key, like.dtype))
    if found is None:
        torch = torch_module()
        with torch.inference_mode(False), torch.no_grad():
            found = make(torch.empty((), dtype=like.dtype, device="cpu"), *key)
        if len(_taps) >= _CACHED:
            _taps.clear()
        _taps[make, key, like.dtype] = found
    return (found[0].to("meta"), found[1].to("meta")) if like.is_meta else found


def _taps_on_cuda(key: Any, make: Callable[..., tuple[Any, Any]], like: Any) -> tuple[Any, Any]:
    found = _taps.get((make, key, like.dtype, like.device.index))
    if found is None:
        torch = torch_module()
        with torch.inference_mode(False), torch.no_grad():
            host = taps(key, make, torch.empty((), dtype=like.dtype, device="cpu"))
            found = tuple(t.contiguous().to(like.device) for t in host)
            back = tuple(t.to(like.device) for t in _transposed_taps(*host, key[0]))
        if len(_transposed) >= _CACHED:
            _transposed.clear()
            _taps.clear()
        _transposed[id(found[0])] = found[0], back
        _taps[make, key, like.dtype, like.device.index] = found
    return found


def separable(self: Any, first: int, make: Callable[..., tuple[Any, Any]], keys: Sequence[Any]) -> Any:
    """The taps of each key along the dims from ``first`` on (a key of None: nothing along its dim), one after the other."""
    run = shim().weighted_taps
    x = self
    for i, key in enumerate(keys):
        if key is not None:
            x = run(x, first + i, *taps(key, make, self))
    return x


def separable_here(self: Any) -> bool:
    """Whether ``separable`` serves a tensor: plain, on the CPU (or meta), float32 or float64, with elements, contiguous."""
    if self.dtype not in WIDE or not self.numel():
        return False
    if not _core.unseen(self) and not (
        self.is_meta and type(self) is _core.Tensor and not _core._len_torch_dispatch_stack()
    ):
        return False
    return _is_contiguous_format(self)


def _is_contiguous_format(self: Any) -> bool:
    return self.is_contiguous() or _core.suggest_memory_format(self) == _core.contiguous_format


def taps_here(self: Any) -> bool:
    """Whether ``separable`` serves a tensor of the CPU, or a plain one of CUDA where nothing is being captured."""
    if not self.is_cuda:
        return separable_here(self)
    if self.dtype not in WIDE or not self.numel() or self.numel() >= 1 << 31 or not _core.unseen_on_cuda(self):
        return False
    return _is_contiguous_format(self) and not torch_module().cuda.is_current_stream_capturing()


# --- grids --------------------------------------------------------------------------------------------------------------


def _by_composite(input: Any, grid: Any, mode: int, padding: int, align_corners: bool) -> Any:
    from shim_torch._impl.records.image.grid_sampling import _sampled

    return _sampled(input, grid, mode, padding, align_corners)


def _grid_gradient(of_grid: bool) -> Callable[..., Any]:
    def formula(g, input, grid, mode, padding, align_corners):
        if not _core.is_grad_enabled():
            return shim().sample_grid_backward(g, input, grid, mode, padding, align_corners, of_grid)
        torch = torch_module()  # gradients of gradients: those of the tensor operations
        leaf = grid if of_grid else input
        if not leaf.requires_grad:
            leaf = leaf.detach().requires_grad_()
            input, grid = (input, leaf) if of_grid else (leaf, grid)
        found = _by_composite(input, grid, mode, padding, align_corners)
        return torch.autograd.grad(found, leaf, g, create_graph=True)[0]

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
    torch = torch_module()
    g, x, at = (_on_host(xp, a) for a in (grad_output, input, grid))
    with torch.enable_grad():
        leaf = (at if of_grid else x).requires_grad_()
        found = torch.autograd.grad(_by_composite(x, at, mode, padding, align_corners), leaf, g)[0]
    return xp.asarray(_core.to_numpy(found))
