"""Backward passes, hooks and modes: every function is a case, run with PyTorch and with shim_torch."""

from outcome import attempt


def _leaf(torch, *values):
    return torch.tensor(values or (1.0, 2.0, 3.0), requires_grad=True)


def names_of_nodes(torch):
    x = _leaf(torch)
    y = (x * 2 + 1).exp().sum()
    chain, node = [], y.grad_fn
    while node is not None:
        chain.append(node.name())
        node = node.next_functions[0][0] if node.next_functions else None
    return chain, str(y.grad_fn), type(y.grad_fn).__name__, x.grad_fn, y.is_leaf, x.is_leaf


def accumulates(torch):
    x = _leaf(torch)
    (x * x).sum().backward()
    (x * 3).sum().backward()
    return x.grad


def second_time(torch):
    x = _leaf(torch)
    y = (x * x).sum()
    y.backward()
    return attempt(y.backward)


def second_time_nothing_saved(torch):
    x = _leaf(torch)
    y = (x + 1).sum()
    y.backward()
    y.backward()
    return x.grad


def retain(torch):
    x = _leaf(torch)
    y = x.exp()
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    return x.grad


def create_graph(torch):
    x = _leaf(torch)
    (g,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x)
    return g, h


def create_graph_with_backward(torch):
    x = _leaf(torch)
    (x**2).sum().backward(create_graph=True)
    first = x.grad
    x.grad = None
    first.sum().backward()
    return first, x.grad


def unused(torch):
    x, z = _leaf(torch), _leaf(torch)
    return (
        attempt(torch.autograd.grad, (x * 2).sum(), (x, z)),
        torch.autograd.grad((x * 2).sum(), (x, z), allow_unused=True),
        torch.autograd.grad((x * 2).sum(), (x, z), materialize_grads=True),
        attempt(torch.autograd.grad, (x * 2).sum(), (x, z), materialize_grads=True, allow_unused=False),
        attempt(torch.autograd.grad, (x * 2).sum(), ()),
    )


def wrong_starts(torch):
    x = _leaf(torch)
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
    x, z = _leaf(torch), _leaf(torch)
    y = x * z
    y.sum().backward(inputs=[x])
    first = (x.grad, z.grad)
    y = x * z
    w = y * 2
    w.sum().backward(inputs=[y])
    return first, y.grad, z.grad


def several_roots(torch):
    x = _leaf(torch)
    torch.autograd.backward([(x * 2).sum(), x * x], [None, torch.tensor([1.0, 0.0, 2.0])])
    return x.grad


def hooks_in_order(torch):
    x = _leaf(torch)
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
    x = _leaf(torch)
    y = x * 2
    y.register_hook(lambda g: "no tensor")
    return attempt(y.sum().backward), attempt(torch.ones(2).register_hook, lambda g: g)


def hook_as_context(torch):
    x = _leaf(torch)
    log = []
    with x.register_hook(lambda g: log.append(1)):
        (x * 2).sum().backward()
    (x * 2).sum().backward()
    return log


def post_accumulate(torch):
    x = _leaf(torch)
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
    x, z = _leaf(torch), _leaf(torch)
    y = x * z
    log = []
    y.grad_fn.register_prehook(lambda gs: log.append(("pre", gs)) or (gs[0] * 2,))
    handle = y.grad_fn.register_hook(lambda gi, go: log.append(("post", gi, go)) or (gi[0], gi[1] * 0))
    y.sum().backward()
    handle.remove()
    return log, x.grad, z.grad


def node_metadata(torch):
    y = _leaf(torch) * 2
    y.grad_fn.metadata["a"] = 1
    return (
        y.grad_fn.metadata,
        y.grad_fn is y.grad_fn,
        [(list(m.shape), m.dtype, m.device) for m in y.grad_fn._input_metadata],
    )


def retain_grad(torch):
    x = _leaf(torch)
    y = x * 2
    before = y.retains_grad
    y.retain_grad()
    y.retain_grad()
    (y * y).sum().backward()
    return before, y.retains_grad, y.grad, attempt(torch.ones(1).retain_grad), x.retains_grad


def grad_of_non_leaf(torch):
    y = _leaf(torch) * 2
    return y.grad


def retain_grad_and_inplace(torch):
    x = _leaf(torch)
    y = x.clone()
    y.retain_grad()
    y.mul_(3)
    (y * y).sum().backward()
    return y.grad, x.grad


def flags(torch):
    x = _leaf(torch)
    y = x * 2

    def off():
        y.requires_grad = False

    def put(v):
        x.requires_grad = v

    return (
        attempt(off),
        attempt(torch.ones(1, dtype=torch.int64).requires_grad_),
        attempt(put, 3),
        y.detach().requires_grad,
        y.requires_grad_().requires_grad,
        x.requires_grad_(False).requires_grad,
    )


