"""Backward passes: graphs, gradients, hooks of tensors and nodes, and what is refused."""

from outcome import attempt, leaf_of


def names_of_nodes(torch):
    x = leaf_of(torch)
    y = (x * 2 + 1).exp().sum()
    chain, node = [], y.grad_fn
    while node is not None:
        chain.append(node.name())
        node = node.next_functions[0][0] if node.next_functions else None
    return chain, str(y.grad_fn), type(y.grad_fn).__name__, x.grad_fn, y.is_leaf, x.is_leaf


def accumulates(torch):
    x = leaf_of(torch)
    (x * x).sum().backward()
    (x * 3).sum().backward()
    return x.grad


def second_time(torch):
    x = leaf_of(torch)
    y = (x * x).sum()
    y.backward()
    return attempt(y.backward)


def second_time_nothing_saved(torch):
    x = leaf_of(torch)
    y = (x + 1).sum()
    y.backward()
    y.backward()
    return x.grad


def retain(torch):
    x = leaf_of(torch)
    y = x.exp()
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    return x.grad


def create_graph(torch):
    x = leaf_of(torch)
    (g,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x)
    return g, h


def create_graph_with_backward(torch):
    x = leaf_of(torch)
    (x**2).sum().backward(create_graph=True)
    first = x.grad
    x.grad = None
    first.sum().backward()
    return first, x.grad


def unused(torch):
    x, z = leaf_of(torch), leaf_of(torch)
    return (
        attempt(torch.autograd.grad, (x * 2).sum(), (x, z)),
        torch.autograd.grad((x * 2).sum(), (x, z), allow_unused=True),
        torch.autograd.grad((x * 2).sum(), (x, z), materialize_grads=True),
        attempt(torch.autograd.grad, (x * 2).sum(), (x, z), materialize_grads=True, allow_unused=False),
        attempt(torch.autograd.grad, (x * 2).sum(), ()),
    )


def wrong_starts(torch):
    x = leaf_of(torch)
    return (
        attempt((x * 2).backward),
        attempt((x * 2).backward, torch.ones(2)),
        attempt((x * 2).backward, 3.0),
        attempt(torch.ones(2).sum().backward),
        attempt(torch.autograd.backward, [(x * 2).sum(), (x * 3).sum()], [torch.tensor(1.0)]),
        attempt(torch.autograd.grad, (x * 2).sum(), torch.ones(3)),
        attempt((x * 2).sum().backward, inputs=[]),
        attempt(torch.autograd.grad, x.sum().to(torch.int32), x),
    )


def backward_with_inputs(torch):
    x, z = leaf_of(torch), leaf_of(torch)
    y = x * z
    y.sum().backward(inputs=[x])
    first = (x.grad, z.grad)
    y = x * z
    w = y * 2
    w.sum().backward(inputs=[y])
    return first, y.grad, z.grad


def several_roots(torch):
    x = leaf_of(torch)
    torch.autograd.backward([(x * 2).sum(), x * x], [None, torch.tensor([1.0, 0.0, 2.0])])
    return x.grad


def hooks_in_order(torch):
    x = leaf_of(torch)
    y = x * 2
    log = []
    y.register_hook(lambda g: log.append(("first", g)) or g * 10)
    second = y.register_hook(lambda g: log.append(("second", g)))
    y.register_hook(lambda g: g + 1)
    x.register_hook(lambda g: log.append(("leaf", g)))
    y.sum().backward()
    second.remove()
    log.append("removed")
    (x * 2).sum().backward()
    return log, x.grad


def hook_errors(torch):
    x = leaf_of(torch)
    y = x * 2
    y.register_hook(lambda g: "no tensor")
    return attempt(y.sum().backward), attempt(torch.ones(2).register_hook, lambda g: g)


def hook_as_context(torch):
    x = leaf_of(torch)
    log = []
    with x.register_hook(lambda g: log.append(1)):
        (x * 2).sum().backward()
    (x * 2).sum().backward()
    return log


def post_accumulate(torch):
    x = leaf_of(torch)
    log = []
    handle = x.register_post_accumulate_grad_hook(lambda t: log.append(t.grad.clone()))
    (x * 2).sum().backward()
    (x * 2).sum().backward()
    handle.remove()
    (x * 2).sum().backward()
    return (
        log,
        attempt((x * 2).register_post_accumulate_grad_hook, print),
        attempt(torch.ones(1).register_post_accumulate_grad_hook, print),
    )


