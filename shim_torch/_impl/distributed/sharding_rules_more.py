"""Rules of operators that few programs run on tensors that are spread: most keep what is split in dims that they leave alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from shim_torch._impl.distributed.dispatch import OWN
from shim_torch._impl.distributed.sharding_rules import (
    RULES,
    SUM,
    Call,
    R,
    Strategy,
    _axis,
    _dims_moved,
    _except,
    _only_copies,
    _reduction,
)
from shim_torch.distributed.tensor.placement_types import Shard

_MEAN, _SUM = 1, 2  # reductions of losses


def _left_alone(touched: Callable[[Call], Iterable[int]]) -> Callable[[Call], list[Strategy]]:
    """Of operators that change the dims that ``touched`` names, and no others."""

    def rule(c: Call) -> list[Strategy]:
        ndim = len(c.shapes[0])
        changed = {_axis(d, ndim) for d in touched(c)}
        return [(Shard(d), [Shard(d)]) for d in range(ndim) if d not in changed]

    return rule


def _given(c: Call, place: int, name: str) -> list[int]:
    """Dims of an argument, all of them where there is none."""
    value = c.args[place] if len(c.args) > place else c.kwargs.get(name)
    if value is None or value in ([], ()):
        return list(range(len(c.shapes[0])))
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _reduced_whole(c: Call) -> list[Strategy]:
    """Reductions that need all of a row: the other dims may be split."""
    ndim = len(c.shapes[0])
    over = {_axis(d, ndim) for d in _given(c, 1, "dim")}
    keep = len(c.out) == ndim
    left = [d for d in range(ndim) if d not in over]
    return [(Shard(d if keep else d - sum(o < d for o in over)), [Shard(d)]) for d in left]


def _padded(c: Call) -> list[int]:
    pad, ndim = c.args[1], len(c.shapes[0])
    return [ndim - 1 - k for k in range(len(pad) // 2) if pad[2 * k] or pad[2 * k + 1]]


def _repeated(c: Call) -> list[int]:
    more = len(c.out) - len(c.shapes[0])
    return [d - more if d >= more and times == 1 else -1 for d, times in enumerate(c.args[1])]


def _unbound(c: Call) -> list[int]:
    dim = _axis(c.args[1] if len(c.args) > 1 else 0, len(c.shapes[0]))
    return [d for d in range(len(c.shapes[0])) if d != dim]


def _layer_norm(c: Call) -> list[Strategy]:
    """The dims before those of a layer, in all three results."""
    before = len(c.shapes[0]) - len(c.args[1])
    return [(Shard(d), [Shard(d), *[R] * (len(c.shapes) - 1)]) for d in range(before)]


def _loss(c: Call) -> list[Strategy]:
    """Of elements: a mean needs them all, for gradients are divided by their number."""
    reduction = c.args[2] if len(c.args) > 2 else _MEAN
    if reduction == _MEAN or c.shapes[0] != c.shapes[1]:
        return []
    dims = range(len(c.shapes[0]))
    return [(SUM if reduction == _SUM else Shard(d), [Shard(d), Shard(d)]) for d in dims]


def _loss_backward(c: Call) -> list[Strategy]:
    reduction, shape = c.args[3], c.shapes[1]
    if reduction == _MEAN or shape != c.shapes[2]:
        return []
    return [(Shard(d), [R if reduction == _SUM else Shard(d), Shard(d), Shard(d)]) for d in range(len(shape))]


def _each(func: Any, args: Any, kwargs: Any, mesh: Any) -> Any:
    """An operator of lists, tensor by tensor."""
    import shim_torch as torch

    base = func.__name__.partition(".")[0].removeprefix("_foreach_")
    number = len(args[0])
    if base == "norm":
        return [torch.ops.aten.linalg_vector_norm(x, *args[1:2]) for x in args[0]]
    operator = getattr(torch.ops.aten, base)

    def own(value: Any, i: int) -> Any:
        return value[i] if isinstance(value, (list, tuple)) and len(value) == number else value

    made = [operator(*(own(a, i) for a in args), **{k: own(v, i) for k, v in kwargs.items()}) for i in range(number)]
    return None if base.endswith("_") else made


def _largest(c: Call) -> list[Strategy]:
    """max and min: of all, or along a dim with the places."""
    along = (c.args[1] if len(c.args) > 1 else c.kwargs.get("dim")) is not None
    return _reduced_whole(c) if along else _reduction(c)


def _baddbmm(c: Call) -> list[Strategy]:
    added, more = c.shapes[0], 3 - len(c.shapes[0])
    own = [Shard(d - more) if d >= more and added[d - more] == c.out[d] > 1 else R for d in range(3)]
    return [
        (Shard(0), [own[0], Shard(0), Shard(0)]), (Shard(1), [own[1], Shard(1), R]), (Shard(2), [own[2], R, Shard(2)]),
        (SUM, [SUM, Shard(2), Shard(1)]),
    ]  # fmt: skip


RULES["max"] = RULES["min"] = _largest
RULES["baddbmm"] = _baddbmm
RULES["mv"] = lambda c: [(Shard(0), [Shard(0), R]), (SUM, [Shard(1), Shard(0)])]
RULES["dot"] = lambda c: [(SUM, [Shard(0), Shard(0)])]
RULES["native_layer_norm"] = _layer_norm
RULES["mse_loss"], RULES["mse_loss_backward"] = _loss, _loss_backward
RULES["flip"] = _left_alone(lambda c: c.args[1])
RULES["roll"] = _left_alone(lambda c: _given(c, 2, "dims"))
RULES["constant_pad_nd"] = _left_alone(_padded)
RULES["repeat"] = _dims_moved(_repeated)
RULES["unbind"] = _dims_moved(_unbound)
RULES["topk"], RULES["scatter"] = _except(2), _except(1)
RULES["diagonal"] = RULES["equal"] = _only_copies
for _name in ("var", "std", "var_mean", "std_mean", "logsumexp", "argmax", "argmin"):
    RULES[_name] = _reduced_whole
for _name in (
    "add",
    "sub",
    "mul",
    "div",
    "neg",
    "sqrt",
    "norm",
    "lerp",
    "addcmul",
    "addcdiv",
    "zero",
    "pow",
    "reciprocal",
):
    OWN[f"_foreach_{_name}"] = _each