def detach_in_place(torch):
    x = _leaf(torch)
    y = x * 2
    y.detach_()
    view = (x * 2)[0:2]
    return y.requires_grad, y.is_leaf, attempt(view.detach_)


def modified_saved(torch):
    x = _leaf(torch)
    y = x.exp()
    y.add_(1)
    a = _leaf(torch)
    w = torch.ones(3)
    z = a * w
    w.mul_(2)
    s = x.sin()
    t = x.clone()
    u = t * t
    t[0] = 5.0
    del s
    return attempt(y.sum().backward), attempt(z.sum().backward), attempt(u.sum().backward)


def modified_not_saved(torch):
    x = _leaf(torch)
    y = x + 1
    y.add_(1)
    y.mul_(2)
    y.sum().backward()
    return x.grad


def inplace_errors(torch):
    x = _leaf(torch)
    view = x.view(-1)
    parts = (x * 2).split(1)
    rows = (x * 2).reshape(3, 1).unbind(0)
    with torch.no_grad():
        quiet = x.view(-1)
        other = (x * 2).view(-1)
    base = x * 2
    with torch.no_grad():
        seen = base.view(-1)
    return (
        attempt(x.add_, 1),
        attempt(view.add_, 1),
        attempt(parts[0].add_, 1),
        attempt(rows[0].mul_, 2),
        attempt(quiet.add_, 1),
        attempt(other.add_, x),
        attempt(seen.add_, 1),
    )


def inplace_on_views(torch):
    x = _leaf(torch, 1.0, 2.0, 3.0, 4.0)
    y = x * 1
    v = y.view(2, 2)
    v[0].mul_(3)
    y.add_(1)
    names = y.grad_fn.name(), v.grad_fn.name()
    (y * torch.arange(4.0)).sum().backward()
    return names, x.grad, v


def inplace_makes_base_require_grad(torch):
    a = torch.zeros(2, 2)
    row = a[0]
    x = _leaf(torch, 3.0, 4.0)
    row.copy_(x * 2)
    names = a.requires_grad, a.grad_fn.name(), row.grad_fn.name()
    a.sum().backward()
    return names, x.grad


def views_know_their_base(torch):
    x = torch.arange(6.0).reshape(2, 3)
    v = x[0].view(3)[1:]
    return (
        v._is_view(),
        v._base is x or v._base is x._base,
        x.clone()._is_view(),
        v.detach()._is_view(),
        v._version,
        x.add_(1)._version,
        v._version,
    )


def no_grad_view_of_leaf(torch):
    x = _leaf(torch)
    with torch.no_grad():
        v = x.view(-1)
        v.add_(1)
    return x, v.requires_grad, attempt(lambda: v.grad_fn)


def modes(torch):
    x = _leaf(torch)
    seen = []
    with torch.no_grad():
        seen.append((x * 2).requires_grad)
        with torch.enable_grad():
            seen.append((x * 2).requires_grad)
        with torch.set_grad_enabled(True):
            seen.append((x * 2).requires_grad)
        seen.append(torch.is_grad_enabled())

    @torch.no_grad()
    def plain():
        return torch.is_grad_enabled()

    @torch.no_grad
    def bare():
        return torch.is_grad_enabled()

    @torch.no_grad()
    def generate():
        got = yield torch.is_grad_enabled()
        yield got, torch.is_grad_enabled()

    @torch.set_grad_enabled(False)
    def off():
        return torch.is_grad_enabled()

    gen = generate()
    seen += [plain(), bare(), off(), next(gen), torch.is_grad_enabled(), gen.send("sent"), torch.is_grad_enabled()]
    torch.set_grad_enabled(False)
    seen.append(torch.is_grad_enabled())
    torch.set_grad_enabled(True)
    return seen, repr(torch.is_inference_mode_enabled())


def inference(torch):
    x = _leaf(torch)
    with torch.inference_mode():
        y = x * 2
        z = torch.ones(3)
        v = x.view(-1)
        z.add_(1)
        facts = y.is_inference(), z.is_inference(), v.is_inference(), y.requires_grad, torch.is_inference_mode_enabled()
    return (
        facts,
        attempt(z.add_, 1),
        attempt(lambda: x * z),
        attempt(z.requires_grad_),
        attempt(lambda: z._version),
        (z + 1).is_inference(),
        z[0:1].is_inference(),
        attempt(v.add_, 1),
        (x * torch.ones(3)).sum(),
    )


def setting_grad(torch):
    x = _leaf(torch)
    x.grad = torch.ones(3)

    def put(g):
        x.grad = g

    return (
        x.grad,
        attempt(put, torch.ones(2)),
        attempt(put, torch.ones(3, dtype=torch.float64)),
        attempt(put, 3),
        attempt(put, x),
        attempt(put, None),
    )


def gradient_dtypes(torch):
    x = _leaf(torch)
    y = x.double() * 2
    (y.half() + x).sum().backward()
    return x.grad


