"""``torch.functional``: functions whose arguments the operator table cannot express."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from native import _core
from shim_torch import _lowrank
from shim_torch._warnings import warn_once

Tensor = _core.Tensor


def _overridable(function: Callable[..., Any]) -> Callable[..., Any]:
    """Asks ``__torch_function__`` of the arguments, lists and tuples among them looked into, before ``function`` runs."""

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        relevant: list[Any] = []
        for a in args:
            if isinstance(a, (list, tuple)):
                relevant.extend(a)
            else:
                relevant.append(a)
        if _core._has_torch_function(tuple(relevant)):
            from shim_torch.overrides import handle_torch_function

            return handle_torch_function(call, relevant, *args, **kwargs)
        return function(*args, **kwargs)

    return call


def einsum(*args: Any) -> Any:
    """Sums of products by index names: ``einsum("ij,jk->ik", a, b)``; also the sublist form."""
    import shim_torch

    if len(args) == 2 and isinstance(args[0], str) and isinstance(args[1], (list, tuple)):
        args = (args[0], *args[1])
    if _core._has_torch_function(args[1:] if args and isinstance(args[0], str) else args):
        from shim_torch.overrides import handle_torch_function

        return handle_torch_function(einsum, args[1:] if isinstance(args[0], str) else args, *args)
    if not args:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one operand and its subscripts list"
        )
    if isinstance(args[0], Tensor):  # operand, sublist, operand, sublist, ..., result sublist
        operands = list(args[0::2])[: len(args) // 2]
        lists = list(args[1::2])
        if any(i is not Ellipsis and not 0 <= i < 52 for part in [*lists, *args[-1:][: len(args) % 2]] for i in part):
            raise ValueError("einsum(): subscript in subscript list is not within the valid range [0, 52)")
        names = [
            "".join("..." if i is Ellipsis else chr(65 + i) if i < 26 else chr(71 + i) for i in part) for part in lists
        ]
        equation = ",".join(names)
        if len(args) % 2:
            equation += "->" + "".join(
                "..." if i is Ellipsis else chr(65 + i) if i < 26 else chr(71 + i) for i in args[-1]
            )
    else:
        equation, operands = args[0], list(args[1:])
        if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
            operands = list(operands[0])
    given = equation
    equation = equation.replace(" ", "")
    left, arrow, right = equation.partition("->")
    for at, c in enumerate(given):
        if not (c.isascii() and c.isalpha()) and c not in " .,->":
            raise RuntimeError(
                f"einsum(): invalid subscript given at index {at} in the equation string, subscripts must be in [a-zA-Z]"
            )
    if "->" in right:
        at = given.rindex("->")
        raise RuntimeError(
            f"einsum(): invalid subscript given at index {at} in the equation string, subscripts must be in [a-zA-Z]"
        )
    for k, part in enumerate(left.split(",")):
        if "." in part.replace("...", "", 1):
            raise RuntimeError(f"einsum(): found '.' for operand {k} that is not part of any ellipsis")
    for c in right:
        if c != "." and right.count(c) > 1:
            raise RuntimeError(f"einsum(): output subscript {c} appears more than once in the output")
    inputs = left.split(",")
    if len(inputs) != len(operands):
        more = "more" if len(operands) > len(inputs) else "fewer"
        raise RuntimeError(f"einsum(): {more} operands were provided than specified in the equation")
    extra = max(
        [t.dim() - len(s.replace("...", "")) for s, t in zip(inputs, operands, strict=True) if "..." in s], default=0
    )
    dots = [f"\0{i}" for i in range(extra)]
    parsed: list[Any] = []
    tensors: list[Any] = []
    for s, t in zip(inputs, operands, strict=True):
        parts = _names(s, dots, t.dim())
        if len(parts) != t.dim():
            raise RuntimeError(
                f"einsum(): the number of subscripts in the equation ({len(parts)}) does not match the number of dimensions "
                f"({t.dim()}) for operand {len(parsed)} and no ellipsis was given"
            )
        parts, t = _diagonals(parts, t, len(parsed))
        parsed.append(parts)
        tensors.append(t)
    if arrow:
        out = _names(right, dots, None)
    else:
        flat = left.replace(",", "").replace("...", "")
        out = [*dots, *sorted(c for c in set(flat) if flat.count(c) == 1)]
    return _contract(shim_torch, parsed, tensors, out)


def _names(s: str, dots: list[str], ndim: int | None) -> list[str]:
    before, found, after = s.partition("...")
    if not found:
        return list(s)
    count = len(dots) if ndim is None else ndim - len(before) - len(after)
    return [*before, *(dots[len(dots) - count :] if count else []), *after]


def _diagonals(parts: list[str], t: Any, operand: int) -> tuple[list[str], Any]:
    """A name that stands twice in one operand takes the diagonal."""
    while len(set(parts)) != len(parts):
        name = next(p for p in parts if parts.count(p) > 1)
        i = parts.index(name)
        j = parts.index(name, i + 1)
        if t.size(i) != t.size(j):
            raise RuntimeError(
                f"einsum(): subscript {name} is repeated for operand {operand} but the sizes don't match, {t.size(j)} != {t.size(i)}"
            )
        t = t.diagonal(0, i, j)
        parts = [p for k, p in enumerate(parts) if k not in (i, j)] + [name]
    return parts, t


def _contract(torch: Any, parsed: list[list[str]], tensors: list[Any], out: list[str]) -> Any:
    sizes: dict[str, int] = {}
    for k, (parts, t) in enumerate(zip(parsed, tensors, strict=True)):
        for name, n in zip(parts, t.shape, strict=True):
            if sizes.get(name, 1) != 1 and n not in (1, sizes[name]):
                raise RuntimeError(
                    f"einsum(): subscript {name} has size {n} for operand {k} which does not broadcast with previously seen size {sizes[name]}"
                )
            sizes[name] = max(n, sizes.get(name, 1)) if n else 0
    names, x = parsed[0], tensors[0]
    for k in range(1, len(tensors)):
        later = set(out).union(*parsed[k + 1 :]) if k + 1 < len(parsed) else set(out)
        names, x = _pair(torch, names, x, parsed[k], tensors[k], later, sizes)
    drop = [i for i, n in enumerate(names) if n not in out]
    if drop:
        x = x.sum(drop)
        names = [n for n in names if n in out]
    for n in out:
        if n not in names:
            raise RuntimeError(f"einsum(): output subscript {n} does not appear in the equation for any input operand")
    return x.permute([names.index(n) for n in out]) if names != out else x


def _pair(
    torch: Any, a: list[str], x: Any, b: list[str], y: Any, later: set[str], sizes: dict[str, int]
) -> tuple[list[str], Any]:
    """Two operands into one: names only they have are summed, the shared kept ones are a batch."""
    for names, other in ((a, b), (b, a)):
        drop = [i for i, n in enumerate(names) if n not in other and n not in later]
        if drop:
            if names is a:
                x, a = x.sum(drop), [n for n in a if n in b or n in later]
            else:
                y, b = y.sum(drop), [n for n in b if n in a or n in later]
    batch = [n for n in a if n in b and n in later]
    summed = [n for n in a if n in b and n not in later]
    only_a, only_b = [n for n in a if n not in b], [n for n in b if n not in a]

    def arranged(t: Any, names: list[str], order: list[str]) -> Any:
        t = t.permute([names.index(n) for n in order])
        return t.expand([sizes[n] if n in batch or n in summed else t.size(i) for i, n in enumerate(order)])

    def total(group: list[str]) -> int:
        n = 1
        for name in group:
            n *= sizes[name]
        return n

    left = arranged(x, a, batch + only_a + summed).reshape(total(batch), total(only_a), total(summed))
    right = arranged(y, b, batch + summed + only_b).reshape(total(batch), total(summed), total(only_b))
    if not summed:
        product = left * right
    elif batch:
        product = left.bmm(right)
    else:
        product = left.squeeze(0).mm(right.squeeze(0))
    order = batch + only_a + only_b
    return order, product.reshape([sizes[n] for n in order])


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
    shape = _core.broadcast_shapes([t.shape for t in tensors])
    return tuple(t.expand(shape) for t in tensors)


def broadcast_shapes(*shapes: Any) -> Any:
    """The shape that shapes broadcast to; RuntimeError where they do not."""
    for shape in shapes:
        for n in (shape,) if isinstance(shape, int) else shape:
            if n < 0:
                raise RuntimeError(f"Trying to create tensor with negative dimension ({n}): ({n})")
    return _core.broadcast_shapes([(s,) if isinstance(s, int) else tuple(s) for s in shapes])


@_overridable
def meshgrid(*tensors: Any, indexing: str | None = None) -> Any:
    """Grids of coordinates; indexing "ij" (default) or "xy"."""
    given = list(tensors[0]) if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else list(tensors)
    if not given:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    if indexing is None:
        warn_once("torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument.")
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


def atleast_1d(*tensors: Any) -> Any:
    """Each tensor (or each of a list of them) with at least one dim."""
    return _each("atleast_1d", tensors)


def atleast_2d(*tensors: Any) -> Any:
    """Each tensor (or each of a list of them) with at least two dims, new ones first."""
    return _each("atleast_2d", tensors)


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


@_overridable
def norm(input: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, out: Any = None, dtype: Any = None) -> Any:
    """Vector or matrix norm."""
    import shim_torch

    if input.layout != _core.strided:
        from shim_torch.sparse._reductions import norm as sparse_norm

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
        if len(args) <= place:
            kwargs.setdefault("reduction", 0)
        return table(*args, **kwargs)

    run.__name__ = run.__qualname__ = name
    run.__doc__ = f"torch.nn.functional.{name} with a number for the reduction: 0 none (the default), 1 mean, 2 sum."
    return run


def get_device(input: Any) -> int:
    """The number of the tensor's GPU, -1 on the CPU."""
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
    also = {n: _also(n, place) for n, place in _ALSO.items()}
    return {**{n: globals()[n] for n in names}, **also, **_lowrank.functions(), **_counting().functions()}


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
        "norm": norm,
        "stft": stft,
        "lu": _lowrank.lu_method,
        "polygamma": polygamma,
        "polygamma_": polygamma_,
        **_counting().methods(),
    }


def _counting() -> Any:
    from shim_torch.ops import counting

    return counting
