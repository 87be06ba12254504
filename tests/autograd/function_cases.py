"""autograd.Function: every function is a case, run with PyTorch and with shim_torch."""

import gc
import weakref

from outcome import attempt, leaf_of


def _function(torch, forward, backward=None, **members):
    body = {"forward": staticmethod(forward), "backward": staticmethod(backward or (lambda ctx, *g: g)), **members}
    return type(torch.autograd.Function)("Mine", (torch.autograd.Function,), body)


def saves_and_counts(torch):
    def forward(ctx, x, n, y):
        ctx.save_for_backward(x, y, None)
        ctx.n = n
        return x * y * n

    def backward(ctx, g):
        x, y, nothing = ctx.saved_tensors
        return g * y * ctx.n, None, g * x * ctx.n if ctx.needs_input_grad[2] else None, nothing, None

    f = _function(torch, forward, backward)
    x, y = leaf_of(torch), torch.tensor([2.0, 3.0, 4.0])
    out = f.apply(x, 3, y)
    seen = out.grad_fn.needs_input_grad, out.grad_fn.name(), out.grad_fn.next_functions[1], type(out.grad_fn).__name__
    out.sum().backward()
    return seen, x.grad, attempt(lambda: out.grad_fn.saved_tensors), attempt(out.sum().backward)


def wrong_gradients(torch):
    x = leaf_of(torch)
    few = _function(torch, lambda ctx, x, y: x * y, lambda ctx, g: g)
    many = _function(torch, lambda ctx, x: x * 2, lambda ctx, g: (g, g))
    notnone = _function(torch, lambda ctx, x, n: x * n, lambda ctx, g: (g, g))
    text = _function(torch, lambda ctx, x: x * 2, lambda ctx, g: "text")
    shape = _function(torch, lambda ctx, x: x * 2, lambda ctx, g: g[:2])
    wide = _function(torch, lambda ctx, x: x * 2, lambda ctx, g: g.expand(2, 3))
    none = _function(torch, lambda ctx, x: x * 2, lambda ctx, g: None)
    results = [
        attempt(f.apply(x, *rest).sum().backward) for f, *rest in ((few, x), (many,), (notnone, 2), (text,), (shape,))
    ]
    wide.apply(x).sum().backward()
    none.apply(x).sum().backward()
    return results, x.grad


def nothing_implemented(torch):
    class Empty(torch.autograd.Function):
        pass

    class NoBackward(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

    x = leaf_of(torch)
    return (
        attempt(Empty.apply, x),
        attempt(NoBackward.apply(x).sum().backward),
        attempt(lambda: Empty()(x)),
        attempt(NoBackward.apply, x=x),
    )


def both_backward_and_vjp(torch):
    f = _function(torch, lambda ctx, x: x * 2, vjp=staticmethod(lambda ctx, g: g))
    only = type(torch.autograd.Function)(
        "Only",
        (torch.autograd.Function,),
        {"forward": staticmethod(lambda ctx, x: x * 2), "vjp": staticmethod(lambda ctx, g: g * 7)},
    )
    x = leaf_of(torch)
    only.apply(x).sum().backward()
    return attempt(f.apply(x).sum().backward), x.grad


def setup_context(torch):
    class Scaled(torch.autograd.Function):
        @staticmethod
        def forward(x, factor=2.0):
            return x * factor

        @staticmethod
        def setup_context(ctx, inputs, output):
            x, factor, *_ = inputs
            ctx.save_for_backward(x, output)
            ctx.factor, ctx.count = factor, len(inputs)

        @staticmethod
        def backward(ctx, g):
            return g * ctx.factor, None

    x = leaf_of(torch)
    y = Scaled.apply(x)
    z = Scaled.apply(x, 3.0)
    (y + z).sum().backward()
    return y, z, x.grad, y.grad_fn.count


def other_outputs(torch):
    f = _function(torch, lambda ctx, x: (x * 2, "text", None, 3, x > 1), lambda ctx, *gs: gs[0])
    x = leaf_of(torch)
    out = f.apply(x)
    out[0].sum().backward()
    log = []
    g = _function(torch, lambda ctx, x: (x * 2, "text", x * 3), lambda ctx, *gs: (log.append(gs), gs[0])[1])
    g.apply(x)[2].sum().backward()
    single = _function(torch, lambda ctx, x: [x * 2], lambda ctx, gs: gs)
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
        a, b, c = _function(torch, forward, backward).apply(x)
        a.sum().backward()
        return c.requires_grad, x.grad

    return run(None), run(True), run(False), log


def non_differentiable(torch):
    def forward(ctx, x):
        y, z = x * 2, x * 3
        ctx.mark_non_differentiable(z)
        return y, z

    f = _function(torch, forward, lambda ctx, g, h: g + h)
    x = leaf_of(torch)
    y, z = f.apply(x)
    y.sum().backward()
    return y.requires_grad, z.requires_grad, z.grad_fn, x.grad


def dirty(torch):
    def forward(ctx, x):
        x.mul_(3)
        ctx.mark_dirty(x)
        return x

    f = _function(torch, forward, lambda ctx, g: g * 3)
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

    return attempt(_function(torch, forward).apply, leaf_of(torch) * 1)


def dirty_no_input(torch):
    def forward(ctx, x):
        y = x * 2
        ctx.mark_dirty(y)
        return y

    return _function(torch, forward).apply(leaf_of(torch))


def dirty_view_of_several(torch):
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2), x + 1

    return attempt(_function(torch, forward, lambda ctx, g, h: g).apply, (leaf_of(torch) * 1).view(-1))


