"""Forward-mode rules, hooks that are dicts, saved attributes: every function is a case, run with PyTorch and with shim_torch."""

import importlib
import warnings

from outcome import attempt


def _forward(torch):
    return importlib.import_module(f"{torch.__spec__.name}.autograd.forward_ad")


def _duals(torch):
    return torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])


def _quietly(f, *args):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return f(*args)


def refused_duals(torch):
    fw, (x, t) = _forward(torch), _duals(torch)
    with fw.dual_level():
        dual = _quietly(fw.make_dual, x, t)  # PyTorch's first one warns of its own decompositions
        return [
            attempt(fw.make_dual, torch.ones(2), dual),
            attempt(fw.make_dual, dual, torch.ones(2)),
            attempt(fw.make_dual, x, t, level=3),
            attempt(torch.add, x, x, out=dual),
            attempt(torch.add, dual, x, out=torch.ones(2)),
            attempt(torch.igamma, dual, dual),
        ]


def printed(torch):
    fw, (x, t) = _forward(torch), _duals(torch)
    with fw.dual_level():
        return str(fw.make_dual(x, t)), str(fw.make_dual(x.clone().requires_grad_(), t)), str(x)


def what_jvp_returns(torch):
    fw = _forward(torch)

    class Copy(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

    class View(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.view_as(x)

    class InPlace(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.mul_(2)

    class Partly(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x.clone()
            ctx.mark_non_differentiable(y)
            return y

    results = {}
    for base, jvps in (
        (Copy, (lambda a: (a, a), lambda a: 3, lambda a: torch.ones(7), lambda a: a * 2)),
        (View, (lambda a: a.clone(), lambda a: a.view_as(a), lambda a: torch.ones(2).view(2))),
        (InPlace, (lambda a: a * 2, lambda a: a, lambda a: a.mul_(2))),
        (Partly, (lambda a: a, lambda a: None)),
    ):
        for i, jvp in enumerate(jvps):
            f = type("F", (base,), {"jvp": staticmethod(lambda ctx, a, jvp=jvp: jvp(a))})
            with fw.dual_level():
                x = fw.make_dual(*_duals(torch))
                results[f"{base.__name__}{i}"] = attempt(lambda f=f, x=x: fw.unpack_dual(f.apply(x)).tangent)
    return results


def hooks_are_a_dict(torch):
    seen = []
    leaf = torch.ones(2, requires_grad=True)
    inner = leaf * 2
    for t, name in ((leaf, "leaf"), (inner, "inner")):
        t._backward_hooks = {}
        t._backward_hooks["mine"] = lambda g, name=name: seen.append(name) or g * 10
    (inner * 1).sum().backward()
    inner._backward_hooks = None
    return seen, leaf.grad, list(leaf._backward_hooks), inner._backward_hooks


def saved_indices(torch):
    x = torch.ones(2, 2, requires_grad=True)
    node = x[:, torch.tensor([0, 1])].grad_fn
    raw = node._raw_saved_indices
    identity = (lambda t: t,) * 2
    return (
        node.name(),
        node._saved_indices,
        node._saved_self_sym_sizes,
        len(raw),
        raw[1].register_hooks(*identity),
        attempt(raw[0].register_hooks, *identity),
    )


def inference_tensors_have_no_history(torch):
    with torch.inference_mode():
        t = torch.ones(2, 3, requires_grad=True)
    v = t.view(-1)
    return v.is_inference(), v.requires_grad, v._is_view(), (t * 2).requires_grad, t.requires_grad


def hooks_left_on_in_backward(torch):
    hooks = torch.autograd.graph.saved_tensors_hooks
    again = hooks(lambda t: t, lambda t: t)

    def unpack(t):
        again.__enter__()
        return t

    x = torch.ones(2, requires_grad=True)
    with hooks(lambda t: t, unpack):
        y = x.sin()
    y.sum().backward()
    kept = []
    with hooks(lambda t: kept.append(1) or t, lambda t: t):
        x.sin()
    x.sin()
    return len(kept), x.grad


def module_hooks_in_a_double_backward(torch):
    x, y, seen = torch.ones(1, requires_grad=True), torch.zeros(1), []
    loss = torch.nn.MSELoss()
    loss.register_full_backward_hook(lambda *_: seen.append(1))
    (g,) = torch.autograd.grad(loss(x, y), x, create_graph=True)
    return len(seen), torch.autograd.grad(g, x), len(seen)


def strict_functionals(torch):
    f = importlib.import_module(f"{torch.__spec__.name}.autograd.functional")
    x = torch.tensor([1.0, 2.0])

    def square(t):
        return t.pow(2)

    return [
        attempt(f.jacobian, torch.exp, x, strict=True, vectorize=True),
        attempt(f.jacobian, torch.exp, x, strategy="forward-mode", vectorize=True, strict=True),
        attempt(f.jacobian, torch.exp, x, strategy="forward-mode"),
        attempt(f.hessian, torch.sum, x, strict=True),
        attempt(f.hvp, torch.sum, x, torch.ones(2), strict=True),
        attempt(f.vhp, torch.sum, x, torch.ones(2), strict=True),
        attempt(f.hvp, lambda t: square(t).sum(), x, (torch.ones(2), 2)),
        attempt(f.vhp, lambda t: square(t).sum(), x, (torch.ones(2), 2)),
        attempt(f.jvp, square, x, 3),
        attempt(f.vjp, square, x, [torch.ones(2)]),
        attempt(f.hessian, lambda t: torch.ones(()), x, strict=True),
        f.hessian(lambda t: square(t).prod(), x),
        f._construct_standard_basis_for((torch.zeros(2), torch.zeros(1, dtype=torch.float64)), (2, 1)),
    ]


def parts_of_jacobians(torch):
    """What pytorch-minimize makes its own Jacobian of."""
    f = importlib.import_module(f"{torch.__spec__.name}.autograd.functional")
    x = torch.ones(2, requires_grad=True) * 2
    y = ((x,), (x + 1,))
    return [
        f._as_tuple(x),
        f._as_tuple([x, 3]),
        f._as_tuple((x,), "inputs", "jac"),
        f._as_tuple(x, "inputs", "jac"),
        attempt(f._as_tuple, 3, "inputs", "jac"),
        attempt(f._as_tuple, (x, 3), "inputs", "jac"),
        [t.requires_grad for t in f._grad_postprocess((x, x), False)],
        [t.requires_grad for t in f._grad_postprocess((x, x), True)],
        [t.requires_grad for (t,) in f._grad_postprocess(y, False)],
        [t.requires_grad for (t,) in f._grad_postprocess(y, True)],
        [f._tuple_postprocess((1, 2), unpack) for unpack in (True, False)],
        [f._tuple_postprocess(((1, 2), (3, 4)), (outer, inner)) for outer in (True, False) for inner in (True, False)],
    ]


def wrappers_with_handlers_alone(torch):
    class Wrapper(torch.Tensor):
        @staticmethod
        def __new__(cls, inner):
            made = torch.Tensor._make_wrapper_subclass(cls, inner.size(), dtype=inner.dtype)
            made.held = inner
            return made

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            def plain(a):
                return [plain(x) for x in a] if isinstance(a, (list, tuple)) else getattr(a, "held", a)

            def wrapped(a):
                return [wrapped(x) for x in a] if isinstance(a, (list, tuple)) else cls(a) if hasattr(a, "dim") else a

            return wrapped(func(*plain(args), **(kwargs or {})))

    x = Wrapper(torch.tensor([1.0, 2.0])).requires_grad_()
    w = Wrapper(torch.tensor([[1.0, 2.0], [3.0, 4.0]])).requires_grad_()
    results = [type(x.chunk(2)[0]).__name__, hasattr(x.chunk(2)[1], "held")]
    y = torch.nn.functional.linear(x.view(1, 2), w).pow(2).sum()
    first = torch.autograd.grad(y, (x, w), create_graph=True)
    second = torch.autograd.grad(first[0][0] + first[1][0, 0], (x, w))
    return results, [g.held for g in first], [g.held for g in second]


def gradients_of_extrema_of_nan(torch):
    nan, grads = float("nan"), []
    for f in (torch.min, torch.max, torch.median):
        for values in ([1.0, nan, nan], [nan, nan], [2.0, 1.0, 2.0, 1.0]):
            x = torch.tensor(values, requires_grad=True)
            f(x).backward()
            grads.append(x.grad)
    return grads


def results_into_inference_tensors(torch):
    with torch.inference_mode():
        c = torch.zeros(2)
        inside = torch.add(torch.ones(2), 1, out=c).sum()
    ones = torch.ones(2)
    return inside, attempt(torch.mul, ones, ones, out=c), attempt(torch.mul, ones.requires_grad_(), 2, out=c)


def order_of_execution(torch):
    found = []
    y = torch.ones(2, requires_grad=True).sin().exp()
    y.register_hook(lambda g: found.append(attempt(torch._C._current_graph_task_execution_order)))
    y.sum().backward()
    return found


def data_of_another_layout(torch):
    x = torch.ones(3)
    sparse = torch.ones(3).to_sparse()
    return attempt(setattr, x, "data", sparse)


def mutation_of_saved_tensors(torch):
    with torch.autograd.graph.allow_mutation_on_saved_tensors() as ctx:
        a = torch.ones(2, requires_grad=True)
        b = a.clone()
        out = (b**2).sum()
        counts = [len(list(ctx.cloned.items())), len(list(ctx.tid_to_weakhandle.items()))]
        b.sin_()
        counts.append(len(list(ctx.cloned.items())))
        out.backward()
        counts.append(len(list(ctx.cloned.items())))
    return counts, a.grad
