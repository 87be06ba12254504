"""``torch.functional``: functions whose arguments the operator table cannot express."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shim_torch import _lowrank
from shim_torch._impl.native import _core
from shim_torch._impl.surface import naming
from shim_torch._impl.surface.missing import asked_of as _asked_of
from shim_torch._impl.surface.warnings import warn_once as _warn_once
from shim_torch._impl.table.arguments import type_name as _type_name
from shim_torch._impl.table.overridable import overridable as _overridable
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
    import shim_torch

    if isinstance(dims, Tensor):
        dims = int(dims) if dims.numel() == 1 else dims.tolist()
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a.dim(), b.dim()):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        dims = (list(range(-dims, 0)), list(range(dims)))
    first, second = ([d] if isinstance(d, int) else list(d) for d in dims)
    if out is not None:
        return shim_torch.ops.aten.tensordot.out(a, b, first, second, out=out)
    return shim_torch.ops.aten.tensordot(a, b, first, second)


@_overridable
def split(tensor: Any, split_size_or_sections: Any, dim: int = 0) -> Any:
    """Parts of a size, or of given sizes, along a dim."""
    return tensor.split(split_size_or_sections, dim)


@_overridable
def broadcast_tensors(*tensors: Any) -> Any:
    """All tensors expanded to their common shape."""
    for i, t in enumerate(tensors):
        if not isinstance(t, Tensor):
            raise TypeError(f"expected Tensor as element {i} in argument 0, but got {_type_name(t)}")
    shape = _core.broadcast_shapes([t.shape for t in tensors])
    return tuple(t.expand(shape) for t in tensors)


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
    if indexing not in (None, "ij", "xy"):
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    for i, t in enumerate(given):
        if not isinstance(t, _core.TensorBase):
            raise TypeError(f"expected Tensor as element {i} in argument 0, but got {type(t).__name__}")
        if t.dim() > 1:
            raise RuntimeError(f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {t}")
        for what in ("dtype", "device"):
            if getattr(t, what) != getattr(given[0], what):
                raise RuntimeError(f"meshgrid expects all tensors to have the same {what}")
    swap = indexing == "xy" and len(given) >= 2
    if swap:
        given[0], given[1] = given[1], given[0]
    shape = [t.numel() for t in given]
    grids = [t.reshape([-1 if i == k else 1 for i in range(len(given))]).expand(shape) for k, t in enumerate(given)]
    if swap:
        grids[0], grids[1] = grids[1], grids[0]
    return tuple(grids)


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
    import shim_torch

    one = getattr(shim_torch.ops.aten, name)
    if len(tensors) == 1 and not isinstance(tensors[0], (list, tuple)):
        return one(tensors[0])
    given = tensors[0] if len(tensors) == 1 else tensors
    return tuple(one(t) for t in given)


@_overridable
def cartesian_prod(*tensors: Any) -> Any:
    """All combinations of one element each."""
    import shim_torch

    for t in tensors:
        if t.dim() != 1:
            raise RuntimeError(f"Expect a 1D vector, but got shape {list(t.shape)}")
    if len(tensors) == 1:
        return tensors[0]
    return shim_torch.stack([g.reshape(-1) for g in meshgrid(*tensors, indexing="ij")], 1)


@_overridable
def block_diag(*tensors: Any) -> Any:
    """Matrices along the diagonal of one matrix."""
    import shim_torch

    if not tensors:
        return shim_torch.empty(1, 0)
    for i, t in enumerate(tensors):
        if t.dim() > 2:
            raise RuntimeError(
                f"torch.block_diag: Input tensors must have 2 or fewer dimensions. Input {i} has {t.dim()} dimensions"
            )
        if t.device != tensors[0].device:
            raise RuntimeError(
                f"torch.block_diag: input tensors must all be on the same device. Input 0 is on device {tensors[0].device} and "
                f"input {i} is on device {t.device}"
            )
    blocks = [t.reshape(1, -1) if t.dim() < 2 else t for t in tensors]
    out = shim_torch.zeros(
        (sum(b.size(0) for b in blocks), sum(b.size(1) for b in blocks)),
        dtype=_core.result_type(*blocks),
        device=blocks[0].device,
    )
    row = col = 0
    for b in blocks:
        out[row : row + b.size(0), col : col + b.size(1)] = b
        row, col = row + b.size(0), col + b.size(1)
    return out


def norm(input: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, out: Any = None, dtype: Any = None) -> Any:
    """Vector or matrix norm."""
    import shim_torch

    if input.layout != _core.strided:
        from shim_torch._impl.sparse.reductions import norm as sparse_norm

        return sparse_norm(input, p, dim, keepdim, dtype)
    if p in ("fro", None):
        p = 2
    elif isinstance(p, str):
        dims = (0, 1) if dim is None else dim
        return shim_torch.linalg.matrix_norm(input, p, dims, keepdim, dtype=dtype, out=out)
    return shim_torch.linalg.vector_norm(input, p, dim, keepdim, dtype=dtype, out=out)


def chain_matmul(*matrices: Any, out: Any = None) -> Any:
    """The product of matrices in the cheapest order."""
    import shim_torch

    given = list(matrices[0]) if len(matrices) == 1 and isinstance(matrices[0], (list, tuple)) else list(matrices)
    if _core._has_torch_function(given):
        return _core._handle_torch_function(chain_matmul, given, *matrices)
    result = shim_torch.ops.aten.chain_matmul(given)
    return result if out is None else out.copy_(result)


def stft(
    input: Any, n_fft: int, hop_length: int | None = None, win_length: int | None = None, window: Any = None,
    center: bool = True, pad_mode: str = "reflect", normalized: bool = False, onesided: bool | None = None,
    return_complex: bool | None = None, align_to_window: bool | None = None,
) -> Any:  # fmt: skip
    """Fourier transforms of overlapping frames: (L,) or (B, L) -> (B, frequencies, frames)."""
    import shim_torch

    if align_to_window is not None and center:
        raise RuntimeError("stft align_to_window should only be set when center = false")
    settings = (n_fft, hop_length, win_length, window, center, pad_mode, normalized, onesided, return_complex)
    return shim_torch.ops.aten.stft.center(input, *settings, align_to_window)


_METHODS = {"norm": norm, "stft": stft}  # the methods are functions of their own: overrides are told which was called
norm, stft = _overridable(norm), _overridable(stft)

# Functions that torch has beside nn.functional; there nothing is reduced unless asked: the place of ``reduction``.
_ALSO = {
    "bilinear": -1, "binary_cross_entropy_with_logits": 4, "cosine_embedding_loss": 4, "ctc_loss": 5, "hinge_embedding_loss": 3,
    "kl_div": 2, "margin_ranking_loss": 4, "poisson_nll_loss": -1, "triplet_margin_loss": 7,
}  # fmt: skip


def _also(name: str, place: int) -> Any:
    table = _core.function(f"aten::{name}", "torch")
    if place < 0:
        return table

    def run(*args: Any, **kwargs: Any) -> Any:
        if _core._has_torch_function(args):
            return _core._handle_torch_function(run, args, *args, **kwargs)
        if len(args) <= place:
            kwargs.setdefault("reduction", 0)
        return table(*args, **kwargs)

    run.__name__ = run.__qualname__ = name
    run.__doc__ = f"torch.nn.functional.{name} with a number for the reduction: 0 none (the default), 1 mean, 2 sum."
    return run


def get_device(input: Any) -> int:
    """The number of the tensor's GPU, -1 on the CPU."""
    if _core._has_torch_function_unary(input):
        return _core._handle_torch_function(get_device, (input,), input)
    return input.get_device()


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
    own = {n: globals()[n] for n in names} | _lowrank.functions() | _counting().functions()
    own |= {n: _overridable(own[n]) for n in _counting().methods()}
    also = {n: _also(n, place) for n, place in _ALSO.items()}
    return own | also


def polygamma(self: Any, n: int) -> Any:
    """The n-th derivative of digamma."""
    import shim_torch

    return shim_torch.ops.aten.polygamma(n, self)


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
        "lu": _lowrank.lu_method,
        "polygamma": polygamma,
        "polygamma_": polygamma_,
        **{n: _overridable(f) for n, f in (_METHODS | _counting().methods()).items()},
    }


def _counting() -> Any:
    from shim_torch._impl.records.reduce import counting

    return counting


_missing_name = _asked_of(__name__)
_OF_TORCH = frozenset(
    ("cdist", "istft", "lu", "pca_lowrank", "svd_lowrank", "unique", "unique_consecutive", "unravel_index")
)


def __getattr__(name: str) -> Any:
    if name == "F":  # PyTorch's module imports torch.nn.functional by this name
        from shim_torch.nn import functional

        return functional
    if name not in _OF_TORCH:
        return _missing_name(name)
    import shim_torch

    return getattr(shim_torch, name)


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
