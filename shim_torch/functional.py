"""``torch.functional``: functions whose arguments the operator table cannot express."""

from __future__ import annotations

import functools as _functools
from collections.abc import Sequence
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.surface import naming
from shim_torch._impl.surface.missing import module_getattr as _module_getattr
from shim_torch._impl.surface.warnings import warn_once as _warn_once
from shim_torch._impl.table import arguments as _arguments
from shim_torch._impl.table import operators as _operators
from shim_torch._impl.table.calls import aten as _aten
from shim_torch._impl.table.calls import torch as _torch
from shim_torch._impl.table.overridable import overridable as _overridable
from shim_torch._impl.table.record import function as _function
from shim_torch._impl.tensor import distinct as _distinct
from shim_torch._impl.tensor.einsum import einsum as einsum

__all__ = (  # some are asked for by __getattr__ below
    "atleast_1d atleast_2d atleast_3d block_diag broadcast_shapes broadcast_tensors cartesian_prod cdist "
    "chain_matmul einsum istft lu meshgrid norm pca_lowrank split stft svd_lowrank tensordot unique "
    "unique_consecutive unravel_index"
).split()

Tensor = _core.Tensor


@_overridable
def tensordot(a: Any, b: Any, dims: Any = 2, out: Any = None) -> Any:
    """Contracts ``dims`` (a number, or two lists) of two tensors."""
    if isinstance(dims, Tensor):
        dims = int(dims) if dims.numel() == 1 else dims.tolist()
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a.dim(), b.dim()):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        dims = (list(range(-dims, 0)), list(range(dims)))
    _arguments.need_two(dims)
    first, second = ([d] if isinstance(d, int) else list(d) for d in dims)
    if out is not None:
        return _aten.tensordot.out(a, b, first, second, out=out)
    return _aten.tensordot(a, b, first, second)


@_overridable
def split(tensor: Any, split_size_or_sections: Any, dim: int = 0) -> Any:
    """Parts of a size, or of given sizes, along a dim."""
    return tensor.split(split_size_or_sections, dim)


@_overridable
def broadcast_tensors(*tensors: Any) -> Any:
    """All tensors expanded to their common shape; one of that shape is itself."""
    _arguments.need_tensors(tensors)
    shape = tuple(_core.broadcast_shapes([t.shape for t in tensors]))
    return tuple(t if tuple(t.shape) == shape else t.expand(shape) for t in tensors)


def broadcast_shapes(*shapes: Any) -> Any:
    """The size that sizes (or single numbers; None is left out) broadcast to.

    Errors: RuntimeError where they do not, or where one is no size; ValueError for negative numbers.
    """
    given = [(s,) if isinstance(s, int) else s for s in shapes if s is not None]
    for shape in given:
        if not isinstance(shape, Sequence):
            raise RuntimeError(f"Input shapes should be of type ints, a tuple of ints, or a list of ints, got {shape}")
    common = [1] * max((len(shape) for shape in given), default=0)
    for place, shape in enumerate(given):
        for at in range(-1, -1 - len(shape), -1):
            n = shape[at]
            if n == common[at] or (n == 1 and common[at] != 1):
                continue
            if common[at] != 1:
                raise RuntimeError(
                    f"Attempting to broadcast a dimension of length {n} at {at}! Mismatching argument at index {place} had "
                    f"{shape}; but expected shape should be broadcastable to {common}"
                )
            if n < 0:
                raise ValueError("Attempting to broadcast a dimension with negative length!")
            common[at] = n
    return _core.Size(common)


@_overridable
def meshgrid(*tensors: Any, indexing: str | None = None) -> Any:
    """Grids of coordinates; indexing "ij" (default) or "xy"."""
    given = list(tensors[0]) if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else list(tensors)
    if not given:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    if indexing is None:
        _warn_once("torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument.")
    else:
        _arguments.need_str(indexing, "meshgrid", "indexing", None)
    _arguments.need_tensors(given)
    return tuple(_aten.meshgrid.indexing(given, indexing="ij" if indexing is None else indexing))


@_overridable
def atleast_1d(*tensors: Any) -> Any:
    """Each tensor (or each of a list of them) with at least one dim."""
    return _each("atleast_1d", tensors)


@_overridable
def atleast_2d(*tensors: Any) -> Any:
    """Each tensor (or each of a list of them) with at least two dims, new ones first."""
    return _each("atleast_2d", tensors)


@_overridable
def atleast_3d(*tensors: Any) -> Any:
    """Each tensor (or each of a list of them) with at least three dims."""
    return _each("atleast_3d", tensors)


def _each(name: str, tensors: tuple[Any, ...]) -> Any:
    one = getattr(_aten, name)
    if len(tensors) == 1 and not isinstance(tensors[0], (list, tuple)):
        return one(tensors[0]) if isinstance(tensors[0], _core.TensorBase) else _arguments.refuse_one(tensors[0], name)
    given = tensors[0] if len(tensors) == 1 else tensors
    _arguments.need_tensors(given)
    return tuple(one(t) for t in given)


@_overridable
def cartesian_prod(*tensors: Any) -> Any:
    """All combinations of one element each."""
    return _aten.cartesian_prod(tensors)


@_overridable
def block_diag(*tensors: Any) -> Any:
    """Matrices along the diagonal of one matrix."""
    return _aten.block_diag(tensors)


@_functools.cache
def _linalg() -> Any:
    """``torch.linalg``, which is imported late. (An import statement in ``norm`` took a fifth of a small call.)"""
    from shim_torch import linalg

    return linalg


