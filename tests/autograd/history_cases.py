"""What history calls leave that have no formula of their own: out=, comparisons in place, operators that write to a leaf.

Also tangents that an autograd.Function gives itself. Every function is a case, run with PyTorch and with shim_torch.
"""

import warnings

from outcome import attempt, leaf_of


def _told(function):
    """Whether the result needs a gradient, its node, and what backward says."""

    def run():
        result = function()
        node = result.grad_fn
        return result.requires_grad, node and (node.name(), type(node).__name__, repr(result).rpartition("grad_fn=")[2])

    return attempt(run), attempt(lambda: function().sum().backward())


def out_of_functions_without_a_derivative(torch):
    x, empty = leaf_of(torch), torch.empty
    through = torch.ones(3, requires_grad=True) * 1
    return [
        _told(call)
        for call in (
            lambda: torch.softmax(x, 0, out=empty(3)),
            lambda: torch.log_softmax(x, 0, out=empty(3)),
            lambda: torch.floor_divide(x, x, out=empty(3)),
            lambda: torch.heaviside(x, x, out=empty(3)),
            lambda: torch.softmax(x.detach(), 0, out=through),
            lambda: torch.softmax(x, 0, out=leaf_of(torch)),
            lambda: torch.log_softmax(x.detach(), 0, out=leaf_of(torch)),
            lambda: torch.cat([x, x], out=empty(6)),
        )
    ]


def out_that_is_copied_last(torch):
    x = torch.ones(3, 3, requires_grad=True)
    calls = (
        lambda: torch.tensordot(x, x, out=torch.empty(3, 3)),
        lambda: torch.linalg.norm(x, out=torch.empty(())),
        lambda: torch.linalg.matrix_norm(x, out=torch.empty(())),
    )
    return [_told(call) for call in calls], x.grad


def out_that_has_no_gradient(torch):
    x, square, place = leaf_of(torch), torch.eye(3, requires_grad=True), torch.tensor(0)
    truth = torch.tensor(True)
    return [
        _told(call)[0]
        for call in (
            lambda: torch.argmin(x, out=place),
            lambda: torch.argmax(x, 0, out=place),
            lambda: torch.any(x, 0, out=truth),
            lambda: torch.all(x, 0, out=truth),
            lambda: torch.linalg.matrix_rank(square, out=place),
            lambda: torch.bucketize(x, x.detach(), out=torch.zeros(3, dtype=torch.int64)),
            lambda: torch.searchsorted(x.detach(), x, out=torch.zeros(3, dtype=torch.int64)),
            lambda: torch.histc(x, 4),
            lambda: x.histc(2, 0, 4),
            lambda: torch.special.airy_ai(x),
            lambda: torch.special.hermite_polynomial_h(x, x),
        )
    ]


def comparisons_in_place(torch):
    x, y = leaf_of(torch), torch.tensor([1.0, 3.0, 2.0])
    found = []
    for name in ("lt", "le", "gt", "ge", "eq", "ne"):
        for mine, other in ((x, y), (x, 2), (y, x), (x, x.double())):
            compared = getattr(mine.clone(), name + "_")(other)
            found.append((name, compared.grad_fn.name(), torch.autograd.grad(compared.sum(), x)))
    return found


def logic_in_place_passes_gradients(torch):
    x = leaf_of(torch)
    results = [x.clone().logical_not_(), x.clone().logical_and_(x), x.clone().logical_xor_(x.detach())]
    return [(r.grad_fn.name(), torch.autograd.grad(r.sum(), x)) for r in results]


def numbers_less_tensors(torch):
    x = leaf_of(torch)
    results = (torch.sub(2, x), torch.sub(2, x, alpha=3), torch.subtract(2, x), 2 - x, x.__rsub__(2), torch.rsub(x, 2))
    return [(r.grad_fn.name(), r, torch.autograd.grad(r.sum(), x)) for r in results]


def pools_of_one_dim_are_views(torch):
    F = torch.nn.functional
    x, y = torch.arange(12.0).reshape(1, 2, 6).requires_grad_(), torch.arange(12.0).reshape(2, 6)
    results = (
        F.max_pool1d(x, 2), *F.max_pool1d(x, 2, return_indices=True), *F.max_pool1d(y, 3, 1, 1, return_indices=True),
        F.max_pool1d(y, 2), F.adaptive_max_pool1d(x, 2), *F.adaptive_max_pool1d(y, 4, return_indices=True),
    )  # fmt: skip
    return [(r._is_view(), r._base is not None and list(r._base.shape), r) for r in results]


def operators_that_write_to_leaves(torch):
    def add_to(x: torch.Tensor, y: torch.Tensor) -> None:
        x.add_(y)

    def incremented(x: torch.Tensor) -> torch.Tensor:
        x.add_(1)
        return x.clone()

    declare = torch.library.custom_op
    add = declare("history_cases::add_to", add_to, mutates_args={"x"})
    increment = declare("history_cases::incremented", incremented, mutates_args={"x"})
    x, plain = leaf_of(torch), torch.ones(3)
    between = x * 2
    return (
        attempt(add, x, plain), x, x._version,
        attempt(add, between, plain), between, between.grad_fn.name(), between._version,
        attempt(add, plain, x), plain,
        attempt(add, x[:2], plain[:2]), x,
        attempt(increment, x), x, attempt(lambda: increment(x).grad_fn.name()),
        attempt(lambda: increment(x).sum().backward()),
    )  # fmt: skip


def tangents_of_functions(torch):
    grad, jvp = torch.func.grad, torch.func.jvp

    class Times(torch.autograd.Function):
        """x² · k, whose tangent is ten times what it should be: who calls it is seen."""

        @staticmethod
        def forward(x, w, k):
            return x * x * k + w, k

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(inputs[0])
            ctx.save_for_forward(inputs[0])
            ctx.k = inputs[2]

        @staticmethod
        def backward(ctx, g, _):
            return g * 2 * ctx.saved_tensors[0] * ctx.k, g, None

        @staticmethod
        def jvp(ctx, x, w, _):
            return 20 * ctx.saved_tensors[0] * x * ctx.k + w, None

    class NoTangent(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x * 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x, w, t = torch.tensor([1.0, 2.0, 3.0]), torch.ones(3), torch.tensor([1.0, 0.5, -1.0])
    warnings.simplefilter("ignore")  # PyTorch's first use of jvp warns of jit.script
    return (
        jvp(lambda a: Times.apply(a, w, 3)[0], (x,), (t,)),
        jvp(lambda a, b: Times.apply(a, b, 3)[0].sin(), (x, w), (t, t)),
        jvp(lambda b: Times.apply(x, b, 3)[0], (w,), (t,)),
        grad(lambda a: jvp(lambda b: Times.apply(b, w, 3)[0], (a,), (t,))[1].sum())(x),
        jvp(grad(lambda a: Times.apply(a, w, 3)[0].sum()), (x,), (t,)),
        attempt(jvp, NoTangent.apply, (x,), (t,)),
        attempt(jvp, lambda a: NoTangent.apply(a.detach()) + a, (x,), (t,)),
    )
