"""Checkpoints and the nodes' edges: every function is a case, run with PyTorch and with shim_torch."""

import functools
import gc
import importlib
import weakref

from outcome import attempt


def _module(torch, name):
    return importlib.import_module(f"{torch.__spec__.name}.{name}")


def _leaf(torch):
    return torch.tensor([1.0, 2.0, 3.0], requires_grad=True)


def _chain(x):
    return x.sin().exp().cos()


def saved_tensors_once(torch):
    checkpoints = _module(torch, "utils.checkpoint")
    checkpoint = checkpoints.checkpoint

    seen = []

    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(x, y)
            return x * y

        @staticmethod
        def backward(ctx, g):
            x, y = ctx.saved_tensors
            seen.append(attempt(lambda: ctx.saved_tensors))
            return g * y, g * x

    x, y = _leaf(torch), _leaf(torch)
    checkpoint(lambda a, b: Twice.apply(a * 2, b), x, y, use_reentrant=False).sum().backward()
    return seen, x.grad, y.grad


def retained_graph(torch):
    checkpoints = _module(torch, "utils.checkpoint")
    checkpoint = checkpoints.checkpoint

    runs, x = [], _leaf(torch)

    def f(a):
        runs.append(1)
        return _chain(a)

    y = checkpoint(f, x, use_reentrant=False).sum()
    y.backward(retain_graph=True)
    y.backward()
    return len(runs), x.grad


def nested(torch):
    checkpoints = _module(torch, "utils.checkpoint")
    checkpoint = checkpoints.checkpoint

    runs, x = [], _leaf(torch)

    def inner(a):
        runs.append("inner")
        return _chain(a)

    def outer(a):
        runs.append("outer")
        return checkpoint(inner, checkpoint(inner, a, use_reentrant=False), use_reentrant=False).exp()

    checkpoint(outer, x, use_reentrant=False).sum().backward()
    plain = _leaf(torch)
    _chain(_chain(plain)).exp().sum().backward()
    return runs, x.grad, torch.allclose(x.grad, plain.grad)


def nested_twice_differentiated(torch):
    checkpoints = _module(torch, "utils.checkpoint")
    checkpoint = checkpoints.checkpoint

    def grad(f):
        return lambda a: torch.autograd.grad(f(a).sum(), a, create_graph=True)[0]

    def kept(f):
        return lambda a: checkpoint(f, a, use_reentrant=False)

    x = _leaf(torch)
    return [grad(grad(kept(_chain)))(x), kept(grad(kept(_chain)))(x), grad(kept(grad(kept(_chain))))(x)]


def early_stop(torch):
    checkpoints = _module(torch, "utils.checkpoint")
    checkpoint, set_checkpoint_early_stop = checkpoints.checkpoint, checkpoints.set_checkpoint_early_stop

    counts = []
    for stop in (True, False):
        done = [0]

        def f(a, done=done):
            b = a.sin().sin()
            done[0] += 1
            return b.clone()

        with set_checkpoint_early_stop(stop):
            y = checkpoint(f, _leaf(torch), use_reentrant=False)
        y.sum().backward()
        counts.append(done[0])
    return counts


def operators_of_the_second_pass(torch):
    TorchDispatchMode = _module(torch, "utils._python_dispatch").TorchDispatchMode
    checkpoints = _module(torch, "utils.checkpoint")
    checkpoint = checkpoints.checkpoint

    class Log(TorchDispatchMode):
        def __init__(self):
            super().__init__()
            self.names = []

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            self.names.append(str(func))
            return func(*args, **(kwargs or {}))

    first, second, x = Log(), Log(), _leaf(torch)
    y = checkpoint(lambda a: a.exp().sin(), x, use_reentrant=False, context_fn=lambda: (first, second))
    y.sum().backward()
    return first.names, second.names


def metadata_differs(torch):
    checkpoints = _module(torch, "utils.checkpoint")
    checkpoint = checkpoints.checkpoint

    runs = []

    def f(a):
        runs.append(1)
        return (a[:2] if len(runs) > 1 else a).sin().sum()

    y = checkpoint(f, _leaf(torch), use_reentrant=False)
    return attempt(y.backward)


def number_differs(torch):
    checkpoints = _module(torch, "utils.checkpoint")
    checkpoint = checkpoints.checkpoint

    runs = []

    def f(a):
        runs.append(1)
        return a.sin() if len(runs) > 1 else a.sin().exp()

    return attempt(checkpoint(f, _leaf(torch), use_reentrant=False).sum().backward)


