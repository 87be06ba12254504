"""How operators run on tensors that are spread over one dimension of a mesh: which placements of the inputs give which of the result.

A rule gives the strategies of a call: a placement for the result, and one for each input. Whole copies everywhere are always one.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any

from shim_torch.distributed.tensor.placement_types import Partial, Placement, Replicate, Shard, _StridedShard

R = Replicate()
SUM = Partial("sum")


@dataclasses.dataclass
class Call:
    """An operator's call: the shapes of its tensors and of its first result, its arguments, and how many parts there are."""

    name: str  # without overload and the underscore of in-place ones
    shapes: list[tuple[int, ...]]
    out: tuple[int, ...]
    args: Sequence[Any]  # tensors among them are numbers: of their place in ``shapes``
    kwargs: dict[str, Any]
    parts: int  # of the mesh's dimensions up to this one
    placed: list[Placement]  # the inputs' placements in this one


Strategy = tuple[Any, list[Placement]]
_POINTWISE = frozenset(
    """abs add addcdiv addcmul alias atan2 bitwise_and bitwise_not bitwise_or bitwise_xor ceil clamp clamp_max clamp_min clone copy cos
    detach div elu eq erf exp exp2 expm1 fill floor floor_divide fmod ge gelu gelu_backward gt hardtanh isfinite isinf isnan le
    leaky_relu lerp log log10 log1p log2 logical_and logical_not logical_or logical_xor lt masked_fill maximum minimum mish mul ne neg
    nan_to_num pow reciprocal relu remainder round rsqrt rsub sgn sigmoid sigmoid_backward sign silu silu_backward sin softplus sqrt square sub tan tanh
    tanh_backward threshold_backward to_copy true_divide trunc where xlogy zero lift_fresh positive""".split()
) | {"_to_copy", "zeros_like", "empty_like", "ones_like", "full_like"}
_ADDS = frozenset("add sub".split())  # of two parts of sums
_SCALES = frozenset("mul div true_divide".split())  # of a part of a sum by what all have
_CARRIES = frozenset("alias clone detach neg positive zeros_like zero copy _to_copy".split())


def _pointwise(c: Call) -> list[Strategy]:
    found: list[Strategy] = []
    ndim = len(c.out)
    for d in range(ndim):
        placed: list[Placement] = []
        for shape in c.shapes:
            own = d - (ndim - len(shape))
            placed.append(Shard(own) if own >= 0 and shape[own] == c.out[d] and shape[own] > 1 else R)
        if any(p != R for p in placed):
            found.append((Shard(d), placed))
    for p in {p for p in c.placed if isinstance(p, _StridedShard)}:  # as it lies, where all tensors have the dims
        if all(len(shape) in (0, ndim) for shape in c.shapes):
            split = [len(shape) == ndim and shape[p.dim] == c.out[p.dim] for shape in c.shapes]
            found.append((p, [p if there else R for there in split]))
    n = len(c.shapes)
    whole = c.name == "_to_copy" and c.kwargs.get("dtype") is not None and not c.kwargs["dtype"].is_floating_point
    if (not whole and c.name in _CARRIES and (n == 1 or c.name == "copy")) or (c.name in _ADDS and n == 2):
        found += [(Partial(op), [Partial(op)] * n) for op in ("sum", "avg")]
    if c.name in _SCALES and c.args and c.args[0] == 0 and not c.kwargs.get("rounding_mode"):
        found += [(Partial(op), [Partial(op), *[R] * (n - 1)]) for op in ("sum", "avg")]
        if c.name == "mul" and n == 2:
            found += [(Partial(op), [R, Partial(op)]) for op in ("sum", "avg")]
    return found


def _mm(c: Call) -> list[Strategy]:
    return [
        (Shard(0), [Shard(0), R]),
        (Shard(1), [R, Shard(1)]),
        (SUM, [Shard(1), Shard(0)]),
        (SUM, [SUM, R]),
        (SUM, [R, SUM]),
    ]


def _addmm(c: Call) -> list[Strategy]:
    bias = c.shapes[0]
    row = Shard(0) if len(bias) == 2 and bias[0] == c.out[0] and bias[0] > 1 else R
    last = Shard(len(bias) - 1) if bias and bias[-1] == c.out[1] and bias[-1] > 1 else R
    return [(Shard(0), [row, Shard(0), R]), (Shard(1), [last, R, Shard(1)]), (SUM, [SUM, Shard(1), Shard(0)])]


def _bmm(c: Call) -> list[Strategy]:
    return [
        (Shard(0), [Shard(0), Shard(0)]), (Shard(1), [Shard(1), R]), (Shard(2), [R, Shard(2)]),
        (SUM, [Shard(2), Shard(1)]), (SUM, [SUM, R]), (SUM, [R, SUM]),
    ]  # fmt: skip


