"""Compiled functions on the simulated driver: operators on CUDA are deferred, and run where and when eager has them seen."""

import ctypes
import types

import pytest

import shim_torch as torch
import shim_torch_proxy
from shim_torch._impl.native import _core
from shim_torch.nn import functional as F

driver = ctypes.CDLL("libcuda.so.1")
driver.simulated_calls.restype = ctypes.c_char_p


def status():
    return shim_torch_proxy.torch_proxy_status()["compile"]


def calls(f):
    """What the driver was asked for: launches, records, waits, copies, graphs."""
    driver.simulated_trace(1)
    f()
    told = driver.simulated_calls().decode()
    driver.simulated_trace(0)
    return [c for c in told.split("; ") if c]


def some(*shape):
    return torch.randn(*shape).cuda()


def chain(x, y):
    z = (x + y).relu() * 2.5
    return z, (z - y).sigmoid().sum(1)


def values():
    compiled = torch.compile(chain)
    for i in range(4):
        x, y = some(5, 8), some(5, 8)
        before = status().get("deferred", 0)
        for a, b in zip(compiled(x, y), chain(x, y), strict=True):
            torch.testing.assert_close(a.cpu(), b.cpu())
        assert (status()["deferred"] > before) == (i > 0)
    told = calls(lambda: compiled(x, y))
    assert len(told) < len(calls(lambda: chain(x, y))), told
    assert not [why for _, why in status()["at_once_because"] if "CUDA" in why]


def columns():
    """Numbers of channels beside images with channels last, and rows beside matrices: whole accesses, and misaligned ones."""

    def scaled(x, w, b):
        return (x * w + b).relu(), x.sigmoid() - b

    cases = [((2, 8, 3, 5), (8, 1, 1)), ((2, 6, 3, 5), (6, 1, 1)), ((7, 12), (12,)), ((3, 4, 9), (9,))]
    for sizes, rows in cases:
        compiled = torch.compile(scaled)
        for i in range(6):
            x, w, b = some(*sizes), some(*rows), some(int(torch.tensor(rows).prod()) + 1)[i % 2 :][: rows[0]].view(rows)
            if len(sizes) == 4:
                x = x.to(memory_format=torch.channels_last)
            for got, expected in zip(compiled(x, w, b), scaled(x, w, b), strict=True):
                assert got.stride() == expected.stride()
                torch.testing.assert_close(got.cpu(), expected.cpu())


def training():
    torch.manual_seed(0)
    models = [torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.LayerNorm(8), torch.nn.GELU(), torch.nn.Linear(8, 3))]
    models.append(
        torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.LayerNorm(8), torch.nn.GELU(), torch.nn.Linear(8, 3))
    )
    models[1].load_state_dict(models[0].state_dict())
    steps = []
    for model in models:
        model.cuda()
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)

        def step(x, model=model, optimizer=optimizer):
            optimizer.zero_grad()
            loss = (model(x) ** 2).mean()
            loss.backward()
            optimizer.step()
            return loss

        steps.append(step)
    steps[1] = torch.compile(steps[1])
    for _ in range(5):
        x = some(4, 6)
        a, b = (step(x) for step in steps)
        torch.testing.assert_close(a.cpu(), b.cpu())
    for a, b in zip(models[0].parameters(), models[1].parameters(), strict=True):
        torch.testing.assert_close(a.cpu(), b.cpu())


# What somebody outside sees, and what it is given: each runs what is deferred.
OUTSIDE = {
    "synchronize": lambda y: torch.cuda.synchronize(),
    "stream.synchronize": lambda y: torch.cuda.current_stream().synchronize(),
    "query": lambda y: torch.cuda.current_stream().query(),
    "record": lambda y: torch.cuda.Event().record(),
    "current_stream": lambda y: torch.cuda.current_stream(),
    "stream": lambda y: torch.cuda.stream(torch.cuda.Stream()).__enter__() and None,
    "raw stream": lambda y: torch._C._cuda_getCurrentRawStream(0),
    "allocated": lambda y: torch.cuda.memory_allocated(),
    "statistics": lambda y: torch.cuda.memory_stats(),
    "empty_cache": lambda y: torch.cuda.empty_cache(),
    "set_device": lambda y: torch.cuda.set_device(0),
    "data_ptr": lambda y: y.data_ptr(),
    "interface": lambda y: y.__cuda_array_interface__,
    "dlpack": lambda y: y.__dlpack__(),
    "tf32": lambda y: _core.gemm_flag("allow_tf32", not _core.gemm_flag("allow_tf32")),
    "values": lambda y: y.tolist(),
}


def outside():
    for name, ask in OUTSIDE.items():
        where = types.SimpleNamespace(launched=None)

        def f(x, ask=ask, where=where):
            y = x * 2
            z = y + 1
            driver.simulated_trace(1)
            with torch.cuda.stream(None):
                ask(y)
            where.launched = [c for c in driver.simulated_calls().decode().split("; ") if c.startswith("launch")]
            driver.simulated_trace(0)
            return z

        compiled = torch.compile(f)
        stream = torch.cuda.current_stream()
        for i in range(3):
            x = some(4)
            got = compiled(x)
            torch.cuda.set_stream(stream)
            assert bool(where.launched) == (i > 0), (name, where.launched)
            torch.testing.assert_close(got.cpu(), (x * 2 + 1).cpu())


def streams():
    """Each operator runs on the stream that was current at its call, whenever that is."""
    side = torch.cuda.Stream()

    def f(x):
        y = x * 2
        with torch.cuda.stream(side):
            z = x + 1
        return y, z, (x - 3) * 2

    compiled = torch.compile(f)
    x = some(4)
    wanted = calls(lambda: f(x))
    for _ in range(3):
        told = calls(lambda: compiled(x))
    seen = [c for c in told if c.startswith("launch")]
    assert [c for c in wanted if c.startswith("launch")][:2] == seen[:2] and len(seen) == 3, (told, wanted)


