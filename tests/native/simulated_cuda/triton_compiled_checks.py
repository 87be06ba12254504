"""Launches of Triton kernels in compiled functions: what programs, guards and graphs do with them."""

import sys

from triton_compiled import (
    SIMULATED,
    combine,
    counted,
    done,
    double,
    doubled,
    same,
    some,
    status,
    torch,
    tripled,
)

from shim_torch._impl.native import _core


def one_program():
    """Operators and launches after each other are one program, with the results of eager; the first call learns them."""

    def f(x, y):
        z = combine(x + y, y * 2)
        return combine(z, double(z + 1)).relu() - y, z

    for g in (torch.compile(f), torch.compile(f, backend="eager"), torch.compile(f, fullgraph=True)):
        for i in range(4):
            x, y = some(130), some(130)
            got, told = counted(g, (x, y), "programs", "at_once", "learned")
            for a, b in zip(got, f(x, y), strict=True):
                same(a, b)
            if i:
                assert told[1:] == (0, 0) and told[0] <= 1, told
    text = torch.compile(f)
    for _ in range(3):
        text(x, y)
    assert text._shim_compiled.source.count("triton.scaled") == 2, text._shim_compiled.source


def arguments():
    """What is written to is the caller's memory, and another tensor, number or size is seen."""

    def f(x, y, s):
        double(x[4:])
        return combine(x, y, s), combine(y, y, s), combine(x[1:], y[1:], s + 1)

    g = torch.compile(f)
    for i in range(12):
        n = 40 if i < 6 else 36 + i
        x, s = some(n), 0.25 * i
        other = x.clone()
        y, z = (x, other) if i % 3 == 2 else 2 * (some(n),)
        version = x._version
        got, told = counted(g, (x, y, s), "learned")
        assert x._version == version
        for a, b in zip(got, f(other, z, s), strict=True):
            same(a, b)
        same(x, other)
        assert i <= 2 or told == (0,), (i, told)


def addresses():
    """A kernel is compiled for addresses that are multiples of 16, or for any."""
    g = torch.compile(combine)
    x, y = some(70), some(70)
    for i in range(9):
        a, b = x[i % 3 * 2 :][:60], y[i % 3 * 2 :][:60]
        same(g(a, b), combine(a, b))


def reads():
    """Values that are read in between, and memory that somebody asks for."""

    def f(x, y):
        z = combine(x, y)
        if z[0].item() > 0:
            z = double(z)
        w = double(z + 1)
        address = w.data_ptr()
        return combine(w, z), address

    g = torch.compile(f)
    for i in range(8):
        x, y = some(20), some(20)
        x[0] = y[0] = 1 - 2 * (i % 2)
        same(g(x, y)[0], f(x, y)[0])


def parts():
    """A long stretch that ends where values are read runs in parts, and what is behind it too."""

    def f(x, y):
        z = x
        for i in range(60):
            z = combine(z * 0.5, y, 0.25)
            if i == 40 and z.sum().item() > 1e6:
                break
        return z, z + 1

    g = torch.compile(f)
    for i in range(6):
        x, y = some(20), some(20)
        got, told = counted(g, (x, y), "programs", "deferred", "learned")
        for a, b in zip(got, f(x, y), strict=True):
            torch.testing.assert_close(a.cpu(), b.cpu())
        assert not i or told[2] == 0
    assert told[0] == 5, told  # three until the read, two behind it


def order():
    """Launches are done in the order of their calls, and once each."""

    def f(x):
        y = double(x + 1)
        z = combine(y, x)
        double(y)
        return combine(y, z)

    g = torch.compile(f)
    for _ in range(4):
        x = some(16)
        done.clear()
        g(x)
        assert not SIMULATED or done == ["doubled", "scaled", "doubled", "scaled"], done


