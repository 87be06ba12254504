"""Networks of images in compiled functions on a GPU: in channels last within, as eager outside. tests/program/test_channels_last.py has the rest."""

from __future__ import annotations

import copy

import pytest

import shim_torch as torch
from shim_torch import nn
from shim_torch._impl.compile import calls

pytestmark = pytest.mark.devices("cuda")
MODES = ("default", "reduce-overhead")


@pytest.fixture(autouse=True)
def programs(request):
    """Where another thread of Python runs (that of xdist), functions run as they are, and nothing would be tested."""
    before = calls.counts["programs"]
    yield
    assert calls.counts["programs"] > before or "pools" in request.node.name


class Block(nn.Module):
    def __init__(self, inside, outside, stride):
        super().__init__()
        self.a, self.b = nn.Conv2d(inside, outside, 3, stride, 1, bias=False), nn.Conv2d(outside, outside, 3, 1, 1)
        self.by, self.norm = nn.Conv2d(inside, outside, 1, stride, bias=False), nn.BatchNorm2d(outside)

    def forward(self, x):
        return (self.b(self.norm(self.a(x)).relu()) + self.by(x)).relu()


def network():
    torch.manual_seed(0)
    begin = [nn.Conv2d(3, 16, 7, 2, 3, bias=False), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    end = [nn.AvgPool2d(2, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10)]
    model = nn.Sequential(*begin, Block(16, 32, 1), Block(32, 64, 2), *end).cuda().eval()
    for m in model.modules():
        if isinstance(m, nn.BatchNorm2d):
            m.running_mean.normal_(), m.running_var.uniform_(0.5, 2)
    return model


def close(got, expected):
    wide = {torch.float32: 5e-3, torch.float16: 2e-2, torch.bfloat16: 6e-2}[got.dtype]
    assert got.stride() == expected.stride() and got.dtype == expected.dtype
    torch.testing.assert_close(got, expected, rtol=wide, atol=wide)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_values(device, mode, dtype):
    model = network().to(dtype)
    compiled = torch.compile(lambda x: model(x), mode=mode)
    with torch.no_grad():
        for _ in range(8):
            x = torch.randn(2, 3, 64, 64, device=device, dtype=dtype)
            close(compiled(x), model(x))


class Depthwise(nn.Module):
    def __init__(self, inside, between, outside):
        super().__init__()
        self.a, self.c = nn.Conv2d(inside, between, 1, bias=False), nn.Conv2d(between, outside, 1)
        self.b, self.d = (
            nn.Conv2d(between, between, 3, 1, 1, groups=between),
            nn.Conv2d(outside, outside, 3, 1, 1, groups=2),
        )

    def forward(self, x):
        return self.d(self.c(nn.functional.hardswish(self.b(nn.functional.relu6(self.a(x))))))


class Joined(nn.Module):
    def __init__(self, width, classes):
        super().__init__()
        self.down, self.up = nn.Conv2d(width, 2 * width, 3, 2, 1), nn.ConvTranspose2d(2 * width, width, 2, 2)
        self.between, self.last = nn.Conv2d(2 * width, 2 * width, 3, 1, 1), nn.Conv2d(2 * width, classes, 1)

    def forward(self, x):
        y = self.up(self.between(self.down(x).relu()).relu())
        return self.last(torch.cat((x, y), 1).relu()).log_softmax(1)


OTHERS = {
    "depthwise": lambda: nn.Sequential(nn.Conv2d(3, 16, 3), nn.SiLU(), Depthwise(16, 48, 24), Depthwise(24, 64, 8)),
    "joined": lambda: nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), Joined(16, 21)),
    "resized": lambda: nn.Sequential(
        nn.Conv2d(3, 16, 3),
        nn.Upsample(scale_factor=2, mode="bilinear"),
        nn.Conv2d(16, 8, 3),
        nn.Upsample((20, 24)),
        nn.Conv2d(8, 8, 1),
    ),
    "odd": lambda: nn.Sequential(nn.Conv2d(3, 30, 3), nn.ReLU(), nn.Conv2d(30, 50, 3), nn.ReLU(), nn.Conv2d(50, 8, 1)),
    "one": lambda: nn.Sequential(nn.Conv2d(1, 8, 3), nn.Tanh(), nn.Conv2d(8, 1, 3), nn.Sigmoid(), nn.Conv2d(1, 8, 1)),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("kind", OTHERS)
def test_other_networks(device, kind, dtype):
    torch.manual_seed(0)
    model = OTHERS[kind]().cuda().to(dtype)
    compiled = torch.compile(lambda x: model(x), mode="reduce-overhead")
    x = torch.randn(2, 1 if kind == "one" else 3, 32, 32, device=device, dtype=dtype)
    with torch.no_grad():
        for _ in range(5):
            close(compiled(x), model(x))
        model.to(memory_format=torch.channels_last)
        for _ in range(3):
            close(compiled(x), model(x))


def test_autocast(device):
    model = network()
    compiled = torch.compile(lambda x: model(x), mode="reduce-overhead")
    with torch.no_grad(), torch.autocast("cuda", torch.bfloat16):
        for _ in range(6):
            x = torch.randn(2, 3, 64, 64, device=device)
            close(compiled(x), model(x))


