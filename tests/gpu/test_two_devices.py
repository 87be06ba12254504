"""Two GPUs in one process: every device works whatever device is current, and the current one stays so.

Against the CPU's results; parts run without a GPU too, on the simulated driver, which refuses what mixes contexts (tests/native).
"""

import threading

import pytest

import shim_torch as torch
import shim_torch.nn.functional as F
from shim_torch import nn

pytestmark = [
    pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs"),
    pytest.mark.usefixtures("the_current_device_stays"),
]
ONE = "cuda:1"


def there(t):
    return t.to(ONE) if isinstance(t, torch.Tensor) else t


def same(f, *args, close=1e-5):
    """f on the CPU and on device 1, with device 0 current."""
    expected, found = f(*args), f(*map(there, args))
    for x, y in [(found, expected)] if isinstance(found, torch.Tensor) else zip(found, expected, strict=True):
        assert x.device == torch.device("cuda", 1), x.device
        torch.testing.assert_close(x.cpu(), y, rtol=close, atol=close)


POINTWISE = {
    "add": lambda x, y: x + y,
    "several": lambda x, y: torch.where(x > 0, x * 2.5, y.exp()).clamp_(-1, 2),
    "in place": lambda x, y: x.clone().mul_(y).add_(1).neg_(),
    "fill": lambda x, y: (x.clone().zero_() + 1, torch.full_like(x, 7), x.new_ones(3), torch.zeros_like(y[:, ::2])),
    "cast": lambda x, y: (x.double(), y.half().float(), x.t().contiguous(), x.to(torch.int64)),
}
OTHERS = {
    "sums": lambda x, y: (x.sum(), x.mean(1), x.amax(0), x.var(1), (x > 0).any(), x.argmax(1)),
    "rows": lambda x, y: (x.softmax(1), x.log_softmax(0), F.layer_norm(x, (64,)), x.cumsum(1)),
    "places": lambda x, y: (x[3:5, ::2], x[torch.tensor([1, 0], device=x.device)], torch.cat([x, y]), x.flip(1), x.t()),
    "order": lambda x, y: (*x.sort(1), *x.topk(3), x.abs().median()),
    "products": lambda x, y: (x @ y.t(), torch.addmm(y[:, :32], x, y.t()), torch.bmm(x[None], y.t()[None])),
}


@pytest.mark.parametrize("name", POINTWISE)
def test_pointwise(name):
    same(POINTWISE[name], torch.randn(32, 64), torch.randn(32, 64))


@pytest.mark.parametrize("name", OTHERS)
def test_operators(name):
    same(OTHERS[name], torch.randn(32, 64), torch.randn(32, 64), close=1e-4)


def test_factories():
    made = [
        torch.ones(5, device=ONE),
        torch.zeros(5, device=torch.device(ONE)),
        torch.arange(5, device=ONE),
        torch.full((2,), 3.0, device=ONE),
        torch.tensor([1, 2, 3], device=ONE),
        torch.eye(3, device=ONE),
        torch.empty(0, device=ONE),
    ]
    with torch.device(ONE):
        made.append(torch.ones(3))
    with torch.cuda.device(1):
        made += [torch.ones(3, device="cuda"), torch.tensor([4.0]).cuda()]
    assert all(t.device == torch.device(ONE) for t in made)
    sums = [t.sum().item() for t in made]
    assert sums == [5, 0, 10, 6, 6, 3, 0, 3, 3, 4]
    assert torch.ones(2, device="cuda").device == torch.device("cuda:0")


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.bool, torch.complex64])
def test_copies_between_devices(dtype):
    host = torch.arange(-300, 300).to(dtype).view(20, 30)
    a = host.to("cuda:0")
    for moved in (a.to(ONE), a.cuda(1), a.to(ONE, non_blocking=True), torch.empty_like(a, device=ONE).copy_(a)):
        assert moved.device == torch.device(ONE) and torch.equal(moved.cpu(), host)
        assert torch.equal(moved.to("cuda:0").cpu(), host)
    assert torch.equal(a.t().to(ONE).cpu(), host.t()) and torch.equal(a[:, ::3].to(ONE).cpu(), host[:, ::3])
    assert torch.equal(there(host).cpu(), a.to(ONE).cpu())


