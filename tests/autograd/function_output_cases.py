"""What an autograd.Function returns: marked dirty or without a gradient, its inputs, views, other objects."""

from outcome import attempt, function_of, leaf_of


def other_outputs(torch):
    f = function_of(torch, lambda ctx, x: (x * 2, "text", None, 3, x > 1), lambda ctx, *gs: gs[0])
    x = leaf_of(torch)
    out = f.apply(x)
    out[0].sum().backward()
    log = []
    g = function_of(torch, lambda ctx, x: (x * 2, "text", x * 3), lambda ctx, *gs: (log.append(gs), gs[0])[1])
    g.apply(x)[2].sum().backward()
    single = function_of(torch, lambda ctx, x: [x * 2], lambda ctx, gs: gs)
    return out[1:], x.grad, log, type(single.apply(x)).__name__


def materialize(torch):
    log = []

    def run(setting):
        def forward(ctx, x):
            if setting is not None:
                ctx.set_materialize_grads(setting)
            ctx.mark_non_differentiable(extra := x.argmax())
            return x * 2, x * 3, extra

        def backward(ctx, *gs):
            log.append(gs)
            return sum(g for g in gs[:2] if g is not None)

        x = leaf_of(torch)
        a, b, c = function_of(torch, forward, backward).apply(x)
        a.sum().backward()
        return c.requires_grad, x.grad

    return run(None), run(True), run(False), log


def non_differentiable(torch):
    def forward(ctx, x):
        y, z = x * 2, x * 3
        ctx.mark_non_differentiable(z)
        return y, z

    f = function_of(torch, forward, lambda ctx, g, h: g + h)
    x = leaf_of(torch)
    y, z = f.apply(x)
    y.sum().backward()
    return y.requires_grad, z.requires_grad, z.grad_fn, x.grad


def dirty(torch):
    def forward(ctx, x):
        x.mul_(3)
        ctx.mark_dirty(x)
        return x

    f = function_of(torch, forward, lambda ctx, g: g * 3)
    x = leaf_of(torch)
    y = x * 1
    version = y._version
    z = f.apply(y)
    same = z is y
    (y * y).sum().backward()
    leaf = attempt(f.apply, leaf_of(torch))
    view = (leaf_of(torch) * 1).view(3)
    f.apply(view)
    return same, y._version - version, x.grad, y.grad_fn.name(), leaf, view, view._base.grad_fn.name()


def dirty_not_returned(torch):
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x * 2

    return attempt(function_of(torch, forward).apply, leaf_of(torch) * 1)


def dirty_no_input(torch):
    def forward(ctx, x):
        y = x * 2
        ctx.mark_dirty(y)
        return y

    return function_of(torch, forward).apply(leaf_of(torch))


def dirty_view_of_several(torch):
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2), x + 1

    return attempt(function_of(torch, forward, lambda ctx, g, h: g).apply, (leaf_of(torch) * 1).view(-1))


def returns_its_input(torch):
    f = function_of(torch, lambda ctx, x: x, lambda ctx, g: g * 10)
    x = leaf_of(torch)
    y = f.apply(x)
    y.sum().backward()
    z = f.apply(x * 1)
    return y is x, y.grad_fn.name(), x.grad, y._is_view(), attempt(z.add_, 1), f.apply(torch.ones(2)).requires_grad


def returns_a_view(torch):
    f = function_of(torch, lambda ctx, x: x.view(-1), lambda ctx, g: g.view(3))
    several = function_of(torch, lambda ctx, x: (x[:1], x[1:]), lambda ctx, g, h: torch.cat((g, h)))
    x = leaf_of(torch)
    a, b = several.apply(x * 1)
    return (
        f.apply(x * 1)._is_view(),
        attempt(f.apply(x * 1).add_, 1),
        attempt(a.add_, 1),
        attempt(lambda: b.mul_(2)),
        attempt(f.apply(x).add_, 1),
    )


def duplicates(torch):
    f = function_of(torch, lambda ctx, x: (y := x * 2, y), lambda ctx, g, h: g * 2 + h * 2)
    x = leaf_of(torch)
    a, b = f.apply(x)
    (a * 3 + b).sum().backward()
    return x.grad, a is b
