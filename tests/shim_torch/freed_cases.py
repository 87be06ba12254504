"""Uses of tensors whose storage was freed or shrunk, and what each gives. Prints a JSON line each.

A program of its own: what reads freed memory ends the process. ``t`` is a 4 by 5 tensor of 1 to 20, ``free()`` gives
its memory back, ``Frees()`` is an index 0, and a float 2, that does so when it is asked for its value.
"""

import copy
import functools
import json

import numpy as np

NOT_ALLOCATED = "RuntimeError: The tensor has a non-zero number of elements, but its data is not allocated yet."
FREED = f"{NOT_ALLOCATED}\nIf you're using torch.compile/export/fx, it is likely"


def outside(sizes, strides, need, offset=0, held=0):
    """PyTorch's text for a view beyond its storage, of 4-byte elements."""
    return (
        f"RuntimeError: setStorage: sizes {sizes}, strides {strides}, storage offset {offset}, and itemsize 4 "
        f"requiring a storage size of {need} are out of bounds for storage of size {held}"
    )


ROW, COLUMNS, ALL = outside([5], [1], 20), outside([5, 4], [1, 5], 80), outside([4, 5], [5, 1], 80)

# Expressions after free(); as PyTorch 2.13 where that raises. Where it reads at address 0, the text it has for other
# operators.
AFTER_FREE = {
    **dict.fromkeys(("t[0]", "t[0, 0]", "t[0, 0].item()", "list(t)", "t.unbind()", "t.select(0, 0)"), ROW),
    **dict.fromkeys(("t.t()", "t @ t.t()", "t.transpose(0, 1)", "t.permute(1, 0)", "t.mT", "t.T", "t.t_()",
                     "t.logsumexp(0)"), COLUMNS),
    **dict.fromkeys(("t.squeeze()", "t.as_strided((4, 5), (5, 1))", "t2.set_(t)", "t.expand_as(t)",
                     "torch.fft.fft(t)"), ALL),
    "t.unsqueeze(0)": outside([1, 4, 5], [20, 5, 1], 80),
    "t.expand(2, 4, 5)": outside([2, 4, 5], [0, 5, 1], 80),
    **dict.fromkeys(("t[None]", "torch.stack([t2, t])"), outside([1, 4, 5], [20, 5, 1], 80)),
    "t[1:]": outside([3, 5], [5, 1], 80, 5),
    "t.narrow(0, 1, 2)": outside([2, 5], [5, 1], 60, 5),
    "t.unfold(0, 2, 1)": outside([3, 5, 2], [5, 1, 5], 80),
    "t.diagonal()": outside([4], [6], 76),
    "t.split(2)": outside([2, 5], [5, 1], 40),
    "put(t, 0, 3)": ROW,
    "put(t, (slice(None), 0), t2[:, 0])": outside([4], [5], 64),
    "row.item()": "RuntimeError: a Tensor with 5 elements cannot be converted to Scalar",
    **dict.fromkeys(("one.item()", "float(one)", "int(one)", "bool(one)", "one + 1", "'%s' % one",
                     "f'{one:.2f}'"), FREED),
    **dict.fromkeys(
        (
            "t + 1", "t2 + t", "t * t2", "t.sum()", "t.mean(0)", "t.max()", "t.argmax(1)", "t.cumsum(0)", "t.sort()",
            "t.softmax(0)", "t.clone()", "t.to(torch.float64)", "t.half()",
            "t.contiguous(memory_format=torch.preserve_format).exp()",
            "t.sin()", "t.sin_()", "t.add_(1)", "t.mul_(t2)", "t.fill_(1)", "t.zero_()", "t.normal_()",
            "t.uniform_()", "t.copy_(t2)",
            "t2.copy_(t)", "torch.add(t2, 1, out=t)", "torch.cat([t2, t])", "torch.where(t2 > 0, t, 0)",
            "torch.equal(t, t2)", "t.isnan()",
            "t.index_select(0, at)", "t[at]", "t[t2 > 3]", "t2[lost]", "t2[mask]", "t.gather(0, at[:, None])",
            "t.nonzero()",
            "t.masked_fill_(t2 > 3, 1)", "t.scatter_(0, at[:, None], 1.0)", "t2.masked_fill(mask, 0)", "t.take(at)",
            "t.flip(0)",
            "t.tril()", "t.multinomial(1)", "torch.einsum('ij,kj->ik', t2, t2 * t)", "torch.addmm(t, t2, five)",
            "torch.histc(t)", "torch.bincount(lost)", "t.unique()",
            "F.layer_norm(t, (5,))", "F.relu(t)", "F.gelu(t)", "F.dropout(t)", "F.cross_entropy(t, at)",
            "F.embedding(at, t)",
            "torch._foreach_add_([t2, t], 1)", "F.linear(t2, t)",
            "t.numpy()", "t.__array__()", "t.__dlpack__()", "_core.to_numpy(t)", "torch.from_dlpack(t) + 1",
            "torch.tensor(t)",
            "view2 + 1", "turned.contiguous()", "row.sum()", "part.clone()", "torch.nn.utils.clip_grad_norm_(p, 1.0)",
            "torch.optim.SGD([p], 0.1).step()", "torch.cdist(t, t2)", "t.var()", "t.topk(1)",
        ),
        NOT_ALLOCATED,
    ),
    **dict.fromkeys(("t.tolist()", "repr(t)"),
                    "RuntimeError: tolist() shouldn't be called on a tensor with unallocated storage"),
}  # fmt: skip
# What needs no memory goes on, and what makes memory anew.
ALLOWED = {
    "t.shape, t.stride(), t.is_contiguous(), t.storage_offset(), t.dtype":
        "[[4, 5], [5, 1], true, 0, \"torch.float32\"]",
    "t.data_ptr()": "0",
    "t.untyped_storage().nbytes(), t.untyped_storage().tolist(), t.untyped_storage().data_ptr()": "[0, [], 0]",
    "t.view(20).shape, t.view(torch.int32).shape, t.detach().shape, t.data.shape, t[...].shape, t.reshape(2, 10).shape":
        "[[20], [4, 5], [4, 5], [4, 5], [4, 5], [2, 10]]",
    "torch.empty_like(t).shape, torch.zeros_like(t).sum().item(), t.new_ones(2).tolist()": "[[4, 5], 0.0, [1.0, 1.0]]",
    "t[0:0].sum().item(), t[4:].tolist(), (t[4:] + 1).shape, t[:0].numpy().shape": "[0.0, [], [0, 5], [0, 5]]",
    "t.resize_(4, 5).untyped_storage().nbytes(), t.resize_(5, 5).fill_(2).sum().item()": "[0, 50.0]",
    "copy.deepcopy(t).shape, (copy.deepcopy(t).fill_(2) + 0).sum().item()": "[[4, 5], 40.0]",
    "t.to('meta').shape": "[4, 5]",
    "t.untyped_storage().resize_(80) and (t.fill_(2).sum().item(), row.tolist(), one.item())":
        "[40.0, [2.0, 2.0, 2.0, 2.0, 2.0], 2.0]",
    "t.untyped_storage().resize_(40) and (t.view(20).shape, t.as_strided((10,), (1,)).fill_(3).sum().item())":
        "[[20], 30.0]",
}  # fmt: skip
# Expressions after t.untyped_storage().resize_(8), which leaves two elements.
AFTER_SHRINK = {
    **dict.fromkeys(
        ("t + 1", "t.fill_(1)", "t.clone()", "t.sum()", "t.copy_(t2)", "t2.copy_(t)", "t.tolist()", "t.numpy()",
         "view2 * 2",
         "t.view(4, 5).exp()", "t.__dlpack__()", "torch.add(t2, 1, out=t)", "t.squeeze()"),
        outside([4, 5], [5, 1], 80, held=8),
    ),
    "t[3]": outside([5], [1], 80, 15, 8),
    "row.tolist()": outside([5], [1], 20, held=8),
    "one.item()": outside([], [], 80, 19, 8),
    "part.sum()": outside([2, 5], [5, 1], 60, 5, 8),
    "t.view(20).as_strided((2,), (1,)).tolist(), first.item(), t.as_strided((2,), (1,)).sum().item()":
        "[[1.0, 2.0], 1.0, 3.0]",
    "t.data_ptr() == t.untyped_storage().data_ptr() != 0": "true",
}  # fmt: skip
# Memory goes while the arguments of an operator, or the key of an index, are converted.
WHILE_CONVERTED = {
    "t[Frees()]": ROW,
    "put(t, Frees(), 3)": ROW,
    "put(t, (slice(Frees(), None), 0), 3)": ALL,
    "put(t, 0, Frees())": None,
    "t.select(0, Frees())": ROW,
    "t.narrow(0, Frees(), 1)": outside([1, 5], [5, 1], 20),
    "t.view(Frees() or 20).sum()": None,
    "t.sum(Frees())": None,
    "t.index_fill_(0, at, Frees())": None,
    "torch.tensor([Frees(), t[0, 0]])": None,
    "t.apply_(lambda x: free() or x)": None,
    "t.map_(t2, lambda x, y: free() or x)": None,
    "t.masked_fill(t2 > 3, Frees())": None,
    "t.cumsum(Frees())": None,
    "t.roll(Frees())": None,
    "t[[Frees(), 1]]": None,
    "t[Array()]": None,
    "put(t, slice(0, 2), Array())": None,
}
# Memory that others hold by its address lives as long as they do.
HELD = {
    "held(_core.to_numpy(t))": "[20.0, 0]",
    "held(np.from_dlpack(t))": "[20.0, 0]",
    "held(torch.from_dlpack(t.__dlpack__()).numpy())": "[20.0, 0]",
    "held(np.asarray(t))": "RuntimeError: Trying to resize storage that is not resizable",
    "held(t.numpy())": "RuntimeError: Trying to resize storage that is not resizable",
    "held(t.untyped_storage().tolist())": "[[0, 0, 128, 63], 0]",
    "collected_while_listed()": "[[19998.0, 19999.0], 0]",
    "backward(free)": NOT_ALLOCATED,
    "backward(lambda: (free(), t.untyped_storage().resize_(80), t.data.fill_(3)))": "6.0",
}


