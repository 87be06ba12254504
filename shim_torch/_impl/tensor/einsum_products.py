"""The sums of products that an equation of ``torch.einsum`` asks for: operands are contracted pair by pair, as batched products."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.tensor.einsum_equation import _inputs, _names, _output

Tensor = _core.Tensor


def summed(equation: str, operands: list[Any]) -> Any:
    """What ``equation`` gives of the operands; RuntimeError, in PyTorch's words, where it does not fit them."""
    if len(operands) == 2 and (done := _product(equation, *operands)) is not None:
        return done
    left, arrow, right = equation.partition("->")
    inputs = _inputs(left, [t.dim() for t in operands])
    extra = max(
        [t.dim() - len(s.replace("...", "")) for s, t in zip(inputs, operands, strict=True) if "..." in s], default=0
    )
    dots = [f"\0{i}" for i in range(extra)]
    if arrow:
        out = _names(_output(right, len(left) + 2, set().union(*inputs)), dots, None)
    else:
        flat = "".join(inputs).replace("...", "")
        out = [*dots, *sorted(c for c in set(flat) if flat.count(c) == 1)]
    parsed: list[Any] = []
    tensors: list[Any] = []
    for s, t in zip(inputs, operands, strict=True):
        parts, t = _diagonals(_names(s, dots, t.dim()), t, len(parsed))
        parsed.append(parts)
        tensors.append(t)
    return _contract(parsed, tensors, out)


class _Plan:
    """A product of two operands: their dims in the order batch, rows, summed or batch, summed, columns, how many of each,
    the pairs of dims that have one name, the order of the result's dims (None: as they are), and whether the operands change
    places, which leaves the result in the order asked for."""

    __slots__ = ("left", "right", "counts", "shared", "order", "swapped")

    def __init__(
        self,
        left: list[int],
        right: list[int],
        counts: tuple[int, int, int, int],
        shared: list[tuple[int, int]],
        order: list[int] | None,
        swapped: bool,
    ) -> None:
        self.left, self.right, self.counts = left, right, counts
        self.shared, self.order, self.swapped = shared, order, swapped


@lru_cache(512)
def _plan(equation: str, left_dims: int, right_dims: int) -> _Plan | None:
    """None where the equation is more than one product of matrices, or wrong."""
    names, arrow, out = (part.replace(" ", "") for part in equation.partition("->"))
    a, _, b = names.partition(",")
    kept_first = [n for n in out if n in a and n in b]
    swapped = bool(set(a) - set(b)) and list(out) == kept_first + [n for n in out if n not in a] + [
        n for n in out if n not in b
    ]
    if swapped and set(b) - set(a):
        a, b, left_dims, right_dims = b, a, right_dims, left_dims
    else:
        swapped = False
    plain = all(s.isascii() and (s.isalpha() or not s) and len(set(s)) == len(s) for s in (a, b, out))
    if not arrow or not plain or len(a) != left_dims or len(b) != right_dims or not set(out) <= set(a + b):
        return None
    batch, summed = [n for n in out if n in a and n in b], [n for n in a if n in b and n not in out]
    rows, columns = [n for n in out if n not in b], [n for n in out if n not in a]
    if not summed or not set(a + b) - set(summed) <= set(out):
        return None
    made = batch + rows + columns
    return _Plan(
        [a.index(n) for n in batch + rows + summed],
        [b.index(n) for n in batch + summed + columns],
        (len(batch), len(rows), len(summed), len(columns)),
        [(a.index(n), b.index(n)) for n in batch + summed],
        None if made == list(out) else [made.index(n) for n in out],
        swapped,
    )


def _product(equation: str, x: Any, y: Any) -> Any:
    """Two operands whose sizes need no broadcasting; None where the long way has to be gone."""
    plan = _plan(equation, x.dim(), y.dim())
    if plan is None:
        return None
    if plan.swapped:
        x, y = y, x
    a, b = x.shape, y.shape
    for i, j in plan.shared:
        if a[i] != b[j]:
            return None
    left, right = [a[i] for i in plan.left], [b[i] for i in plan.right]
    batches, rows, summed, columns = plan.counts
    end = batches + rows
    m, k, n = math.prod(left[batches:end]), math.prod(left[end:]), math.prod(right[batches + summed :])
    x, y = x.permute(plan.left), y.permute(plan.right)
    if batches:
        size = math.prod(left[:batches])
        found = x.reshape(size, m, k).bmm(y.reshape(size, k, n))
    elif _core.is_grad_enabled() and (
        x.requires_grad or y.requires_grad
    ):  # gradients of bmm are contiguous, whatever the operands
        found = x.reshape(1, m, k).bmm(y.reshape(1, k, n)).reshape(m, n)
    else:
        found = (x if rows == summed == 1 else x.reshape(m, k)).mm(y if columns == summed == 1 else y.reshape(k, n))
    if batches > 1 or rows != 1 or columns != 1:
        found = found.reshape(left[:end] + right[batches + summed :])
    return found if plan.order is None else found.permute(plan.order)