def returns_its_input(torch):
    f = _function(torch, lambda ctx, x: x, lambda ctx, g: g * 10)
    x = leaf_of(torch)
    y = f.apply(x)
    y.sum().backward()
    z = f.apply(x * 1)
    return y is x, y.grad_fn.name(), x.grad, y._is_view(), attempt(z.add_, 1), f.apply(torch.ones(2)).requires_grad


def returns_a_view(torch):
    f = _function(torch, lambda ctx, x: x.view(-1), lambda ctx, g: g.view(3))
    several = _function(torch, lambda ctx, x: (x[:1], x[1:]), lambda ctx, g, h: torch.cat((g, h)))
    x = leaf_of(torch)
    a, b = several.apply(x * 1)
    return (
        f.apply(x * 1)._is_view(),
        attempt(f.apply(x * 1).add_, 1),
        attempt(a.add_, 1),
        attempt(lambda: b.mul_(2)),
        attempt(f.apply(x).add_, 1),
    )


def twice(torch):
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return Slope.apply(x, g)

    class Slope(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, g):
            ctx.save_for_backward(x, g)
            return 3 * x**2 * g

        @staticmethod
        def backward(ctx, h):
            x, g = ctx.saved_tensors
            return 6 * x * g * h, 3 * x**2 * h

    x = leaf_of(torch)
    (g,) = torch.autograd.grad(Cube.apply(x).sum(), x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x)
    return g, h, g.grad_fn.name()


def saved_output_differentiates(torch):
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    f = _function(torch, forward, lambda ctx, g: g * ctx.saved_tensors[0])
    x = leaf_of(torch)
    (g,) = torch.autograd.grad(f.apply(x).sum(), x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x, create_graph=True)
    (i,) = torch.autograd.grad(h.sum(), x)
    return g, h, i


def once(torch):
    once_differentiable = torch.autograd.function.once_differentiable
    f = _function(torch, lambda ctx, x: x * 2, once_differentiable(lambda ctx, g: g * 2))
    x = leaf_of(torch)
    (g,) = torch.autograd.grad((f.apply(x) ** 2).sum(), x, create_graph=True)
    return g.requires_grad, attempt(torch.autograd.grad, g.sum(), x)


def saved_is_modified(torch):
    def forward(ctx, x):
        y = x * 2
        ctx.save_for_backward(x, y)
        return y

    f = _function(torch, forward, lambda ctx, g: ctx.saved_tensors[0] * g)
    x = torch.ones(3)
    w = leaf_of(torch)
    y = f.apply(w * 1)
    y.add_(1)
    z = _function(
        torch, lambda ctx, w, x: (ctx.save_for_backward(x), w * x)[1], lambda ctx, g: (ctx.saved_tensors[0] * g, None)
    ).apply(w, x)
    x.mul_(2)
    return attempt(y.sum().backward), attempt(z.sum().backward)


def saving_no_tensor(torch):
    def forward(ctx, x):
        ctx.save_for_backward(3, x)
        return x * 2

    return attempt(_function(torch, forward).apply, leaf_of(torch)), attempt(
        _function(torch, forward).apply, torch.ones(1)
    )