def _converted(free):
    """A number and a sequence that free while they are converted."""

    class Frees(float):
        def __new__(cls):
            return float.__new__(cls, 2.0)

        def __index__(self):
            free()
            return 0

        __int__ = __index__

        def __float__(self):
            free()
            return 2.0

    class Array:
        def __array__(self, dtype=None, copy=None):
            free()
            return np.array([0, 1])

    return Frees, Array


def _collected_while_listed(torch):
    """A list whose making collects garbage that frees the storage."""

    class Cycle:
        def __del__(self):
            t.untyped_storage().resize_(0)

    t = torch.arange(20000.0).reshape(10000, 2)  # so many lists are made that a collection runs
    cycle = Cycle()
    cycle.own = cycle
    del cycle
    rows = t.tolist()
    return rows[-1], t.untyped_storage().nbytes()


def world(torch):
    """The names of the expressions."""
    from shim_torch._impl.native import _core

    F = torch.nn.functional
    t = torch.arange(20.0).reshape(4, 5) + 1
    t2, at, lost, mask = t + 0, torch.tensor([1, 0, 1, 2]), torch.tensor([1, 0]), t > 3
    first, one, row, part, view2, turned = t[0, 0], t[3, 4], t[0], t[1:3], t.view(4, 5), t.t()
    five = torch.ones(5, 5)
    p = torch.nn.Parameter(t.data)
    p.grad = t.data
    for gone in (lost, mask):
        gone.untyped_storage().resize_(0)

    def free():
        t.untyped_storage().resize_(0)

    def put(to, key, value):
        to[key] = value
        return to

    Frees, Array = _converted(free)

    def held(array):
        free()
        spread = [torch.ones(4, 5) * 9 for _ in range(50)]
        last = array[:4] if isinstance(array, list) else float(array.max())
        return last, len(spread) and t.untyped_storage().nbytes()

    collected_while_listed = functools.partial(_collected_while_listed, torch)

    def backward(then):
        x = t.requires_grad_()
        y = (x * x)[0, 0]
        with torch.no_grad():
            then()
        y.backward()
        return x.grad[0, 0].item()

    return {**locals(), "copy": copy, "np": np, "_core": _core}


def result(expression, names):
    try:
        return json.dumps(eval(expression, names), default=str)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def main():
    import shim_torch as torch

    torch.set_num_threads(1)
    shrink = "t.untyped_storage().resize_({})"
    for group, first in (
        ("AFTER_FREE", shrink.format(0)),
        ("ALLOWED", shrink.format(0)),
        ("AFTER_SHRINK", shrink.format(8)),
        ("WHILE_CONVERTED", "0"),
        ("HELD", "0"),
    ):
        for expression in globals()[group]:
            names = world(torch)
            eval(first, names)
            print(json.dumps([group, expression, result(expression, names)]), flush=True)


if __name__ == "__main__":
    main()