def _diagonals(parts: list[str], t: Any, operand: int) -> tuple[list[str], Any]:
    """A name that stands twice in one operand takes the diagonal."""
    for j, name in enumerate(parts):
        i = parts.index(name)
        if t.size(i) != t.size(j):
            raise RuntimeError(
                f"einsum(): subscript {name} is repeated for operand {operand} but the sizes don't match, {t.size(j)} != {t.size(i)}"
            )
    while len(set(parts)) != len(parts):
        name = next(p for p in parts if parts.count(p) > 1)
        i = parts.index(name)
        j = parts.index(name, i + 1)
        t = t.diagonal(0, i, j)
        parts = [p for k, p in enumerate(parts) if k not in (i, j)] + [name]
    return parts, t


def _contract(parsed: list[list[str]], tensors: list[Any], out: list[str]) -> Any:
    sizes: dict[str, int] = {}
    for k, (parts, t) in enumerate(zip(parsed, tensors, strict=True)):
        for name, n in zip(parts, t.shape, strict=True):
            if sizes.get(name, 1) != 1 and n not in (1, sizes[name]):
                raise RuntimeError(
                    f"einsum(): subscript {name} has size {n} for operand {k} which does not broadcast with previously seen size {sizes[name]}"
                )
            sizes[name] = max(n, sizes.get(name, 1)) if n else 0
    # In the result's order from the start, what is summed behind it: sums and products of these are contiguous.
    places = {name: at for at, name in enumerate([*out, *sorted(set(sizes) - set(out))])}
    for k, parts in enumerate(parsed):
        if (ordered := sorted(parts, key=places.__getitem__)) != parts:
            tensors[k] = tensors[k].permute([parts.index(n) for n in ordered])
            parsed[k] = ordered
    names, x = parsed[0], tensors[0]
    for k in range(1, len(tensors)):
        later = set(out).union(*parsed[k + 1 :]) if k + 1 < len(parsed) else set(out)
        names, x = _pair(names, x, parsed[k], tensors[k], later, sizes, out)
    drop = [i for i, n in enumerate(names) if n not in out]
    if drop:
        x = x.sum(drop)
        names = [n for n in names if n in out]
    if names == out and len(tensors) > 1:
        return x
    return x.permute([names.index(n) for n in out])  # a view of one operand, never the operand


def _pair(
    a: list[str], x: Any, b: list[str], y: Any, later: set[str], sizes: dict[str, int], out: list[str]
) -> tuple[list[str], Any]:
    """Two operands into one: names only they have are summed, the shared kept ones are a batch."""
    whole = True
    for names, other in ((a, b), (b, a)):
        drop = [i for i, n in enumerate(names) if n not in other and n not in later]
        if drop:
            whole = False
            if names is a:
                x, a = x.sum(drop), [n for n in a if n in b or n in later]
            else:
                y, b = y.sum(drop), [n for n in b if n in a or n in later]
    batch = [n for n in a if n in b and n in later]
    summed = [n for n in a if n in b and n not in later]
    only_a, only_b = [n for n in a if n not in b], [n for n in b if n not in a]
    if not summed:  # element by element, in the order of the result
        order = [*(n for n in out if n in a or n in b), *(n for n in batch + only_a + only_b if n not in out)]
        return order, _in_order(x, a, order) * _in_order(y, b, order)

    if whole and only_a and batch + only_b + only_a == out:  # the other way about it is in the result's order
        a, x, b, y, only_a, only_b = b, y, a, x, only_b, only_a

    def arranged(t: Any, names: list[str], order: list[str]) -> Any:
        t = t.permute([names.index(n) for n in order])
        return t.expand([sizes[n] if n in batch or n in summed else t.size(i) for i, n in enumerate(order)])

    # one that a later operand broadcasts is still 1 here
    own = {n: x.size(i) for i, n in enumerate(a)} | {n: y.size(i) for i, n in enumerate(b)}
    own |= {n: sizes[n] for n in batch + summed}

    def total(group: list[str]) -> int:
        return math.prod(own[name] for name in group)

    left = arranged(x, a, batch + only_a + summed).reshape(total(batch), total(only_a), total(summed))
    right = arranged(y, b, batch + summed + only_b).reshape(total(batch), total(summed), total(only_b))
    product = left.bmm(right)
    order = batch + only_a + only_b
    return order, product.reshape([own[n] for n in order])


def _in_order(t: Any, names: list[str], order: list[str]) -> Any:
    """The dims in that order, of size 1 where there is none."""
    t = t.permute([names.index(n) for n in order if n in names])
    for at, name in enumerate(order):
        if name not in names:
            t = t.unsqueeze(at)
    return t