def _dims_moved(order: Callable[[Call], list[int]]) -> Callable[[Call], list[Strategy]]:
    """Of views that only name dims otherwise: ``order`` has the input's dim for each of the result's, -1 for a new one."""

    def rule(c: Call) -> list[Strategy]:
        found: list[Strategy] = [(Shard(new), [Shard(old)]) for new, old in enumerate(order(c)) if old >= 0]
        return [*found, *((p, [p]) for p in _partials(c))]

    return rule


def _partials(c: Call) -> list[Placement]:
    return [p for p in c.placed[:1] if isinstance(p, Partial)]


def _axis(value: int, ndim: int) -> int:
    return value + ndim if value < 0 else value


def _transposed(c: Call) -> list[int]:
    order = list(range(len(c.shapes[0])))
    a, b = (_axis(d, len(order)) for d in (c.args[1:3] if c.name == "transpose" else (0, len(order) - 1)))
    if order:
        order[a], order[b] = order[b], order[a]
    return order


def _unsqueezed(c: Call) -> list[int]:
    order = list(range(len(c.shapes[0])))
    order.insert(_axis(c.args[1], len(c.out)), -1)
    return order


def _squeezed(c: Call) -> list[int]:
    shape = c.shapes[0]
    given = c.args[1] if len(c.args) > 1 else list(range(len(shape)))
    dims = {_axis(d, len(shape)) for d in (given if isinstance(given, (list, tuple)) else [given])}
    return [d for d in range(len(shape)) if not (d in dims and shape[d] == 1)]


def _kept(c: Call) -> list[int]:
    """Dims whose size is as before: of slices, splits, expansions."""
    shape, more = c.shapes[0], len(c.out) - len(c.shapes[0])
    dim = _axis(
        c.args[2]
        if c.name == "split" and len(c.args) > 2
        else c.args[1]
        if c.name == "slice" and len(c.args) > 1
        else 0,
        len(shape),
    )
    cut = dim if c.name in ("slice", "split", "split_with_sizes") else None
    if c.name == "split_with_sizes":
        cut = _axis(c.args[2] if len(c.args) > 2 else 0, len(shape))
    return [
        d - more if d >= more and shape[d - more] == c.out[d] and d - more != cut else -1 for d in range(len(c.out))
    ]


def _selected(c: Call) -> list[int]:
    dim = _axis(c.args[1], len(c.shapes[0]))
    return [d for d in range(len(c.shapes[0])) if d != dim]


def _put_back(c: Call) -> list[int]:
    """Backward of slices and selections: a part in a whole of zeros."""
    dim = _axis(c.args[2], len(c.out))
    if c.name == "select_backward":
        return [-1 if d == dim else d - (d > dim) for d in range(len(c.out))]
    return [-1 if d == dim else d for d in range(len(c.out))]


def _view(c: Call) -> list[Strategy]:
    """A dim can stay split where it is the first of those that become one, or of those that one becomes."""
    old, new = c.shapes[0], c.out
    found: list[Strategy] = []
    i = j = 0
    while i < len(old) and j < len(new):
        first, second, a, b = i, j, old[i], new[j]
        while a != b:
            if a < b:
                i += 1
                if i >= len(old):
                    break
                a *= old[i]
            else:
                j += 1
                if j >= len(new):
                    break
                b *= new[j]
        even = old[first] % c.parts == 0 and new[second] % c.parts == 0
        if old[first] > 1 and (even or (old[first] == new[second] and first == i and second == j)):
            found.append((Shard(second), [Shard(first)]))
        i, j = i + 1, j + 1
        while i < len(old) and j < len(new) and old[i] == 1 != new[j]:
            i += 1
        while i < len(old) and j < len(new) and new[j] == 1 != old[i]:
            j += 1
    return [*found, *((p, [p]) for p in _partials(c))]


_REDUCED = {"sum": "sum", "mean": "avg", "amax": "max", "amin": "min", "max": "max", "min": "min", "prod": "product"}


def _reduction(c: Call) -> list[Strategy]:
    shape = c.shapes[0]
    given = c.args[1] if len(c.args) > 1 else c.kwargs.get("dim")
    if c.name in ("max", "min") and given is not None:
        return []
    dims = list(range(len(shape))) if given is None or given == [] else given
    over = {_axis(d, len(shape)) for d in (dims if isinstance(dims, (list, tuple)) else [dims])}
    keep = len(c.out) == len(shape)
    found: list[Strategy] = []
    for d in range(len(shape)):
        if d not in over:
            found.append((Shard(d if keep else d - sum(o < d for o in over)), [Shard(d)]))
        elif shape[d] % c.parts == 0:
            found.append((Partial(_REDUCED[c.name]), [Shard(d)]))
        elif c.name == "sum":
            found.append((SUM, [Shard(d)]))
    return [*found, *((p, [p]) for p in _partials(c) if c.name in ("sum", "mean") and p.reduce_op in ("sum", "avg"))]  # type: ignore[attr-defined]