def node_hooks(torch):
    x, z = leaf_of(torch), leaf_of(torch)
    y = x * z
    log = []
    y.grad_fn.register_prehook(lambda gs: log.append(("pre", gs)) or (gs[0] * 2,))
    handle = y.grad_fn.register_hook(lambda gi, go: log.append(("post", gi, go)) or (gi[0], gi[1] * 0))
    y.sum().backward()
    handle.remove()
    return log, x.grad, z.grad


def node_metadata(torch):
    y = leaf_of(torch) * 2
    y.grad_fn.metadata["a"] = 1
    return (
        y.grad_fn.metadata,
        y.grad_fn is y.grad_fn,
        [(list(m.shape), m.dtype, m.device) for m in y.grad_fn._input_metadata],
    )


def retain_grad(torch):
    x = leaf_of(torch)
    y = x * 2
    before = y.retains_grad
    y.retain_grad()
    y.retain_grad()
    (y * y).sum().backward()
    return before, y.retains_grad, y.grad, attempt(torch.ones(1).retain_grad), x.retains_grad


def grad_of_non_leaf(torch):
    y = leaf_of(torch) * 2
    return y.grad


def gradient_dtypes(torch):
    x = leaf_of(torch)
    y = x.double() * 2
    (y.half() + x).sum().backward()
    return x.grad


def numpy_of_grad(torch):
    return attempt(leaf_of(torch).numpy)


def next_functions_of_leaf(torch):
    x = leaf_of(torch)
    fn, nr = (x * 2).grad_fn.next_functions[0]
    return fn.name(), nr, fn.variable is x, fn.next_functions, (x * torch.ones(3)).grad_fn.next_functions[1]


def gradient_edges(torch):
    x = leaf_of(torch)
    y = x * 2
    edge = torch.autograd.graph.get_gradient_edge(y)
    leaf = torch.autograd.graph.get_gradient_edge(x)
    got = torch.autograd.grad((y * y).sum(), [edge, leaf])
    torch.autograd.backward(torch.autograd.graph.get_gradient_edge((x * x).sum()))
    return (
        edge.node.name(),
        edge.output_nr,
        leaf.node.name(),
        got,
        x.grad,
        attempt(torch.autograd.graph.get_gradient_edge, torch.ones(1)),
    )


def multi_grad_hook(torch):
    a, b, c = (leaf_of(torch) for _ in range(3))
    log = []
    handle = torch.autograd.graph.register_multi_grad_hook([a, b, c], lambda gs: log.append(gs))
    (a * b).sum().backward()
    (a * b * c).sum().backward()
    handle.remove()
    torch.autograd.graph.register_multi_grad_hook([a, b], lambda g: log.append(g), mode="any")
    (a * b).sum().backward()
    return log, attempt(torch.autograd.graph.register_multi_grad_hook, [a], print, mode="some")


def nodes_are_instances(torch):
    node = (leaf_of(torch) * 2).grad_fn
    return (
        isinstance(node, torch.autograd.graph.Node),
        issubclass(type(node), torch.autograd.graph.Node),
        isinstance(3, torch.autograd.graph.Node),
    )


def callbacks(torch):
    x = leaf_of(torch)
    log = []

    def hook(g):
        torch.autograd.Variable._execution_engine.queue_callback(lambda: log.append("done"))
        log.append("hook")

    x.register_hook(hook)
    (x * 2).sum().backward()
    return log, attempt(torch.autograd.Variable._execution_engine.queue_callback, lambda: None)


def expanded_gradients(torch):
    x = leaf_of(torch)
    y = x.expand(2, 3)
    (y * torch.arange(6.0).reshape(2, 3)).sum().backward()
    z = leaf_of(torch, 2.0)
    (z * torch.ones(2, 2)).sum().backward()
    return x.grad, z.grad


def batched(torch):
    x = leaf_of(torch)
    return attempt(torch.autograd.grad, [x.sum()], [x], [torch.ones(2, 2)])


def anomaly(torch):
    x = leaf_of(torch, -1.0)
    with torch.autograd.detect_anomaly():
        y = x.sqrt().sum()
        nan = attempt(y.backward)
    with torch.autograd.set_detect_anomaly(True, check_nan=False):
        x.sqrt().sum().backward()
        on = torch.is_anomaly_enabled()
    return nan, on, torch.is_anomaly_enabled(), x.grad