def reentrant_refuses_grad(torch):
    checkpoints = _module(torch, "utils.checkpoint")
    checkpoint = checkpoints.checkpoint

    x = _leaf(torch)
    error = attempt(torch.autograd.grad, checkpoint(torch.exp, x, use_reentrant=True).sum(), x)
    checkpoint(torch.exp, x, use_reentrant=True).sum().backward()
    return error, x.grad


def group_of_passes(torch):
    checkpoints = _module(torch, "utils.checkpoint")
    GraphExecGroup, checkpoint = checkpoints.GraphExecGroup, checkpoints.checkpoint

    runs, x = [], _leaf(torch)

    def f(a):
        runs.append(1)
        return a.sin(), a.exp()

    s, e = checkpoint(f, x, use_reentrant=False)
    with GraphExecGroup():
        s.sum().backward(retain_graph=True)
        e.sum().backward(retain_graph=True)
        nested = attempt(GraphExecGroup().__enter__).split(". ")[0]
    return len(runs), x.grad, nested


def selective(torch):
    checkpoints = _module(torch, "utils.checkpoint")
    CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts = (
        checkpoints.CheckpointPolicy,
        checkpoints.checkpoint,
        checkpoints.create_selective_checkpoint_contexts,
    )

    asked = []

    def policy(ctx, op, *args, **kwargs):
        asked.append((str(op), ctx.is_recompute))
        return CheckpointPolicy.MUST_SAVE if "exp" in str(op) else CheckpointPolicy.PREFER_RECOMPUTE

    x = _leaf(torch)
    y = checkpoint(
        _chain,
        x,
        use_reentrant=False,
        context_fn=functools.partial(create_selective_checkpoint_contexts, policy),
    ).sum()
    y.backward(retain_graph=True)
    return asked, x.grad, attempt(y.backward)


def graphs_die(torch):
    checkpoints = _module(torch, "utils.checkpoint")
    checkpoint, create_selective_checkpoint_contexts = (
        checkpoints.checkpoint,
        checkpoints.create_selective_checkpoint_contexts,
    )

    class Mark:
        pass

    def scope(**kwargs):
        x = _leaf(torch)
        y = checkpoint(_chain, checkpoint(_chain, x, use_reentrant=False), use_reentrant=False, **kwargs)
        (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        mark = Mark()
        y.grad_fn.metadata["mark"] = mark
        return weakref.ref(mark)

    contexts = functools.partial(create_selective_checkpoint_contexts, lambda *a, **k: True)
    gc.disable()
    try:
        return scope()() is None, scope(context_fn=contexts)() is None
    finally:
        gc.enable()


def next_functions_of_numbers(torch):
    x = _leaf(torch)
    names = [
        [n and n.name() for n, _ in y.grad_fn.next_functions]
        for y in (x + 5, x * 2, 3 - x, torch.where(x > 0, x, 0.0), x.addcmul(x, torch.ones(3)))
    ]
    return names


def delayed_error(torch):
    x = _leaf(torch)
    a, none, b = torch._C._functions.DelayedError("later", 3)(x, None, x * 2)
    return none, [n and n.name() for n, _ in a.grad_fn.next_functions], attempt((a + b).sum().backward)


def handlers_see_the_engine(torch):
    TorchDispatchMode = _module(torch, "utils._python_dispatch").TorchDispatchMode

    log = []

    class Log(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            node = torch._C._current_autograd_node()
            log.append((str(func), node and node.name().split("::")[-1]))
            return func(*args, **(kwargs or {}))

    x = _leaf(torch)
    with Log():
        (x.exp() * 2).sum().backward()
    return log


def views_made_without_gradients(torch):
    results = []
    for view_mode in (True, False):
        for write_mode in (True, False):
            base = torch.ones(2, 3, requires_grad=True).clone()
            with torch.set_grad_enabled(view_mode):
                v = base.view_as(base)
            with torch.set_grad_enabled(write_mode):
                first = attempt(lambda v=v: tuple(v.transpose_(0, 1).shape))
            results.append((first, attempt(lambda v=v: v.add_(1).sum())))
    return results


def multithreading(torch):
    before = torch.autograd.is_multithreading_enabled()
    with torch.autograd.set_multithreading_enabled(False):
        inside = torch.autograd.is_multithreading_enabled()
    return before, inside, torch.autograd.is_multithreading_enabled()