def _except(place: int) -> Callable[[Call], list[Strategy]]:
    """Of operators along one dim, the argument at ``place``: the others may be split."""

    def rule(c: Call) -> list[Strategy]:
        ndim = len(c.shapes[0])
        dim = _axis(c.args[place] if len(c.args) > place else c.kwargs.get("dim", -1), ndim)
        same = all(shape == c.shapes[0] for shape in c.shapes)
        dims = [d for d in range(ndim) if d != dim and (same or all(len(s) == ndim for s in c.shapes))]
        if not same:
            dims = [d for d in dims if all(s[d] == c.shapes[0][d] for s in c.shapes)]
        return [(Shard(d), [Shard(d)] * len(c.shapes)) for d in dims]

    return rule


def _joined(c: Call) -> list[Strategy]:
    """cat, stack."""
    ndim, n = len(c.out), len(c.shapes)
    dim = _axis(c.args[1] if len(c.args) > 1 else 0, ndim)
    found: list[Strategy] = [
        (Shard(d), [Shard(d - (c.name == "stack" and d > dim))] * n) for d in range(ndim) if d != dim
    ]
    return [*found, *((p, [p] * n) for p in _partials(c))]


def _embedding(c: Call) -> list[Strategy]:
    dims = len(c.shapes[1])
    return [(Shard(dims), [Shard(1), R]), (SUM, [Shard(0), R]), *((Shard(d), [R, Shard(d)]) for d in range(dims))]


def _embedding_backward(c: Call) -> list[Strategy]:
    dims = len(c.shapes[1])
    found: list[Strategy] = [(Shard(1), [Shard(dims), R]), (SUM, [SUM, R])]
    found += [(SUM, [Shard(d), Shard(d)]) for d in range(dims)]
    return found


def _only_copies(_: Call) -> list[Strategy]:
    return []


RULES: dict[str, Callable[[Call], list[Strategy]]] = {
    **dict.fromkeys(_POINTWISE, _pointwise),
    **dict.fromkeys(_REDUCED, _reduction),
    "mm": _mm, "addmm": _addmm, "bmm": _bmm,
    "t": _dims_moved(_transposed), "transpose": _dims_moved(_transposed),
    "permute": _dims_moved(lambda c: [_axis(d, len(c.out)) for d in c.args[1]]),
    "unsqueeze": _dims_moved(_unsqueezed), "squeeze": _dims_moved(_squeezed), "expand": _dims_moved(_kept),
    "slice": _dims_moved(_kept), "split": _dims_moved(_kept), "split_with_sizes": _dims_moved(_kept),
    "select": _dims_moved(_selected),
    "slice_backward": _dims_moved(_put_back), "select_backward": _dims_moved(_put_back),
    "view": _view, "_unsafe_view": _view, "reshape": _view, "_reshape_alias": _view,
    "_softmax": _except(1), "_log_softmax": _except(1), "cumsum": _except(1), "gather": _except(1), "sort": _except(1),
    "_softmax_backward_data": _except(2), "_log_softmax_backward_data": _except(2), "scatter_add": _except(1),
    "cat": _joined, "stack": _joined,
    "embedding": _embedding, "embedding_dense_backward": _embedding_backward,
    "new_zeros": _only_copies, "new_empty": _only_copies, "index_select": _only_copies, "index": _only_copies,
    "tril": _only_copies, "triu": _only_copies, "topk": _only_copies, "argmax": _only_copies, "all": _only_copies,
    "any": _only_copies, "_local_scalar_dense": _only_copies, "flip": _only_copies, "constant_pad_nd": _only_copies,
}  # fmt: skip


def strategies(c: Call) -> list[Strategy]:
    """All of a call's, whole copies last."""
    return [*RULES[c.name](c), (R, [R] * len(c.shapes))]


def cost(old: Placement, new: Placement, shape: Sequence[int], parts: int) -> float:
    """Of a change of placement: elements that travel, and a constant for each call."""
    if old == new:
        return 0.0
    numel = math.prod(shape)
    if isinstance(new, Partial):
        return 1.0 if isinstance(old, Replicate) and new.reduce_op in ("sum", "avg") else math.inf
    if isinstance(old, Replicate):
        return 1.0
    if isinstance(old, Partial):
        return 10.0 + numel * (1 if isinstance(new, Shard) else 2)
    return 20.0 + numel / parts if isinstance(new, Shard) else 10.0 + numel
