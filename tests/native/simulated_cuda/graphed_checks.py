"""make_graphed_callables on the simulated driver: graphed steps beside eager ones, and what is refused."""

import ctypes

import pytest

import shim_torch as torch

driver = ctypes.CDLL("libcuda.so.1")
driver.simulated_calls.restype = ctypes.c_char_p


def model():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.GELU(), torch.nn.Linear(8, 3)).cuda()


def some(*shape, **options):
    return torch.randn(*shape).cuda().requires_grad_(**options) if options else torch.randn(*shape).cuda()


def traced(f):
    driver.simulated_trace(1)
    result = f()
    told = driver.simulated_calls().decode().split("; ")
    driver.simulated_trace(0)
    return result, [c for c in told if c]


def training():
    """Steps whose gradients are set to None, zeroed in place, and accumulated over two calls."""
    eager, graphed = model(), model()
    head = [torch.nn.Linear(3, 2).cuda() for _ in range(2)]
    head[1].load_state_dict(head[0].state_dict())
    same = torch.cuda.make_graphed_callables((graphed, head[1]), ((some(4, 6),), (some(4, 3, requires_grad=True),)))
    assert same[0] is graphed and same[1] is head[1]
    optimizers = [
        torch.optim.SGD([*m.parameters(), *h.parameters()], lr=0.1) for m, h in zip((eager, graphed), head, strict=True)
    ]
    for i, (none, calls) in enumerate([(True, 1), (True, 1), (False, 1), (False, 2), (True, 2), (True, 1)]):
        data = [some(4, 6) for _ in range(calls)]
        losses = []
        for m, h, optimizer in zip((eager, graphed), head, optimizers, strict=True):
            optimizer.zero_grad(set_to_none=none)
            for x in data:
                loss = h(m(x)).pow(2).mean()
                loss.backward()
            optimizer.step()
            losses.append(loss.cpu())
        torch.testing.assert_close(*losses, msg=lambda m, i=i: f"step {i}: {m}")
        for a, b in zip(
            [*eager.parameters(), *head[0].parameters()], [*graphed.parameters(), *head[1].parameters()], strict=True
        ):
            torch.testing.assert_close(b.grad.cpu(), a.grad.cpu(), msg=lambda m, i=i: f"gradients of step {i}: {m}")
            torch.testing.assert_close(b.cpu(), a.cpu())
    x = some(4, 6)
    _, calls = traced(lambda: graphed(x))
    assert sum(c.startswith("graph") for c in calls) == 1 and not [c for c in calls if c.startswith("launch")], calls
    with torch.no_grad():
        torch.testing.assert_close(graphed(x).cpu(), eager(x).cpu())
    graphed.eval()
    _, calls = traced(lambda: graphed(x))
    assert not [c for c in calls if c.startswith("graph")]
    assert graphed(some(2, 6)).shape == (2, 3)  # in the other mode it runs as it is


def functions():
    """Nested arguments and results, inputs with and without gradients, results that have none."""

    def f(x, pair):
        return {"sum": x + pair[0] * pair[1], "most": x.argmax(-1)}, [x * 2]

    def leaves():
        return some(3, 4, requires_grad=True), [some(3, 4), some(3, 4, requires_grad=True)]

    graphed = torch.cuda.make_graphed_callables(f, leaves(), num_warmup_iters=1)
    for _ in range(3):
        x, pair = leaves()
        (d, (twice,)), (e, (double,)) = graphed(x, pair), f(x, pair)
        assert d["most"].tolist() == e["most"].tolist() and not d["most"].requires_grad
        torch.testing.assert_close(d["sum"].cpu(), e["sum"].cpu())
        torch.testing.assert_close(twice.cpu(), double.cpu())
        weights = some(3, 4)
        got = torch.autograd.grad((d["sum"] * weights + twice).sum(), (x, pair[1]))
        expected = torch.autograd.grad((e["sum"] * weights + double).sum(), (x, pair[1]))
        for a, b in zip(got, expected, strict=True):
            torch.testing.assert_close(a.cpu(), b.cpu())
    only_x = torch.autograd.grad(graphed(x, pair)[1][0].sum(), x)[0]  # no gradient comes for the other results
    assert only_x.unique().tolist() == [2.0]
    (first, second), (_, pair) = [leaves()[0] for _ in range(2)], leaves()
    for x in (first, second):  # what a leaf took is its own
        (graphed(x, pair)[0]["sum"] * x.detach()).sum().backward()
    torch.testing.assert_close(first.grad.cpu(), first.cpu().detach())
    sample = torch.arange(4.0).reshape(2, 2).cuda()
    turned = torch.cuda.make_graphed_callables(lambda x: x * 2, (sample,))
    assert turned(sample).tolist() == [[0, 2], [4, 6]] and turned(sample.t()).tolist() == [[0, 4], [2, 6]]
    assert not torch.cuda.make_graphed_callables(lambda x: x + 1, (some(2),))(some(2)).requires_grad
    with pytest.raises(RuntimeError, match="once_differentiable"):
        (g,) = torch.autograd.grad(graphed(x, pair)[1][0].pow(2).sum(), x, create_graph=True)
        g.sum().backward()


def refusals():
    graph = torch.cuda.make_graphed_callables
    f = graph(lambda x: x + 1, (some(2, 2),))
    with pytest.raises(ValueError, match=r"captured with torch.float32 \(2, 2\).*called with torch.float32 \(1, 2\)"):
        f(some(1, 2))
    with pytest.raises(ValueError, match="called with int"):
        f(3)
    with pytest.raises(TypeError, match="was captured with arguments"):
        f(some(2, 2), some(2, 2))
    with pytest.raises(TypeError, match="returned a float"):
        graph(lambda x: 1.0, (some(2),))
    x, unused = some(2, requires_grad=True), some(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="allow_unused"):
        graph(lambda x, y: x * 2, (x, unused))
    g = graph(lambda x, y: x * 2, (x, unused), allow_unused_input=True)
    assert torch.autograd.grad(g(x, unused).sum(), (x, unused), allow_unused=True)[1] is None
    with torch.autocast("cuda", dtype=torch.bfloat16), pytest.raises(RuntimeError, match="cache_enabled=False"):
        graph(lambda x: x, (x,))