def test_copies_that_cast_and_broadcast():
    a = torch.tensor([0.0, 1, 2, 3, 4, 5], device="cuda:0")
    b = torch.zeros(2, 6, dtype=torch.float64, device=ONE)
    b.copy_(a)
    b[:, ::2] = a[:3].to(torch.int32)
    assert b.tolist() == [[0, 1, 1, 3, 2, 5]] * 2
    assert a.to(ONE, torch.float16).tolist() == a.tolist() and a.to(ONE).data_ptr() != a.data_ptr()


def test_a_copy_is_after_the_work_before_and_before_the_work_after():
    a = torch.zeros(1 << 22, device="cuda:0")
    with torch.cuda.stream(torch.cuda.Stream(0)), torch.cuda.stream(torch.cuda.Stream(1)):
        torch.cuda.set_device(0)
        for i in range(20):
            a.fill_(i)
            b = a.to(ONE)
            a.fill_(-1)
            assert b.sum().item() == i * (1 << 22)


def test_linear_with_gradients():
    def step(x, w, b):
        x, w, b = (t.detach().requires_grad_() for t in (x, w, b))
        y = F.linear(x, w, b)
        F.gelu(y).square().mean().backward()
        return y.detach(), x.grad, w.grad, b.grad

    for _ in range(5):  # plans are measured at the third
        same(step, torch.randn(40, 64), torch.randn(48, 64), torch.randn(48), close=1e-3)


def test_gradients_across_devices():
    x, w = torch.randn(8, 16, requires_grad=True), torch.randn(16, 4, requires_grad=True)
    (x.sin() @ w).square().sum().backward()
    a = x.detach().to("cuda:0").requires_grad_()
    v = w.detach().to(ONE).requires_grad_()
    seen = []
    h = a.sin()
    h.register_hook(lambda g: seen.append((g.device.index, torch.cuda.current_device())))
    m = h.to(ONE)
    m.register_hook(lambda g: seen.append((g.device.index, torch.cuda.current_device())))
    (m @ v).square().sum().to("cuda:0").backward()
    assert seen == [(1, 1), (0, 0)]
    torch.testing.assert_close(a.grad.cpu(), x.grad, rtol=1e-3, atol=1e-3)
    torch.testing.assert_close(v.grad.cpu(), w.grad, rtol=1e-3, atol=1e-3)
    assert a.grad.device.index == 0 and v.grad.device.index == 1


@pytest.mark.parametrize("optimizer", ["AdamW", "SGD"])
def test_a_pipeline(optimizer):
    def losses(first, second):
        torch.manual_seed(1)
        front, back = nn.Linear(16, 32).to(first), nn.Linear(32, 1).to(second)
        o = getattr(torch.optim, optimizer)([*front.parameters(), *back.parameters()], lr=0.01)
        data = torch.randn(24, 16)
        found = []
        for _ in range(4):
            loss = back(front(data.to(first)).relu().to(second)).square().mean()
            o.zero_grad()
            loss.backward()
            o.step()
            found.append(loss.item())
        return found

    torch.testing.assert_close(
        torch.tensor(losses("cuda:0", ONE)), torch.tensor(losses("cpu", "cpu")), rtol=1e-4, atol=1e-5
    )


