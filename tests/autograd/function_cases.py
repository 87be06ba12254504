"""autograd.Function: its context, its gradients and its errors. Every function is a case, run with PyTorch and with shim_torch."""

import gc
import weakref

from outcome import attempt, function_of, leaf_of


def saves_and_counts(torch):
    def forward(ctx, x, n, y):
        ctx.save_for_backward(x, y, None)
        ctx.n = n
        return x * y * n

    def backward(ctx, g):
        x, y, nothing = ctx.saved_tensors
        return g * y * ctx.n, None, g * x * ctx.n if ctx.needs_input_grad[2] else None, nothing, None

    f = function_of(torch, forward, backward)
    x, y = leaf_of(torch), torch.tensor([2.0, 3.0, 4.0])
    out = f.apply(x, 3, y)
    seen = out.grad_fn.needs_input_grad, out.grad_fn.name(), out.grad_fn.next_functions[1], type(out.grad_fn).__name__
    out.sum().backward()
    return seen, x.grad, attempt(lambda: out.grad_fn.saved_tensors), attempt(out.sum().backward)


def wrong_gradients(torch):
    x = leaf_of(torch)
    few = function_of(torch, lambda ctx, x, y: x * y, lambda ctx, g: g)
    many = function_of(torch, lambda ctx, x: x * 2, lambda ctx, g: (g, g))
    notnone = function_of(torch, lambda ctx, x, n: x * n, lambda ctx, g: (g, g))
    text = function_of(torch, lambda ctx, x: x * 2, lambda ctx, g: "text")
    shape = function_of(torch, lambda ctx, x: x * 2, lambda ctx, g: g[:2])
    wide = function_of(torch, lambda ctx, x: x * 2, lambda ctx, g: g.expand(2, 3))
    none = function_of(torch, lambda ctx, x: x * 2, lambda ctx, g: None)
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
    f = function_of(torch, lambda ctx, x: x * 2, vjp=staticmethod(lambda ctx, g: g))
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

    f = function_of(torch, forward, lambda ctx, g: g * ctx.saved_tensors[0])
    x = leaf_of(torch)
    (g,) = torch.autograd.grad(f.apply(x).sum(), x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x, create_graph=True)
    (i,) = torch.autograd.grad(h.sum(), x)
    return g, h, i


def once(torch):
    once_differentiable = torch.autograd.function.once_differentiable
    f = function_of(torch, lambda ctx, x: x * 2, once_differentiable(lambda ctx, g: g * 2))
    x = leaf_of(torch)
    (g,) = torch.autograd.grad((f.apply(x) ** 2).sum(), x, create_graph=True)
    return g.requires_grad, attempt(torch.autograd.grad, g.sum(), x)


def saved_is_modified(torch):
    def forward(ctx, x):
        y = x * 2
        ctx.save_for_backward(x, y)
        return y

    f = function_of(torch, forward, lambda ctx, g: ctx.saved_tensors[0] * g)
    x = torch.ones(3)
    w = leaf_of(torch)
    y = f.apply(w * 1)
    y.add_(1)
    z = function_of(
        torch, lambda ctx, w, x: (ctx.save_for_backward(x), w * x)[1], lambda ctx, g: (ctx.saved_tensors[0] * g, None)
    ).apply(w, x)
    x.mul_(2)
    return attempt(y.sum().backward), attempt(z.sum().backward)


def saving_no_tensor(torch):
    def forward(ctx, x):
        ctx.save_for_backward(3, x)
        return x * 2

    return attempt(function_of(torch, forward).apply, leaf_of(torch)), attempt(
        function_of(torch, forward).apply, torch.ones(1)
    )


def grad_mode_inside(torch):
    log = []
    f = function_of(
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
        attempt(function_of(torch, bad).apply, x),
        attempt(function_of(torch, lambda ctx, x: x * 2, bad).apply(x).sum().backward),
        torch.is_grad_enabled(),
    )


def attributes(torch):
    f = function_of(torch, lambda ctx, x: x * 2)
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
        f = function_of(torch, lambda ctx, x: (setattr(ctx, "mark", mark), x * 2)[1])
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
    f = function_of(torch, lambda ctx, x: x * 2)
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
    f = function_of(torch, lambda ctx, xs: xs[0] * 2)
    return f.apply([leaf_of(torch)]).requires_grad


def broadcast_gradient(torch):
    f = function_of(torch, lambda ctx, x, y: x * y, lambda ctx, g: (g * 1, g * 2))
    x, y = torch.ones(3, requires_grad=True), torch.ones(2, 3, requires_grad=True)
    f.apply(x, y).sum().backward()
    return x.grad, y.grad


def double_gradient(torch):
    f = function_of(torch, lambda ctx, x: x * 2, lambda ctx, g: g.double())
    x = leaf_of(torch)
    f.apply(x).sum().backward()
    return x.grad.dtype
