"""Saved tensors: what nodes show of them, and hooks that pack and unpack them."""

from outcome import attempt, leaf_of


def saved_attributes(torch):
    x = leaf_of(torch)
    y = x.exp()
    z = x * y
    return y.grad_fn._saved_result, z.grad_fn._saved_self is x, attempt(lambda: y.grad_fn._saved_nothing)


def saved_hooks(torch):
    x = leaf_of(torch)
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
    x = leaf_of(torch)
    y = x.exp()
    y.grad_fn._raw_saved_result.register_hooks(lambda t: t + 1, lambda t: t - 1)
    again = attempt(y.grad_fn._raw_saved_result.register_hooks, lambda t: t, lambda t: t)
    y.sum().backward()
    z = x.exp()
    raw = z.grad_fn._raw_saved_result
    z.sum().backward()
    return again, x.grad, attempt(raw.register_hooks, lambda t: t, lambda t: t)


def saved_hooks_errors(torch):
    x = leaf_of(torch)

    def run(pack, unpack):
        with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
            y = x.exp().sum()
        y.backward()

    return attempt(run, lambda t: t.add_(1), lambda t: t), attempt(run, lambda t: t, lambda t: 3)


def disabled_hooks(torch):
    with torch.autograd.graph.disable_saved_tensors_hooks("not here"):
        return attempt(torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t).__enter__)


def save_on_cpu(torch):
    x = leaf_of(torch)
    with torch.autograd.graph.save_on_cpu():
        y = (x * x).exp().sum()
    y.backward()
    return x.grad