def guards():
    """With a check left out, a launch is taken for another one."""

    third = some(16)

    def changed(x, y, kernel):
        before = third + 1
        kernel[(1,)](x, x.numel(), BLOCK=64)
        after = y * 2  # as soon as what is before the launch
        return torch.cat((before, after, combine(x, y)))

    def pair():
        return some(16), some(16)

    def both(x):
        return x, x

    def part(x, at):
        return x[at : at + 16], x[32:48]

    cases = {
        "op": (lambda x: (*pair(), doubled), lambda x: (*pair(), tripled)),
        "memory": (lambda x: (*both(some(16)), doubled), lambda x: (*pair(), doubled)),
        "fresh": (lambda x: (*pair(), doubled), lambda x: (*both(some(16)), doubled)),
        "offset": (lambda x: (*part(x, 4), doubled), lambda x: (*part(x, 8), doubled)),
    }
    for name, (known, other) in cases.items():
        for left_out in (None, name):
            g = torch.compile(changed)
            torch.compiler.reset()
            for _ in range(3):
                g(*known(some(64)))
            x = some(64)
            torch.manual_seed(1)
            arguments = other(x.clone())
            torch.manual_seed(1)
            others = other(x.clone())
            _core.trace_leave_out(left_out)
            try:
                got = g(*arguments)
            finally:
                _core.trace_leave_out(None)
            equal = got.cpu().numpy().tobytes() == changed(*others).cpu().numpy().tobytes()
            assert equal == (left_out is None), (name, left_out)


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return combine(x, w)

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        return combine(g, torch.zeros_like(g)), combine(torch.zeros_like(g), double(g * x))


def training():
    """Forward, backward and the optimizer's step are one program."""
    models, steps = [], []
    for compiled in (False, True):
        w = torch.linspace(-1, 1, 50).cuda().requires_grad_()
        optimizer = torch.optim.SGD([w], lr=0.1, momentum=0.9)

        def step(x, w=w, optimizer=optimizer):
            optimizer.zero_grad()
            loss = (Scaled.apply(x * w, w) ** 2).sum()
            loss.backward()
            optimizer.step()
            return loss

        models.append(w)
        steps.append(torch.compile(step) if compiled else step)
    for i in range(6):
        x = some(50)
        want = steps[0](x)
        got, told = counted(steps[1], (x,), "programs", "at_once")
        torch.testing.assert_close(got.cpu(), want.cpu())
        torch.testing.assert_close(models[1].detach().cpu(), models[0].detach().cpu())
        assert i < 3 or told[0] == 1, (told, status())


def graphs():
    """A program with launches is replayed; inputs that moved, and other numbers."""

    def f(x, y, s):
        return combine(double(x + y), y, s) + x

    g = torch.compile(f, mode="reduce-overhead")
    y = some(64)
    ways = []
    for i in range(12):
        x, s = some(64), 0.5 if i < 8 else 1.5
        same(g(x, y, s).clone(), f(x, y, s))
        ways.append(dict(status()["graphs"]))
    assert ways[-1].get("replayed", 0) >= 5 and ways[-1].get("captured", 0) <= 3, ways[-1]
    before = [x.clone() for x in (x, y)]
    writes = torch.compile(lambda x: double(x), mode="reduce-overhead")  # the same memory each time
    for _ in range(6):
        writes(x)
        double(before[0])
        same(x, before[0])


def graphs_after_each_other():
    """A graph reads, and writes to, what the graph before it gave; where that gives it elsewhere, it is another capture."""

    def f(x, y):
        z = combine(x, y)
        w = z * 2
        if z.sum().item() > 1e9:
            return w
        return double(z) + w

    g = torch.compile(f, mode="reduce-overhead")
    x, y = some(64), some(64)
    before = dict(status()["graphs"])
    for i in range(14):
        if i == 8:
            y = some(64)
        x.copy_(some(64))
        same(g(x, y).clone(), f(x, y))
    after = status()["graphs"]
    told = {how: n - before.get(how, 0) for how, n in after.items() if n != before.get(how, 0)}
    assert set(told) == {"plain", "captured", "replayed"} and told["replayed"] >= 16, told


if __name__ == "__main__":
    for part in sys.argv[1:]:
        globals()[part]()
        torch.compiler.reset()
    print("ok")