def test_streams_and_events_of_another_device():
    s, t = torch.cuda.Stream(device=1), torch.cuda.Stream()
    assert s.device == torch.device(ONE) and s.query() and torch.cuda.current_stream(1).device_index == 1
    e = torch.cuda.Event(enable_timing=True)
    with torch.cuda.stream(s):
        assert torch.cuda.current_device() == 1 and torch.cuda.current_stream() == s
        x = torch.ones(1000, device="cuda") * 2
        e.record()
    assert e.device == torch.device(ONE)
    t.wait_event(e)
    t.wait_stream(s)
    torch.cuda.current_stream().wait_event(e)
    torch.cuda.default_stream(1).wait_stream(t)
    later = torch.cuda.default_stream(1).record_event(torch.cuda.Event(enable_timing=True))
    later.synchronize()
    assert e.query() and e.elapsed_time(later) >= 0
    s.synchronize()
    assert x.sum().item() == 2000
    with pytest.raises(RuntimeError, match="Event device 1 does not match recording stream's device 0"):
        e.record(t)


def test_memory_that_another_devices_stream_works_on():
    x = torch.ones(1000, device=ONE)
    x.record_stream(torch.cuda.Stream(0))
    x.record_stream(torch.cuda.current_stream(0))
    del x
    assert torch.ones(1000, device=ONE).sum().item() == 1000


def test_generators():
    torch.manual_seed(5)
    a, b = torch.randn(4000, device=ONE), torch.rand(4000, device="cuda:0")
    torch.manual_seed(5)
    assert torch.equal(torch.randn(4000, device=ONE), a) and torch.equal(torch.rand(4000, device="cuda:0"), b)
    own = torch.Generator(ONE).manual_seed(5)
    assert own.device == torch.device(ONE) and torch.equal(torch.randn(4000, device=ONE, generator=own), a)
    state = torch.cuda.get_rng_state(ONE)
    first = F.dropout(torch.ones(4000, device=ONE), 0.3)
    torch.cuda.set_rng_state(state, ONE)
    assert torch.equal(F.dropout(torch.ones(4000, device=ONE), 0.3), first) and 0.6 < (first > 0).float().mean() < 0.8


def test_graphs_on_device_1():
    x = torch.ones(64, device=ONE)
    (x * 2 + 1).sum()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.device(1), torch.cuda.graph(graph):
        y = x * 2 + 1
    x.fill_(5)
    graph.replay()
    assert y.tolist() == [11.0] * 64
    with torch.cuda.graph(torch.cuda.CUDAGraph()):  # the streams of captures are each device's own
        z = torch.ones(3, device="cuda")
    assert z.device.index == 0


MIXED = {
    "add": lambda x, y: x + y,
    "add_": lambda x, y: x.add_(y),
    "mm": lambda x, y: x @ y,
    "linear": F.linear,
    "linear with bias": lambda x, y: F.linear(x, x, y[0]),
    "cat": lambda x, y: torch.cat([x, y]),
    "where": lambda x, y: torch.where(x > 0, x, y),
    "layer_norm": lambda x, y: F.layer_norm(x, (4,), y[0]),
    "embedding": lambda x, y: F.embedding(x.long(), y),
    "cross_entropy": lambda x, y: F.cross_entropy(x, y[0].long()),
    "conv1d": lambda x, y: F.conv1d(x[None], y[:, :, None]),
    "gather": lambda x, y: x.gather(0, y.long()),
    "mse_loss": lambda x, y: F.mse_loss(x, y),
}


@pytest.mark.parametrize("name", MIXED)
def test_mixed_devices_are_an_error(name):
    x, y = torch.ones(4, 4, device="cuda:0"), torch.ones(4, 4, device=ONE)
    for given in ((x, y), (y, x)):
        with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device") as caught:
            MIXED[name](*given)
        assert "cuda:0" in str(caught.value) and "cuda:1" in str(caught.value)


def test_threads_have_their_own_device():
    found = []

    def work(index):
        with torch.cuda.device(index):
            x = torch.ones(100, device="cuda", requires_grad=True)
            for _ in range(20):
                (x * 2).sum().backward()
            found.append((index, x.device.index, torch.cuda.current_device(), x.grad.sum().item()))

    threads = [threading.Thread(target=work, args=(i % 2,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert sorted(found) == sorted((i % 2, i % 2, i % 2, 4000.0) for i in range(4))