@pytest.mark.parametrize("mode", MODES)
def test_what_leaves_lies_as_in_eager(device, mode):
    model = network()

    def each(x):
        found = []
        for layer in model:
            x = layer(x)
            found.append(x)
        return found

    compiled = torch.compile(each, mode=mode)
    with torch.no_grad():
        for format in (torch.contiguous_format, torch.channels_last):
            for _ in range(6):
                x = torch.randn(2, 3, 64, 64, device=device).to(memory_format=format)
                for got, expected in zip(compiled(x), each(x), strict=True):
                    close(got, expected)


CHANGES = {
    "in place": lambda w: w.mul_(1.5),
    "data": lambda w: w.data.add_(0.1),
    "other data": lambda w: setattr(w, "data", torch.randn_like(w)),
    "copy": lambda w: w.copy_(torch.randn_like(w)),
    "from NumPy": lambda w: w.copy_(torch.randn(w.shape, device="cpu")),
    "draws": lambda w: torch.nn.init.normal_(w),
    "element": lambda w: w.view(-1)[3:9].fill_(2),
    "of a list": lambda w: torch._foreach_mul_([w], 1.5),
    "version set back": lambda w: (
        v := w._version,
        w.mul_(1.5),
        torch._C._autograd._unsafe_set_version_counter((w,), (v,)),
    ),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("change", CHANGES)
def test_weights_that_change(device, mode, change):
    model = network()
    compiled = torch.compile(lambda x: model(x), mode=mode)
    x = torch.randn(2, 3, 64, 64, device=device)
    with torch.no_grad():
        for _ in range(5):
            close(compiled(x), model(x))
        for _ in range(3):
            CHANGES[change](model[4].a.weight)
            close(compiled(x), model(x))
            close(compiled(x), model(x))


@pytest.mark.parametrize("mode", MODES)
def test_weights_of_training_and_of_files(device, mode):
    model = network()
    compiled = torch.compile(lambda x: model(x), mode=mode)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    before = copy.deepcopy(model.state_dict())
    x = torch.randn(2, 3, 64, 64, device=device)
    for _ in range(24):  # most are made anew each time, and then within the program
        with torch.no_grad():
            close(compiled(x), model(x))
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()
    model.load_state_dict(before)
    with torch.no_grad():
        for _ in range(3):
            close(compiled(x), model(x))


@pytest.mark.parametrize("mode", MODES)
def test_other_weights_at_the_same_address(device, mode):
    def f(x, a, b):
        return torch.conv2d(torch.conv2d(x, a).relu(), b).relu()

    compiled = torch.compile(f, mode=mode)
    x = torch.randn(2, 8, 32, 32, device=device)
    with torch.no_grad():
        for _ in range(30):
            a, b = torch.randn(16, 8, 3, 3, device=device) / 9, torch.randn(8, 16, 3, 3, device=device) / 12
            close(compiled(x, a, b), f(x, a, b))
            del a, b


def test_a_graph_of_the_user_that_writes(device):
    model = network()
    compiled = torch.compile(lambda x: model(x), mode="reduce-overhead")
    x, w = torch.randn(2, 3, 64, 64, device=device), model[4].a.weight
    with torch.no_grad():
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            w.mul_(1.25)
        for _ in range(5):
            close(compiled(x), model(x))
        for _ in range(3):
            graph.replay()
            close(compiled(x), model(x))


def test_within_a_capture(device):
    model = network()
    compiled = torch.compile(lambda x: model(x), mode="reduce-overhead")
    x = torch.randn(2, 3, 64, 64, device=device)
    with torch.no_grad():
        for _ in range(6):
            compiled(x)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            got = compiled(x)
        model[4].a.weight.mul_(1.5), x.normal_()
        graph.replay()
        close(got, model(x))


def test_on_other_streams(device):
    model = network()
    compiled = torch.compile(lambda x: model(x), mode="reduce-overhead")
    x = torch.randn(2, 3, 64, 64, device=device)
    streams = [torch.cuda.Stream() for _ in range(3)]
    with torch.no_grad():
        for i in range(12):
            if i % 4 == 3:
                model[4].a.weight.mul_(1.1)
                torch.cuda.synchronize()
            expected = model(x)
            torch.cuda.synchronize()
            with torch.cuda.stream(streams[i % 3]):
                got = compiled(x)
                streams[i % 3].synchronize()
                close(got, expected)


@pytest.mark.parametrize("kind", ["max", "avg", "adaptive"])
def test_pools_of_channels_last(device, kind):
    pool = {
        "max": nn.MaxPool2d(3, 2, 1, return_indices=True),
        "avg": nn.AvgPool2d(3, 2, 1),
        "adaptive": nn.AdaptiveAvgPool2d((3, 5)),
    }
    x = torch.randn(3, 7, 20, 19, device=device)
    got, expected = (pool[kind](t) for t in (x.to(memory_format=torch.channels_last), x))
    for a, b in zip(*((t if isinstance(t, tuple) else (t,)) for t in (got, expected)), strict=True):
        assert a.is_contiguous(memory_format=torch.channels_last)
        torch.testing.assert_close(a, b)
