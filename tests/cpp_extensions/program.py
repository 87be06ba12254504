"""Builds the extensions of this folder with the torch that is there, and prints what they do: ``python program.py FOLDER``."""

from __future__ import annotations

import os
import re
import sys
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import features
import torch
from torch.utils import cpp_extension
from torch.utils._python_dispatch import TorchDispatchMode

HERE = Path(__file__).resolve().parent


def show(what: str, f: Any) -> None:
    """One line: the value, or the error's class and first line."""
    try:
        value = f()
    except Exception as error:
        if "-v" in sys.argv:
            traceback.print_exc()
        line = (str(error).splitlines() or [""])[0].partition(" (error ")[0]  # ours goes on with where it was
        line = re.sub(r"^\[F[^]]*\] ", "", line)  # PyTorch's says when and where
        print(what, type(error).__name__, line[:90])
        return
    values = value if isinstance(value, (list, tuple)) else [value]
    texts = [f"{v.dtype}{list(v.shape)}{v.tolist()}" if isinstance(v, torch.Tensor) else repr(v) for v in values]
    print(what, " ".join(texts))


def bindings(m: Any) -> None:
    x = torch.arange(6.0).reshape(2, 3)
    show("twice", lambda: m.twice(x=x))
    show("doc", lambda: m.twice.__doc__)
    show("none", lambda: m.twice(None))
    show("wrong", lambda: m.twice("x"))
    show("made", lambda: m.made([2, 1], torch.int16, torch.device("cpu")))
    show("meta", lambda: str(m.made((2,), torch.float64, torch.device("meta")).device))
    show("maybe", lambda: [m.maybe(x, None), m.maybe(x, x)])
    show("halves", lambda: m.halves(x))
    show("several", lambda: m.several(x))
    show("joined", lambda: m.joined([x, x]))
    show("undefined", lambda: m.undefined())
    show("type", lambda: [m.type_of(x), m.device_of(x)])
    show("same", lambda: m.maybe(x, None) is x)


def error_code(call: Any) -> Any:
    """What a device's error says of itself."""
    try:
        return call()
    except torch.AcceleratorError as error:
        return error.error_code


def ended(call: Any) -> list[Any]:
    """How a process ends that makes a call, and what it says on stderr, without the places."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.dup2(write, 2)
        call()
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as said:
        lines = [re.sub(r"^\[(.).*?(\w+\.cpp):\d+\] ", r"\1 \2 ", line.rstrip()) for line in said]
    return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), lines]


def errors(m: Any) -> None:
    for i in range(10):
        show(f"check{i}", lambda i=i: m.check(i))
    show("ends", lambda: ended(lambda: m.check(10)))
    show("code", lambda: error_code(lambda: m.check(8)))
    x = torch.ones(2, 3)
    show("pointer", lambda: m.pointer(x))
    show("wrong pointer", lambda: m.pointer(x.int()))
    show("accessor", lambda: m.first(torch.ones(2)))
    show("matmul", lambda: m.matmul(x, x))
    show("size", lambda: m.size(x, 2))
    show("caught", lambda: m.caught(x, torch.ones(4)))
    show("dispatch", lambda: m.dispatch(x.long()))

    show("repeats", lambda: m.repeats("Thing"))
    torch.use_deterministic_algorithms(True)
    show("does not repeat", lambda: m.repeats("Thing"))
    torch.use_deterministic_algorithms(False)

    def fails(_: Any) -> None:
        raise KeyError("mine")

    show("python", lambda: m.call_back(fails, x))
    show("back", lambda: m.call_back(lambda t: t + 1, x))


def elements(m: Any) -> None:
    for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.uint8):
        show(f"plus_one {dtype}", lambda dtype=dtype: m.plus_one(torch.arange(5).to(dtype)))
    show("large", lambda: int((m.plus_one(torch.zeros(10000)) == 1).sum()))
    show("bool", lambda: m.plus_one(torch.ones(2, dtype=torch.bool)))
    x = torch.arange(6.0).reshape(2, 3)
    show("transposed", lambda: [m.transposed(x), m.transposed(x.t().double())])
    show("trace", lambda: m.trace(x.double()))
    show("parallel", lambda: m.operators_in_parallel(x))
    show("throws", lambda: m.throw_in_parallel(100))
    show("halves", lambda: m.half_bits())


def operators(m: Any) -> None:
    x, y = torch.arange(6.0).reshape(2, 3), torch.tensor([[2.0, 1.0, 2.0], [1.0, 8.0, 4.0]])
    show("text", lambda: [m.text(x), m.text(x.t().half()), m.text(torch.ones((), dtype=torch.bool))])
    show("indexed", lambda: m.indexed(x))
    show("written", lambda: m.written(x))
    show("factories", lambda: m.factories())
    show("arithmetic", lambda: m.arithmetic(x, y))
    show("int", lambda: m.int_plus_one(torch.arange(2, dtype=torch.int8)))
    show("blob", lambda: m.blob())
    dropped: list[int] = []
    show("deleter", lambda: [m.with_deleter(lambda: dropped.append(1)), len(dropped)])
    show("dropped", lambda: len(dropped))
    show("modes", lambda: m.modes(x.requires_grad_()))
    show("gradient", lambda: m.gradient())
    show("out", lambda: m.out_form(y))
    show("padded", lambda: [m.padded(y), m.reflected(y)])
    show("drawn", lambda: m.drawn(torch.manual_seed(1234)))
    show("converted", lambda: m.converted(y, torch.ones(1, dtype=torch.int32)))


class Refuses(TorchDispatchMode):
    """A sum that is called within, from C++ too, is an error of Python's."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func.overloadpacket is torch.ops.aten.add:
            raise KeyError("mine")
        return func(*args, **(kwargs or {}))


