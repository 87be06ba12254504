"""Operators of our own (``torch.ops.shim``) for resizing and sampling on the CPU, one kernel each: sums of a few weighted elements
along one dim, and samples at the places of a grid.

What they serve calls them where nobody looks on (``_core.unseen``); bodies are their references.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from shim_torch._impl.autograd.grad_mode import enable_grad, inference_mode, no_grad
from shim_torch._impl.cuda.graphs import is_current_stream_capturing
from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.formulas import gradients
from shim_torch._impl.table.calls import shim, torch
from shim_torch._impl.table.record import op
from shim_torch._impl.table.rules import WIDE

_SHIM = {"function": False}
_CACHED = 256  # sizes whose taps are kept
_taps: dict[Any, tuple[Any, Any]] = {}


_turned: dict[
    int, tuple[Any, Any]
] = {}  # of CUDA's taps, by their places' id: the places, kept alive, and what turns the taps round


def _spread(g: Any, dim: int, size: int, places: Any, weights: Any) -> Any:
    found = _turned.get(id(places)) if g.is_cuda else None
    return shim.weighted_taps(g, dim, *found[1]) if found else shim.spread_taps(g, dim, size, places, weights)


def _turned_round(places: Any, weights: Any, size: int) -> tuple[Any, Any]:
    """The taps by which each of ``size`` places of the input gets the gradients of the results that it went into; without history."""
    there = places >= 0
    at, given = places[there], weights[there]
    outs = torch.arange(places.size(0), device=at.device).unsqueeze(1).expand(places.shape)[there]
    order = at.argsort(stable=True)
    counts = torch.bincount(at, minlength=size)
    begins = counts.cumsum(0) - counts
    column = torch.arange(at.numel(), device=at.device) - begins[at[order]]
    most = max(int(counts.max()), 1)
    back = torch.full((size, most), -1, dtype=_core.int64, device=at.device).index_put_(
        (at[order], column), outs[order]
    )
    return back, given.new_zeros((size, most)).index_put_((at[order], column), given[order])


def _replaced(sizes: Any, dim: int, size: int) -> tuple[int, ...]:
    return (*sizes[:dim], size, *sizes[dim + 1 :])


@op(
    "shim::weighted_taps(Tensor self, int dim, Tensor places, Tensor weights) -> Tensor",
    shape=lambda self, dim, places: _replaced(self.shape, dim, places.shape[0]),
    dtype=lambda self: self.dtype,
    keep=("places",),
    native="weighted_taps",
    grad={"self": lambda g, self_shape, dim, places, weights: _spread(g, dim, self_shape[dim], places, weights)},
    **_SHIM,
)
def weighted_taps(xp, self, dim, places, weights):
    """Along a dim, element i is the sum over k of weights[i, k] self[places[i, k]]; a place below 0 ends its row."""
    parts = xp.take(self, xp.maximum(places, 0), axis=dim)
    shape = (*[1] * dim, *places.shape, *[1] * (self.ndim - dim - 1))
    return xp.where((places >= 0).reshape(shape), parts * weights.reshape(shape), 0).sum(axis=dim + 1)


@op(
    "shim::spread_taps(Tensor grad_output, int dim, int size, Tensor places, Tensor weights) -> Tensor",
    shape=lambda grad_output, dim, size: _replaced(grad_output.shape, dim, size),
    dtype=lambda grad_output: grad_output.dtype,
    keep=("places",),
    native="spread_taps",
    grad={"grad_output": lambda g, dim, places, weights: shim.weighted_taps(g, dim, places, weights)},
    **_SHIM,
)
def spread_taps(xp, grad_output, dim, size, places, weights):
    """The gradient of ``weighted_taps`` by an input of ``size`` along the dim."""
    matrix = xp.zeros((places.shape[0], size), grad_output.dtype)
    rows = xp.broadcast_to(xp.arange(places.shape[0])[:, None], places.shape)
    xp.add.at(matrix, (rows[places >= 0], places[places >= 0]), weights[places >= 0])
    return xp.moveaxis(xp.tensordot(grad_output, matrix, axes=(dim, 0)), -1, dim)


def taps(key: Any, make: Callable[..., tuple[Any, Any]], like: Any) -> tuple[Any, Any]:
    """``make(like, *key)``: places and weights (count, taps) of the dtype of ``like``, made once."""
    if like.is_cuda:
        return _taps_on_cuda(key, make, like)
    found = _taps.get((make, key, like.dtype))
    if found is None:
        with inference_mode(False), no_grad():
            found = make(torch.empty((), dtype=like.dtype, device="cpu"), *key)
        if len(_taps) >= _CACHED:
            _taps.clear()
        _taps[make, key, like.dtype] = found
    return (found[0].to("meta"), found[1].to("meta")) if like.is_meta else found


def _taps_on_cuda(key: Any, make: Callable[..., tuple[Any, Any]], like: Any) -> tuple[Any, Any]:
    found = _taps.get((make, key, like.dtype, like.device.index))
    if found is None:
        with inference_mode(False), no_grad():
            host = taps(key, make, torch.empty((), dtype=like.dtype, device="cpu"))
            found = tuple(t.contiguous().to(like.device) for t in host)
            back = tuple(t.to(like.device) for t in _turned_round(*host, key[0]))
        if len(_turned) >= _CACHED:
            _turned.clear()
            _taps.clear()
        _turned[id(found[0])] = found[0], back
        _taps[make, key, like.dtype, like.device.index] = found
    return found


def separable(self: Any, first: int, make: Callable[..., tuple[Any, Any]], keys: Sequence[Any]) -> Any:
    """The taps of each key along the dims from ``first`` on (a key of None: nothing along its dim), one after the other."""
    run = shim.weighted_taps
    x = self
    for i, key in enumerate(keys):
        if key is not None:
            x = run(x, first + i, *taps(key, make, self))
    return x


def separable_here(self: Any) -> bool:
    """Whether ``separable`` serves a tensor: plain, on the CPU (or meta), float32 or float64, with elements, in the usual order."""
    if self.dtype not in WIDE or not self.numel():
        return False
    if not _core.unseen(self) and not (
        self.is_meta and type(self) is _core.Tensor and not _core._len_torch_dispatch_stack()
    ):
        return False
    return _in_usual_order(self)


def _in_usual_order(self: Any) -> bool:
    return self.is_contiguous() or _core.suggest_memory_format(self) == _core.contiguous_format


def taps_here(self: Any) -> bool:
    """Whether ``separable`` serves a tensor of the CPU, or a plain one of CUDA where nothing is being captured."""
    if not self.is_cuda:
        return separable_here(self)
    if self.dtype not in WIDE or not self.numel() or self.numel() >= 1 << 31 or not _core.unseen_on_cuda(self):
        return False
    return _in_usual_order(self) and not is_current_stream_capturing()


# --- grids --------------------------------------------------------------------------------------------------------------


def _by_composite(input: Any, grid: Any, mode: int, padding: int, align_corners: bool) -> Any:
    from shim_torch._impl.records.image.grid_sampling import _sampled

    return _sampled(input, grid, mode, padding, align_corners)


def _grid_gradient(of_grid: bool) -> Callable[..., Any]:
    def formula(g, input, grid, mode, padding, align_corners):
        if not _core.is_grad_enabled():
            return shim.sample_grid_backward(g, input, grid, mode, padding, align_corners, of_grid)
        # gradients of gradients: those of the tensor operations
        leaf = grid if of_grid else input
        if not leaf.requires_grad:
            leaf = leaf.detach().requires_grad_()
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
    """Samples of images or volumes at the places of a grid, as ``grid_sampler`` says, in modes 0 and 1."""
    image, places = (_on_host(xp, a) for a in (input, grid))
    return xp.asarray(_core.to_numpy(_by_composite(image, places, mode, padding, align_corners).detach()))


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