def replays():
    compiled = torch.compile(chain, mode="reduce-overhead")
    x, y = some(5, 8), some(5, 8)
    for _ in range(6):
        x.copy_(some(5, 8))
        told = calls(lambda: [g.cpu() for g in compiled(x, y)])
        got = [g.cpu() for g in compiled(x, y)]
        for a, b in zip(got, chain(x, y), strict=True):
            torch.testing.assert_close(a, b.cpu())
    assert any(c.startswith("graph") for c in told) and not any(c.startswith("launch") for c in told), told
    assert status()["graphs"]["captured"] == 1 and status()["graphs"]["replayed"] > 4, status()["graphs"]
    first, _ = compiled(x, y)
    kept = first.clone()
    second, _ = compiled(x, y)
    assert torch.equal(second.cpu(), kept.cpu())
    for touch in (lambda: first.cpu(), lambda: first + 1, lambda: first[1:]):
        with pytest.raises(RuntimeError, match="output of CUDAGraphs that has been overwritten by a subsequent run"):
            touch()
    # Inputs that move are copied.
    for _ in range(4):
        x, y = some(5, 8), some(5, 8)
        for a, b in zip(compiled(x, y), chain(x, y), strict=True):
            torch.testing.assert_close(a.cpu(), b.cpu())


def fed_back():
    """What a call gave is the next one's input."""
    step = torch.compile(lambda h: (h * 2 + 1).sin(), mode="reduce-overhead")
    h = wanted = some(7)
    for _ in range(9):
        h = step(h)
        wanted = (wanted * 2 + 1).sin()
        torch.testing.assert_close(h.cpu(), wanted.cpu())
    assert status()["graphs"].get("replayed", 0) > 3, status()["graphs"]


def graph_step(model, optimizer, compiled):
    """A step, as a graph where it is compiled."""

    def step(x):
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), x[:, :3])
        loss.backward()
        optimizer.step()
        return loss

    return torch.compile(step, mode="reduce-overhead") if compiled else step


def graph_training():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.GELU(), torch.nn.Linear(8, 3)).cuda()
    other = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.GELU(), torch.nn.Linear(8, 3)).cuda()
    other.load_state_dict(model.state_dict())
    losses = []
    for m, compiled in ((model, False), (other, True)):
        optimizer = torch.optim.SGD(m.parameters(), lr=0.05)

        run = graph_step(m, optimizer, compiled)
        torch.manual_seed(1)
        losses.append([run(some(4, 6)).item() for _ in range(8)])
    torch.testing.assert_close(*map(torch.tensor, losses))
    assert status()["graphs"].get("replayed", 0) > 2, status()["graphs"]


OPTIMIZERS = [
    ("AdamW", {}),
    ("Adam", {"amsgrad": True, "weight_decay": 0.1, "maximize": True}),
    ("AdamW", {"capturable": True}),
    ("SGD", {"momentum": 0.9, "nesterov": True}),
    ("Adagrad", {"lr_decay": 0.1}),
    ("RMSprop", {"momentum": 0.9, "centered": True}),
    ("NAdam", {}),
    ("RAdam", {}),
]


def graph_optimizers():
    """One graph, whatever the rate and the count of steps: a program's numbers are given to it before each replay."""
    for name, settings in OPTIMIZERS:
        torch.manual_seed(0)
        models = [torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.GELU(), torch.nn.Linear(8, 3)) for _ in range(2)]
        models[1].load_state_dict(models[0].state_dict())
        sides = []
        before = dict(status().get("graphs", {}))
        for m, compiled in zip(models, (False, True), strict=True):
            optimizer = getattr(torch.optim, name)(m.cuda().parameters(), lr=0.02, **settings)

            run = graph_step(m, optimizer, compiled)
            torch.manual_seed(1)
            x = some(4, 6)
            for i in range(12):
                optimizer.param_groups[0]["lr"] = 0.02 / (1 + i)
                if i == 8 and "step" in optimizer.state[m[0].bias]:  # what somebody writes counts
                    for p in m.parameters():
                        optimizer.state[p]["step"].fill_(2)
                x.copy_(some(4, 6))
                run(x)
            state = [v for p in m.parameters() for v in (p, *optimizer.state[p].values())]
            sides.append([v.cpu() for v in state])
        for a, b in zip(*sides, strict=True):
            torch.testing.assert_close(b, a)
        graphs = {how: n - before.get(how, 0) for how, n in status()["graphs"].items()}
        early = name == "Adagrad"  # it has its states before the first step
        assert graphs == {"plain": 3 - early, "captured": 1, "replayed": 7 + early}, (name, settings, graphs)
        assert "_step.default" in run._shim_compiled.source


def first_call():
    """It takes no more memory than the function as it is, also where breaks are forbidden: what backward has read goes."""
    words, head = torch.nn.Embedding(512, 8), torch.nn.Linear(8, 512, bias=False)
    torch.nn.ModuleList([words, head]).cuda().bfloat16()
    ids = torch.arange(260).reshape(2, 130).cuda() % 512

    def step():
        logits = head(words(ids))
        scores = logits[:, :-1].reshape(-1, 512)
        loss = F.cross_entropy(scores.float(), ids[:, 1:].reshape(-1))
        loss.backward()
        words.weight.grad = head.weight.grad = None

    peaks = []
    for run in (step, step, torch.compile(step), torch.compile(step, fullgraph=True)):
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        run()
        peaks.append(torch.cuda.max_memory_allocated() - before)
    assert len({peak >> 16 for peak in peaks}) == 1, peaks