def library(_: Any) -> None:
    ops = torch.ops.shim_cxx_test
    x = torch.tensor([1.0, -2.0])
    show(
        "schema",
        lambda: [
            str(getattr(ops, n).default._schema)
            for n in ("scaled", "counted", "fill_with", "total", "inferred", "old_way", "multiplied", "next", "routed")
        ],
    )
    show(
        "scaled",
        lambda: [
            ops.scaled(x, 2),
            ops.scaled(x, 0.5, 1),
            ops.scaled(torch.tensor([3]), 2, plus=1),
            ops.scaled(torch.tensor([3]), True),
        ],
    )
    show("counted", lambda: ops.counted(x, [2, 1], "abc", f=3.0))
    y = x.clone()
    show("fill_with", lambda: [ops.fill_with(y, 7), y])
    show("opcheck", lambda: torch.library.opcheck(ops.fill_with.default, (x.clone(), 7)))
    show("total", lambda: ops.total([x, x, x]))
    show("multiplied", lambda: sorted(ops.multiplied({"a": x, "b": x}, {"a": 2, "b": 3}).items(), key=lambda i: i[0]))
    edges, nodes = [("z", "b", 2), ("b", "z", 3), ("z", "z", 4)], {"z": x, "b": x + 1, "a": x}
    show("routed", lambda: ops.routed(edges, nodes, (7, 0.5)))
    show("no such key", lambda: ops.routed([("none", "b", 1)], nodes, (7, 0.5)))
    show("not a dictionary", lambda: ops.multiplied([x], {"a": 2}))
    show("next", lambda: [ops.next(2), ops.next(2.5), ops.next(True)])
    show("fails", lambda: ops.fails(x))
    show("standard exception", lambda: ops.thrown(x, 0))
    show("wrong pointer", lambda: ops.thrown(x.int(), 1))
    with Refuses():
        show("Python's error", lambda: ops.thrown(x, 2))
    show("after it", lambda: ops.thrown(x, 2))
    show("inferred", lambda: ops.inferred(x, 2, [2, 1]))
    show("old_way", lambda: ops.old_way(x))
    show("wrong", lambda: ops.scaled("x", 2))
    a, b = x.clone().requires_grad_(), torch.zeros(2, requires_grad=True)
    out = ops.square(a, 3.0, b)
    show("square", lambda: out.detach())
    out.sum().backward()
    show("grads", lambda: [a.grad, b.grad])
    show("without", lambda: ops.square(a, 2.0).requires_grad)
    show("gradgrad", lambda: torch.autograd.gradcheck(lambda t: ops.square(t, 3.0), x.double().requires_grad_()))
    show("twice", lambda: torch.autograd.gradgradcheck(lambda t: ops.square(t, 3.0), x.double().requires_grad_()))


def build(folder: Path, run: Any) -> Any:
    """The extension of one feature."""
    name = run.__name__
    target = folder / name
    target.mkdir(parents=True, exist_ok=True)
    sources = [str(HERE / f"{name}.cpp")]
    return cpp_extension.load(
        f"shim_cxx_{name}",
        sources,
        extra_cflags=["-O0"],
        build_directory=str(target),
        is_python_module=run not in (library, features.classes),
    )


def main(folder: Path) -> None:
    """Each extension in turn; they are compiled two at a time."""
    first = (bindings, errors, elements, operators, library)
    more = (features.gradients, features.classes, features.interface, features.strides)
    with ThreadPoolExecutor(2) as pool:
        modules = list(pool.map(lambda run: build(folder, run), (*first, *more)))
    for run, module in zip((*first, *more), modules, strict=True):
        print(f"== {run.__name__}")
        run(module, *([show] if run in more else []))
    code = "at::Tensor plus(at::Tensor a, at::Tensor b) { return a + b; }"
    target = folder / "inline"
    target.mkdir(exist_ok=True)
    inline = cpp_extension.load_inline(
        "shim_cxx_inline", code, functions=["plus"], extra_cflags=["-O0"], build_directory=str(target)
    )
    print("== inline")
    show("plus", lambda: inline.plus(torch.ones(2), torch.ones(2)))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
