"""Joining tensors."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.table.calls import aten, torch
from shim_torch._impl.table.record import composite, direct, op
from shim_torch._impl.table.rules import wrap_dim


def _real(tensors: Any) -> list[Any]:
    """The tensors that count: legacy empty ones of shape (0,) are skipped."""
    return [t for t in tensors if tuple(t.shape) != (0,)] or list(tensors[:1])


def _cat_shape(tensors: Any, dim: int) -> tuple[int, ...]:
    if not tensors:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    for i, t in enumerate(tensors):
        if t.dim() == 0:
            raise RuntimeError(f"zero-dimensional tensor (at position {i}) cannot be concatenated")
    for t in tensors:
        if t.device != tensors[0].device:
            raise RuntimeError(
                "Expected all tensors to be on the same device, but found at least two devices, "
                f"{tensors[0].device} and {t.device}!"
            )
    real = _real(tensors)
    first = real[0]
    if tuple(first.shape) == (0,):  # nothing but legacy empty ones: any dim will do
        return (0,)
    d = wrap_dim(dim, first.dim())
    total = 0
    for t in real:
        if t.dim() != first.dim():
            raise RuntimeError(f"Tensors must have same number of dimensions: got {first.dim()} and {t.dim()}")
        for i in range(first.dim()):
            if i != d and t.size(i) != first.size(i):
                place = next(k for k, x in enumerate(tensors) if x is t)
                raise RuntimeError(
                    f"Sizes of tensors must match except in dimension {d}. Expected size {first.size(i)} but got size {t.size(i)} for "
                    f"tensor number {place} in the list."
                )
        total += t.size(d)
    return tuple(total if i == d else n for i, n in enumerate(first.shape))


def _cat_dtype(tensors: Any) -> Any:
    return _core.result_type(*tensors)


def _cat_grad(g, tensors_shape, dim):
    real = [s for s in tensors_shape if tuple(s) != (0,)] or tensors_shape[:1]
    d = wrap_dim(dim, len(real[0])) if tuple(real[0]) != (0,) else 0
    out, start = [], 0
    for s in tensors_shape:
        if tuple(s) == (0,) and len(real[0]) != 1:
            out.append(g.new_zeros(s))
            continue
        out.append(g.narrow(d, start, s[d]))
        start += s[d]
    return out


def _cat_order(tensors):
    """channels_last where all tensors have it."""
    images = [t.dim() > 3 and _core.suggest_memory_format(t) != _core.contiguous_format for t in _real(tensors)]
    return ((0, *range(2, tensors[0].dim()), 1) if images and all(images) else None,)


@op(
    "cat(Tensor[] tensors, int dim=0) -> Tensor",
    foreseen="any",
    method=False,
    shape=_cat_shape,
    dtype=_cat_dtype,
    order=_cat_order,
    out=True,
    native="cat",
    channels_last="kept",
    aliases=("concat", "concatenate"),
    grad={"tensors": _cat_grad},
    autocast="promote",
    cast_error="TypeError: torch.cat(): input types can't be cast to the desired output type {O}",
    overlap="refused",
)
def cat(xp, tensors, dim):
    """The tensors one after the other along a dim.

    Shapes:  alike but along ``dim``; tensors of shape (0,) count for nothing
    Dtypes:  the one that all promote to
    Errors:  RuntimeError for sizes or numbers of dims that differ, 0-d tensors and several devices; ValueError for none
    """
    real = [t for t in tensors if t.shape != (0,)] or tensors[:1]
    return xp.concatenate(real, axis=dim if real[0].shape != (0,) else 0)


@composite(
    "stack(Tensor[] tensors, int dim=0) -> Tensor",
    foreseen="any",
    gradient_name="StackBackward0",
    method=False,
    out=True,
    native="stack",
    autocast="promote",
    cast_error="TypeError: torch.cat(): input types can't be cast to the desired output type {O}",
)
def stack(tensors, dim):
    """Tensors of one shape side by side along a new dim; RuntimeError for different shapes and for no tensor."""
    if not tensors:
        raise RuntimeError("stack expects a non-empty TensorList")
    first = tensors[0]
    for i, t in enumerate(tensors):
        if t.shape != first.shape:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(first.shape)} at entry 0 and {list(t.shape)} at entry {i}"
            )
    d = wrap_dim(dim, first.dim() + 1)
    if d < 2 and first.dim() > 3 and _core.suggest_memory_format(first) != _core.contiguous_format:
        return torch.cat(tensors, d).view(*first.shape[:d], len(tensors), *first.shape[d:])  # in the images' order
    return torch.cat([t.unsqueeze(d) for t in tensors], d)


def _stacking(name: str, least: str, dim: Any) -> None:
    def body(tensors):
        if not tensors:
            raise RuntimeError(f"{name} expects a non-empty TensorList")
        parts = [getattr(torch, least)(t) for t in tensors]
        return torch.cat(parts, dim if dim is not None else 0 if parts[0].dim() == 1 else 1)

    composite(f"{name}(Tensor[] tensors) -> Tensor", method=False, out=True,
              aliases=("row_stack",) if name == "vstack" else (), out_error_name="cat",
              cast_error="TypeError: torch.cat(): input types can't be cast to the desired output type {O}")(body)  # fmt: skip


_stacking("hstack", "atleast_1d", None)
_stacking("vstack", "atleast_2d", 0)
_stacking("dstack", "atleast_3d", 2)


@composite(
    "column_stack(Tensor[] tensors) -> Tensor",
    method=False,
    out=True,
    cast_error="TypeError: torch.cat(): input types can't be cast to the desired output type {O}",
    out_error_name="cat",
)
def column_stack(tensors):
    """Columns side by side: vectors and 0-d tensors become columns of a matrix, others are joined along dim 1."""
    return torch.hstack([t.reshape(t.numel(), 1) if t.dim() <= 1 else t for t in tensors])


@direct(
    "constant_pad_nd(Tensor self, SymInt[] pad, Scalar value=0) -> Tensor",
    method=False,
    follows=("self",),
    native="constant_pad",
    grad={"self": lambda g, pad: aten.constant_pad_nd(g, [-p for p in pad])},
)
def constant_pad_nd(self, pad, value):
    """``self`` with ``value`` around it.

    ``pad``: how many elements before and after, of the last dim first; negative ones cut. RuntimeError for an odd
    number of them, more than two a dim, or sizes that would be negative.
    """
    n = self.dim()
    if len(pad) % 2:
        raise RuntimeError("Length of pad must be even but instead it equals " + str(len(pad)))
    if len(pad) // 2 > n:
        raise RuntimeError(
            f"Length of pad should be no more than twice the number of dimensions of the input. Pad length is {len(pad)} while the "
            f"input has {n} dimensions."
        )
    before, after = [0] * n, [0] * n
    for i in range(len(pad) // 2):
        before[n - 1 - i], after[n - 1 - i] = pad[2 * i], pad[2 * i + 1]
    shape = [a + s + b for a, s, b in zip(before, self.shape, after, strict=True)]
    if any(s < 0 for s in shape):
        raise RuntimeError(
            f"The input size {list(self.shape)}, plus negative padding {list(pad)}, resulted in a negative output size"
        )
    source, target = self, torch.full(shape, value, dtype=self.dtype, device=self.device)
    place = target
    for d in range(n):
        start, length = max(-before[d], 0), self.size(d) - max(-before[d], 0) - max(-after[d], 0)
        source = source.narrow(d, start, length)
        place = place.narrow(d, max(before[d], 0), length)
    place.copy_(source)
    return target


@composite("flatten_dense_tensors(Tensor[] tensors) -> Tensor", function=False, method=False)
def flatten_dense_tensors(tensors):
    """The elements of all tensors in one vector, a copy."""
    return torch.cat([t.contiguous().view(-1) for t in tensors])


@composite("unflatten_dense_tensors(Tensor flat, Tensor[] tensors) -> Tensor[]", function=False, method=False)
def unflatten_dense_tensors(flat, tensors):
    """Views of consecutive parts of a vector, each with the shape of one of the tensors."""
    parts, at = [], 0
    for t in tensors:
        # An empty tensor shares no memory with the vector, as in PyTorch.
        parts.append(flat.narrow(0, at, t.numel()).view(t.shape) if t.numel() else flat.new_empty(t.shape))
        at += t.numel()
    return tuple(parts)


@composite("block_diag(Tensor[] tensors) -> Tensor", autocast="off", function=False, method=False, gradient_name=True)
def block_diag(tensors):
    """The matrices along the diagonal of one matrix."""
    if not tensors:
        return torch.empty(1, 0)
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
    width, rows, left = sum(b.size(1) for b in blocks), [], 0
    for b in blocks:  # no write into one matrix: under vmap the blocks may be batches where it is none
        rows.append(aten.constant_pad_nd(b, (left, width - left - b.size(1))))
        left += b.size(1)
    return torch.cat(rows)


@composite(
    'pad_sequence(Tensor[] sequences, bool batch_first=False, float padding_value=0.0, str padding_side="right") -> Tensor',
    function=False,
    method=False,
)
def pad_sequence(sequences, batch_first, padding_value, padding_side):
    """Sequences (L_i, *) stacked into (max L, B, *) or, ``batch_first``, (B, max L, *)."""
    if not sequences:
        raise RuntimeError("received an empty list of sequences")
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"Expected padding_side to be one of left or right, but got {padding_side}.")
    longest = max(s.size(0) for s in sequences)
    sizes = (len(sequences), longest) if batch_first else (longest, len(sequences))
    out = sequences[0].new_full((*sizes, *sequences[0].shape[1:]), padding_value)
    rows = out if batch_first else out.transpose(0, 1)
    for i, s in enumerate(sequences):
        start = longest - s.size(0) if padding_side == "left" else 0
        rows[i, start : start + s.size(0)] = s
    return out