def numpy_of_grad(torch):
    return attempt(_leaf(torch).numpy)


def next_functions_of_leaf(torch):
    x = _leaf(torch)
    fn, nr = (x * 2).grad_fn.next_functions[0]
    return fn.name(), nr, fn.variable is x, fn.next_functions, (x * torch.ones(3)).grad_fn.next_functions[1]


def saved_attributes(torch):
    x = _leaf(torch)
    y = x.exp()
    z = x * y
    return y.grad_fn._saved_result, z.grad_fn._saved_self is x, attempt(lambda: y.grad_fn._saved_nothing)


def saved_hooks(torch):
    x = _leaf(torch)
    log = []

    def pack(t):
        log.append(("pack", t))
        return t * 2

    def unpack(t):
        log.append(("unpack", t))
        return t / 2

    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = (x * x).sum()
    y.backward()
    return log, x.grad


def saved_hooks_of_one(torch):
    x = _leaf(torch)
    y = x.exp()
    y.grad_fn._raw_saved_result.register_hooks(lambda t: t + 1, lambda t: t - 1)
    again = attempt(y.grad_fn._raw_saved_result.register_hooks, lambda t: t, lambda t: t)
    y.sum().backward()
    z = x.exp()
    raw = z.grad_fn._raw_saved_result
    z.sum().backward()
    return again, x.grad, attempt(raw.register_hooks, lambda t: t, lambda t: t)


def saved_hooks_errors(torch):
    x = _leaf(torch)

    def run(pack, unpack):
        with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
            y = x.exp().sum()
        y.backward()

    return attempt(run, lambda t: t.add_(1), lambda t: t), attempt(run, lambda t: t, lambda t: 3)


def disabled_hooks(torch):
    with torch.autograd.graph.disable_saved_tensors_hooks("not here"):
        return attempt(torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t).__enter__)


def save_on_cpu(torch):
    x = _leaf(torch)
    with torch.autograd.graph.save_on_cpu():
        y = (x * x).exp().sum()
    y.backward()
    return x.grad


def gradient_edges(torch):
    x = _leaf(torch)
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
    a, b, c = (_leaf(torch) for _ in range(3))
    log = []
    handle = torch.autograd.graph.register_multi_grad_hook([a, b, c], lambda gs: log.append(gs))
    (a * b).sum().backward()
    (a * b * c).sum().backward()
    handle.remove()
    torch.autograd.graph.register_multi_grad_hook([a, b], lambda g: log.append(g), mode="any")
    (a * b).sum().backward()
    return log, attempt(torch.autograd.graph.register_multi_grad_hook, [a], print, mode="some")


def versions(torch):
    x = torch.ones(2)
    seen = [x._version]
    x.add_(1)
    x[0] = 3
    seen.append(x._version)
    torch.autograd.graph.increment_version(x)
    seen.append(x._version)
    x.data.mul_(2)
    seen.append(x._version)
    x.detach().mul_(2)
    seen.append(x._version)
    return seen


def nodes_are_instances(torch):
    node = (_leaf(torch) * 2).grad_fn
    return (
        isinstance(node, torch.autograd.graph.Node),
        issubclass(type(node), torch.autograd.graph.Node),
        isinstance(3, torch.autograd.graph.Node),
    )


def callbacks(torch):
    x = _leaf(torch)
    log = []

    def hook(g):
        torch.autograd.Variable._execution_engine.queue_callback(lambda: log.append("done"))
        log.append("hook")

    x.register_hook(hook)
    (x * 2).sum().backward()
    return log, attempt(torch.autograd.Variable._execution_engine.queue_callback, lambda: None)


def expanded_gradients(torch):
    x = _leaf(torch)
    y = x.expand(2, 3)
    (y * torch.arange(6.0).reshape(2, 3)).sum().backward()
    z = _leaf(torch, 2.0)
    (z * torch.ones(2, 2)).sum().backward()
    return x.grad, z.grad


def shared_gradient_is_not_aliased(torch):
    a, b = _leaf(torch), _leaf(torch)
    (a + b).sum().backward()
    a.grad.mul_(5)
    return a.grad, b.grad


def batched(torch):
    x = _leaf(torch)
    return attempt(torch.autograd.grad, [x.sum()], [x], [torch.ones(2, 2)])


def setting_data(torch):
    x = _leaf(torch)
    y = x * 1
    x.data = torch.zeros(2)
    return x, y, attempt(setattr, x, "data", 3)


def anomaly(torch):
    x = _leaf(torch, -1.0)
    with torch.autograd.detect_anomaly():
        y = x.sqrt().sum()
        nan = attempt(y.backward)
    with torch.autograd.set_detect_anomaly(True, check_nan=False):
        x.sqrt().sum().backward()
        on = torch.is_anomaly_enabled()
    return nan, on, torch.is_anomaly_enabled(), x.grad
