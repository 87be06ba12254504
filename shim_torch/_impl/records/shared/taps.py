"""Sums of a few weighted elements along dims: tables of places and weights, kept, and where one kernel each serves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from shim_torch._impl.autograd.grad_mode import inference_mode, no_grad
from shim_torch._impl.cuda.graphs import is_current_stream_capturing
from shim_torch._impl.native import _core
from shim_torch._impl.table.calls import shim, torch
from shim_torch._impl.table.formats import in_plain_order
from shim_torch._impl.table.rules import WIDE

_CACHED = 256  # sizes whose taps are kept


_taps: dict[Any, tuple[Any, Any]] = {}


transposed_taps: dict[
    int, tuple[Any, Any]
] = {}  # of CUDA's taps, by their places' id: the places, kept alive, and what turns the taps round


def _transposed_taps(places: Any, weights: Any, size: int) -> tuple[Any, Any]:
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


def taps(key: Any, make: Callable[..., tuple[Any, Any]], like: Any) -> tuple[Any, Any]:
    """``make(like, *key)``: indices (int64) and weights (of ``like``'s dtype), both (count, taps); cached."""
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
            back = tuple(t.to(like.device) for t in _transposed_taps(*host, key[0]))
        if len(transposed_taps) >= _CACHED:
            transposed_taps.clear()
            _taps.clear()
        transposed_taps[id(found[0])] = found[0], back
        _taps[make, key, like.dtype, like.device.index] = found
    return found


def separable(self: Any, first: int, make: Callable[..., tuple[Any, Any]], keys: Sequence[Any]) -> Any:
    """The taps of each key along the dims from ``first`` on (a key of None: nothing along its dim), one after the other."""
    run = shim.resample_dim
    x = self
    for i, key in enumerate(keys):
        if key is not None:
            x = run(x, first + i, *taps(key, make, self))
    return x


def separable_here(self: Any) -> bool:
    """Whether ``separable`` serves a tensor: plain, on the CPU (or meta), float32 or float64, with elements, in order.

    That is contiguous, or images in channels last.
    """
    if self.dtype not in WIDE or not self.numel():
        return False
    if not _core.unseen(self) and not (
        self.is_meta and type(self) is _core.Tensor and not _core._len_torch_dispatch_stack()
    ):
        return False
    return in_plain_order(self) or (self.dim() == 4 and self.is_contiguous(memory_format=_core.channels_last))


def taps_here(self: Any) -> bool:
    """Whether ``separable`` serves a tensor of the CPU, or a plain one of CUDA where nothing is being captured."""
    if not self.is_cuda:
        return separable_here(self)
    if self.dtype not in WIDE or not self.numel() or self.numel() >= 1 << 31 or not _core.unseen_on_cuda(self):
        return False
    return in_plain_order(self) and not is_current_stream_capturing()
