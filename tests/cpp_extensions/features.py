"""What the extensions gradients, classes, interface and strides do, printed for program.py."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import torch

Show = Callable[[str, Any], None]
X = torch.arange(8.0).reshape(2, 4)
Y = X.flip(1) / 2 + 0.5


def leaf() -> Any:
    return X.clone().requires_grad_()


def gradients(m: Any, show: Show) -> None:
    def function(x: Any) -> Any:
        values, at = m.largest(x)
        (values * values).sum().backward()
        return [values, at, x.grad]

    def in_place(x: Any) -> Any:
        y = x * 1
        made = m.doubled(y)
        made.sum().backward()
        return [y.detach(), x.grad, made is y]

    show("function", lambda: function(leaf()))
    show("kept", lambda: m.largest(X, keep=True, dim=0))
    show("in place", lambda: in_place(leaf()))
    show("second", lambda: m.second(leaf()))
    show("allowed", lambda: m.unused(leaf(), True))
    show("unused", lambda: m.unused(leaf(), False))
    show("no graph", lambda: m.unused(X, False))
    show("assigned", lambda: m.assigned(X))
    show("hooked", lambda: m.hooked(X))
    show("node", lambda: [m.node(X), m.node(leaf().exp())])


def classes(_: Any, show: Show) -> None:
    ops = torch.ops.shim_cxx_classes

    def recorded() -> Any:
        a, b = leaf(), Y.clone().requires_grad_()
        made = ops.multiplied(a, b, 1.5)
        made.sum().backward()
        return [made.detach(), a.grad, b.grad]

    show("recorded", recorded)
    show("meta", lambda: str(ops.multiplied(X.to("meta"), Y.to("meta"), 1.0).device))
    show("opcheck", lambda: torch.library.opcheck(ops.multiplied.default, (X, Y, 1.0)))
    show("tags", lambda: torch.Tag.pt2_compliant_tag in ops.multiplied.default.tags)
    show("missing", lambda: ops.missing())
    show("schemas", lambda: [str(getattr(ops, n).default._schema) for n in ("size_of", "made")])
    Stack = torch.classes.shim_cxx_classes.Stack
    s = Stack(["a", "bb"])
    show("methods", lambda: [s.size(), s.push("ccc"), s.top(), s.pop(), len(s), *s.lengths()])
    other = s.clone()
    show("merged", lambda: [other.merge(s), other.size(), s.size(), s.first])
    show("type", lambda: [type(s).__name__, str(s._type()), isinstance(s, torch.ScriptObject)])
    show("functions", lambda: [ops.size_of(s), ops.made(3).size()])
    show("copies", lambda: [pickle.loads(pickle.dumps(s)).size(), copy.deepcopy(s).size()])
    show("empty", lambda: Stack([]).pop())
    for name, call in (
        ("constructor", lambda: Stack(3)), ("no argument", lambda: s.push()), ("argument", lambda: s.push(1)),
        ("no method", lambda: s.nothing), ("no class", lambda: torch.classes.shim_cxx_classes.Nothing),
    ):  # fmt: skip
        show(name, call)


PRINTED = (
    [1.0, 10.0, 100.0], [12345.0, 1.0], [1234567890.0], [1.5, 1000.25], [1.5, 123456.25], [0.001, 0.002], [0.001, 1.0],
    [1e-5, 1.0], [-1.5, 2.0], [-12345, 3], [0.0, 0.0], [float("inf"), 1.0], [float("nan"), 1.5], 1.25, 3, True, [],
    [1 + 2j], [[1, -20], [300, 4]], [[[1.5, 2.0], [3.0, 4.0]]] * 2, [[[[1]], [[2]]], [[[10]], [[4]]]], [list(range(25))],
)  # fmt: skip


def interface(m: Any, show: Show) -> None:
    for values in PRINTED:
        show("printed", lambda values=values: m.printed(torch.tensor(values)))
    for dtype in (torch.float32, torch.int64, torch.float16, torch.complex64, torch.bool, torch.bfloat16):
        show("total", lambda dtype=dtype: m.total(X.to(dtype)))
    show("reduced", lambda: m.reduced(torch.arange(10000.0).double()))
    show("options", m.options)
    show("values", lambda: m.values(X))
    show("functional", lambda: [t.double().round(decimals=3) for t in m.functional(X, torch.ones(3, 4))])
    show("seeded", m.seeded)
    show("stored", lambda: m.stored(torch.arange(4.0)))
    h = m.Holder(X)
    show("holder", lambda: [h.tensor is X, h.name, *h.items().values()])
    show("defaults", lambda: [m.defaults(X), m.defaults(X, X, torch.float64, "cpu", m.Mode.Multiply, out=torch.int32)])
    show("objects", lambda: m.objects(X))
    show("no object", lambda: m.objects(3))
    for which in range(8):
        show("checked", lambda which=which: m.checked(X, which))


def strides(m: Any, show: Show) -> None:
    x = torch.arange(24.0).double().reshape(2, 3, 4)
    seen = [x[0, 0], x[0, 0, ::2], x[0].t(), x, x.transpose(0, 2), x[:, 1], x[:, :1].expand(2, 3, 4)]
    for t in seen:
        show("elements", lambda t=t: [m.elements(t, True) == t.flatten().tolist() == m.elements(t, False)])
    for t in [*seen, x.view(2, 1, 3, 4), x[:, :, :2], x.permute(1, 0, 2), x[:1, :1, :1], x.view(1, 24, 1), x[0, 0, 0]]:
        show("collapsed", lambda t=t: [m.collapsed(t), *(m.collapsed(t, d) for d in range(t.dim()))])
        show("reduced", lambda t=t: [m.collapsed(t, d, d) for d in range(t.dim())])
    show("scalar", lambda: m.elements(x[0, 0, 0], False))
    show("out of range", lambda: m.collapsed(x, 3))
    show("out of range", lambda: m.collapsed(x, -1, 3))
    show("dtype", lambda: m.elements(x.float(), False))
    for t in (torch.float32, torch.float16, torch.bfloat16, torch.uint8, torch.int16, torch.int64, torch.bool):
        show("limits", lambda t=t: m.limits(t))
    show("flattened", lambda: m.flattened([X, X.t(), X[0, 0], torch.ones(0, 2), Y]))
    show("flattened", lambda: m.flattened([X.t()]))
    show("flattened nothing", lambda: m.flattened([]))
    show("stepped", lambda: [m.stepped(torch.ones(2)), m.stepped(torch.ones(2).add_(1))])
    show("narrow", lambda: [m.narrow_indices(t) for t in (x, x[0, 0], torch.ones(0), x[:, 0, 0])])
    others = [X, X.double(), X.t(), X[0], X[:, ::2], X.int(), X.to("meta"), torch.ones(2, 4, 1, 1)]

    def said(which: int, a: Any, b: Any) -> str:
        try:
            m.argued(which, a, b)
        except Exception as error:
            return f"{type(error).__name__} {str(error).splitlines()[0]}"
        return "passes"

    for which in range(26):
        texts = [said(which, a, b) for x in others for a, b in ((x, X), (X, x))]
        show(f"argued {which}", lambda texts=texts: list(dict.fromkeys(texts)))
    show("device types", m.device_types)