def norm(input: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, out: Any = None, dtype: Any = None) -> Any:
    """Vector or matrix norm."""
    if input.layout != _core.strided:
        from shim_torch._impl.sparse.reductions import norm as sparse_norm

        return sparse_norm(input, p, dim, keepdim, dtype)
    if p in ("fro", None):
        p = 2
    elif isinstance(p, str):
        dims = (0, 1) if dim is None else [dim] if isinstance(dim, int) else dim
        return _linalg().matrix_norm(input, p, dims, keepdim, dtype=dtype, out=out)
    return _linalg().vector_norm(input, p, dim, keepdim, dtype=dtype, out=out)


def chain_matmul(*matrices: Any, out: Any = None) -> Any:
    """The product of matrices in the cheapest order."""
    given = list(matrices[0]) if len(matrices) == 1 and isinstance(matrices[0], (list, tuple)) else list(matrices)
    if _core._has_torch_function(given):
        return _core._handle_torch_function(chain_matmul, given, *matrices)
    if out is not None:
        _arguments.need_tensor(out, "chain_matmul", "out", None)
    result = _aten.chain_matmul(given)
    return result if out is None else out.copy_(result)


def stft(
    input: Any, n_fft: int, hop_length: int | None = None, win_length: int | None = None, window: Any = None,
    center: bool = True, pad_mode: str = "reflect", normalized: bool = False, onesided: bool | None = None,
    return_complex: bool | None = None, align_to_window: bool | None = None,
) -> Any:  # fmt: skip
    """Fourier transforms of overlapping frames: (L,) or (B, L) -> (B, frequencies, frames)."""
    if align_to_window is not None and center:
        raise RuntimeError("stft align_to_window should only be set when center = false")
    settings = (n_fft, hop_length, win_length, window, center, pad_mode, normalized, onesided, return_complex)
    return _aten.stft.center(input, *settings, align_to_window)


_METHODS = {"norm": norm, "stft": stft}  # the methods are functions of their own: overrides are told which was called
norm, stft = _overridable(norm), _overridable(stft)


def _loss(name: str) -> Any:
    """A loss that torch has beside nn.functional's; there nothing is reduced unless asked."""
    table = _function(f"aten::{name}", "torch")

    def run(*args: Any, **kwargs: Any) -> Any:
        if _core._has_torch_function(args):
            return _core._handle_torch_function(run, args, *args, **kwargs)
        if len(args) <= _operators.named(name)[0].arguments.index("reduction"):
            kwargs.setdefault("reduction", 0)
        return table(*args, **kwargs)

    run.__name__ = run.__qualname__ = name
    run.__doc__ = f"torch.nn.functional.{name} with a number for the reduction: 0 none (the default), 1 mean, 2 sum."
    return run


def get_device(input: Any) -> int:
    """The number of the tensor's GPU, -1 on the CPU."""
    if _core._has_torch_function_unary(input):
        return _core._handle_torch_function(get_device, (input,), input)
    _arguments.need_tensor(input, "get_device")
    return input.get_device()


@_functools.cache
def functions() -> dict[str, Any]:
    """What torch takes from here."""
    names = (
        "einsum",
        "tensordot",
        "split",
        "broadcast_tensors",
        "broadcast_shapes",
        "atleast_1d",
        "atleast_2d",
        "atleast_3d",
        "meshgrid",
        "cartesian_prod",
        "block_diag",
        "norm",
        "chain_matmul",
        "stft",
        "get_device",
    )
    own = {n: globals()[n] for n in names} | _distinct.functions()
    own |= {n: _overridable(own[n]) for n in _distinct.methods()}
    own |= {n: _function(f"aten::{n}", "torch") for n in _operators.later("functions")}
    return own | {n: _loss(n) for n in _operators.later("losses")}


def polygamma(self: Any, n: int) -> Any:
    """The n-th derivative of digamma."""
    _arguments.need_int(n, "polygamma", "n")
    return _aten.polygamma(n, self)


def polygamma_(self: Any, n: int) -> Any:
    """polygamma in place."""
    made = polygamma(self.clone(), n)  # of a copy: what backward needs is not written to
    if not _core.can_cast(made.dtype, self.dtype):
        names = _core.scalar_name(made.dtype), _core.scalar_name(self.dtype)
        raise RuntimeError(f"result type {names[0]} can't be cast to the desired output type {names[1]}")
    return self.copy_(made)


def methods() -> dict[str, Any]:
    """What the tensor type takes from here."""
    return {
        "polygamma": polygamma,
        "polygamma_": polygamma_,
        **{n: _overridable(f) for n, f in (_METHODS | _distinct.methods()).items()},
    }


_missing_name = _module_getattr(__name__)
_OF_TORCH = frozenset(
    ("cdist", "istft", "lu", "pca_lowrank", "svd_lowrank", "unique", "unique_consecutive", "unravel_index")
)


def __getattr__(name: str) -> Any:
    if name not in _OF_TORCH:
        return _missing_name(name)
    if name == "cdist":
        from shim_torch._impl.tensor.python_functions import cdist

        return cdist
    if name in ("lu", "pca_lowrank", "svd_lowrank"):
        from shim_torch import _lowrank

        return getattr(_lowrank, name)
    return functions().get(name) or getattr(_torch, name)


naming.present(
    globals(),
    elsewhere={
        "torch": (
            "binary_cross_entropy_with_logits",
            "cosine_embedding_loss",
            "ctc_loss",
            "get_device",
            "hinge_embedding_loss",
            "kl_div",
            "margin_ranking_loss",
            "triplet_margin_loss",
        )
    },
)