def grad_mode_inside(torch):
    log = []
    f = _function(
        torch,
        lambda ctx, x: (log.append(torch.is_grad_enabled()), x * 2)[1],
        lambda ctx, g: (log.append(torch.is_grad_enabled()), g)[1],
    )
    x = leaf_of(torch)
    f.apply(x).sum().backward()
    f.apply(x).sum().backward(create_graph=True)
    with torch.no_grad():
        quiet = f.apply(x)
    return log, quiet.requires_grad, quiet.grad_fn


def errors_inside(torch):
    def bad(ctx, *args):
        raise ValueError("mine")

    x = leaf_of(torch)
    return (
        attempt(_function(torch, bad).apply, x),
        attempt(_function(torch, lambda ctx, x: x * 2, bad).apply(x).sum().backward),
        torch.is_grad_enabled(),
    )


def attributes(torch):
    f = _function(torch, lambda ctx, x: x * 2)
    y = f.apply(leaf_of(torch))
    fn = y.grad_fn
    fn.mine = 3
    again = y.grad_fn.mine, y.grad_fn is fn
    fn.metadata["k"] = 1
    hooks = []
    fn.register_hook(lambda gi, go: hooks.append((gi, go)))
    fn.register_prehook(lambda go: hooks.append(go))
    y.sum().backward()
    kind = type(fn)
    del y
    gc.collect()
    return (
        again,
        hooks,
        kind.__mro__[1].__name__,
        issubclass(kind, torch.autograd.function.FunctionCtx),
        attempt(lambda: fn.next_functions),
    )


def cycles_are_collected(torch):
    class Mark:
        pass

    def run(make):
        mark = Mark()
        ref = weakref.ref(mark)
        make(mark)
        del mark
        gc.collect()
        return ref() is None

    def through_ctx(mark):
        f = _function(torch, lambda ctx, x: (setattr(ctx, "mark", mark), x * 2)[1])
        y = f.apply(leaf_of(torch))
        y.grad_fn.y = y

    def through_hook(mark):
        x = leaf_of(torch)
        x.register_hook(lambda g: (x, mark))

    def through_attribute(mark):
        y = leaf_of(torch) * 2
        y.me, y.mark = y, mark

    def through_retained(mark):
        y = leaf_of(torch) * 2
        y.retain_grad()
        y.sum().backward()
        y.grad.mark, y.grad.y = mark, None

    return [run(f) for f in (through_ctx, through_hook, through_attribute, through_retained)]


def inplace_functions_and_classes(torch):
    module = torch.autograd.function
    BackwardCFunction, FunctionCtx = module.BackwardCFunction, module.FunctionCtx
    FunctionMeta, InplaceFunction = module.FunctionMeta, module.InplaceFunction
    f = _function(torch, lambda ctx, x: x * 2)
    return (
        isinstance(f, FunctionMeta),
        issubclass(f._backward_cls, BackwardCFunction),
        f._backward_cls._forward_cls is f,
        issubclass(InplaceFunction, torch.autograd.Function),
        FunctionCtx.__module__,
        torch.autograd.Function.__module__,
        attempt(f.vmap, None, None),
        attempt(f.jvp, None),
    )


def arguments_in_lists_are_not_seen(torch):
    f = _function(torch, lambda ctx, xs: xs[0] * 2)
    return f.apply([leaf_of(torch)]).requires_grad


def duplicates(torch):
    f = _function(torch, lambda ctx, x: (y := x * 2, y), lambda ctx, g, h: g * 2 + h * 2)
    x = leaf_of(torch)
    a, b = f.apply(x)
    (a * 3 + b).sum().backward()
    return x.grad, a is b


def broadcast_gradient(torch):
    f = _function(torch, lambda ctx, x, y: x * y, lambda ctx, g: (g * 1, g * 2))
    x, y = torch.ones(3, requires_grad=True), torch.ones(2, 3, requires_grad=True)
    f.apply(x, y).sum().backward()
    return x.grad, y.grad


def double_gradient(torch):
    f = _function(torch, lambda ctx, x: x * 2, lambda ctx, g: g.double())
    x = leaf_of(torch)
    f.apply(x).sum().backward()
    return x.grad.dtype
