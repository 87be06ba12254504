"""In-place changes, views, modes and versions under autograd."""

from outcome import attempt, leaf_of


def retain_grad_and_inplace(torch):
    x = leaf_of(torch)
    y = x.clone()
    y.retain_grad()
    y.mul_(3)
    (y * y).sum().backward()
    return y.grad, x.grad


def flags(torch):
    x = leaf_of(torch)
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
    x = leaf_of(torch)
    y = x * 2
    y.detach_()
    view = (x * 2)[0:2]
    return y.requires_grad, y.is_leaf, attempt(view.detach_)


def modified_saved(torch):
    x = leaf_of(torch)
    y = x.exp()
    y.add_(1)
    a = leaf_of(torch)
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
    x = leaf_of(torch)
    y = x + 1
    y.add_(1)
    y.mul_(2)
    y.sum().backward()
    return x.grad


def inplace_errors(torch):
    x = leaf_of(torch)
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
    x = leaf_of(torch, 1.0, 2.0, 3.0, 4.0)
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
    x = leaf_of(torch, 3.0, 4.0)
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
    x = leaf_of(torch)
    with torch.no_grad():
        v = x.view(-1)
        v.add_(1)
    return x, v.requires_grad, attempt(lambda: v.grad_fn)


def modes(torch):
    x = leaf_of(torch)
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
    x = leaf_of(torch)
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
    x = leaf_of(torch)
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


def shared_gradient_is_not_aliased(torch):
    a, b = leaf_of(torch), leaf_of(torch)
    (a + b).sum().backward()
    a.grad.mul_(5)
    return a.grad, b.grad


def setting_data(torch):
    x = leaf_of(torch)
    y = x * 1
    x.data = torch.zeros(2)
    return x, y, attempt(setattr, x, "data", 3)
