"""What kernels of torch.library are called with: PyTorch's overload, without the defaults, lists for lists of numbers."""

import pytest

import shim_torch as torch


class Seen(Exception):
    pass


def seen(name, call, key="CPU"):
    """The arguments that a kernel of ``aten::name`` gets from ``call``, or None where it is not called."""
    library = torch.library.Library("aten", "IMPL")

    def kernel(*args, **kwargs):
        raise Seen((args, kwargs))

    library.impl(name, kernel, key)
    try:
        call()
    except Seen as caught:
        args, kwargs = caught.args[0]
        shown = {name: "tensor" if isinstance(a, torch.Tensor) else a for name, a in kwargs.items()}
        return [a if not isinstance(a, torch.Tensor) else "tensor" for a in args], shown
    finally:
        library._destroy()
    return None


X = torch.tensor([1.0, -2.0, 3.0])
I = torch.tensor([1, 2, 3])
B = torch.tensor([True, False, True])


@pytest.mark.parametrize(
    "name, call, args, kwargs",
    [
        ("sum.dim_IntList", lambda: torch.sum(X, dim=[]), ["tensor", []], {}),
        ("sum.dim_IntList", lambda: X.sum(0, keepdim=True), ["tensor", [0], True], {}),
        ("sum.dim_IntList", lambda: X.sum(0, dtype=torch.float64), ["tensor", [0]], {"dtype": torch.float64}),
        ("multinomial", lambda: torch.multinomial(X.abs(), 2), ["tensor", 2], {}),
        ("multinomial", lambda: torch.multinomial(X.abs(), 2, True), ["tensor", 2, True], {}),
        ("add.Tensor", lambda: X + 2, ["tensor", 2], {}),
        ("add.Tensor", lambda: torch.add(X, 2, alpha=3), ["tensor", 2], {"alpha": 3}),
        ("amax", lambda: X.amax(), ["tensor"], {}),
        ("topk", lambda: X.topk(2), ["tensor", 2], {}),
        (
            "nll_loss_forward",
            lambda: torch.ops.aten.nll_loss_forward(X[None], I[:1], None, 1, -100),
            ["tensor", "tensor", None, 1, -100],
            {},
        ),
    ],
)
def test_defaults_are_left_out(name, call, args, kwargs):
    assert seen(name, call) == (args, kwargs)


@pytest.mark.parametrize(
    "name, call, args",
    [
        ("eq.Scalar", lambda: X == 3, ["tensor", 3]),
        ("eq_.Scalar", lambda: X.clone().eq_(3), ["tensor", 3]),
        ("ge.Scalar", lambda: X >= 1, ["tensor", 1]),
        ("remainder.Scalar", lambda: X % 2, ["tensor", 2]),
        ("remainder.Scalar_Tensor", lambda: torch.remainder(7, X), [7, "tensor"]),
        ("bitwise_and.Scalar", lambda: torch.bitwise_and(I, 3), ["tensor", 3]),
        ("bitwise_and_.Scalar", lambda: I.clone().bitwise_and_(3), ["tensor", 3]),
        ("pow.Tensor_Scalar", lambda: X**2, ["tensor", 2]),
        ("pow.Scalar", lambda: 2**X, [2, "tensor"]),
        ("pow_.Scalar", lambda: X.clone().pow_(2), ["tensor", 2]),
        ("xlogy.Scalar_Other", lambda: torch.xlogy(X, 2), ["tensor", 2]),
        ("copysign.Scalar", lambda: torch.copysign(X, -1), ["tensor", -1]),
        ("where.ScalarOther", lambda: torch.where(B, X, 1.0), ["tensor", "tensor", 1.0]),
        ("where.ScalarSelf", lambda: torch.where(B, 1.0, X), ["tensor", 1.0, "tensor"]),
        ("where.Scalar", lambda: torch.where(B, 1.0, 2.0), ["tensor", 1.0, 2.0]),
    ],
)
def test_numbers_have_overloads_of_their_own(name, call, args):
    assert seen(name, call) == (args, {})


@pytest.mark.parametrize(
    "name, call, args",
    [
        ("greater.Scalar_out", lambda: torch.greater(X, 0, out=B.clone()), ["tensor", 0]),
        ("gt.Scalar_out", lambda: torch.gt(X, 0, out=B.clone()), ["tensor", 0]),
        ("gt.Tensor_out", lambda: torch.gt(X, X, out=B.clone()), ["tensor", "tensor"]),
        ("pow.Tensor_Scalar_out", lambda: torch.pow(X, 2, out=X.clone()), ["tensor", 2]),
        ("pow.Scalar_out", lambda: torch.pow(2, X, out=X.clone()), [2, "tensor"]),
        ("remainder.Scalar_out", lambda: torch.remainder(X, 2, out=X.clone()), ["tensor", 2]),
        ("bitwise_left_shift.Tensor_Scalar_out", lambda: torch.bitwise_left_shift(I, 1, out=I.clone()), ["tensor", 1]),
        ("copysign.out", lambda: torch.copysign(X, X, out=X.clone()), ["tensor", "tensor"]),
        ("xlogy.OutTensor", lambda: torch.xlogy(X, X, out=X.clone()), ["tensor", "tensor"]),
        ("xlogy.OutScalar_Self", lambda: torch.xlogy(2, X, out=X.clone()), [2, "tensor"]),
    ],
)
def test_results_given_have_overloads_of_their_own(name, call, args):
    assert seen(name, call) == (args, {"out": "tensor"})


@pytest.mark.parametrize(
    "name, call, args",
    [
        ("celu", lambda: torch.nn.functional.celu(X, 0.5), ["tensor", 0.5]),
        ("celu_", lambda: torch.nn.functional.celu_(X.clone(), 0.5), ["tensor", 0.5]),
        ("selu", lambda: torch.nn.functional.selu(X), ["tensor"]),
        ("selu_", lambda: torch.nn.functional.selu(X.clone(), True), ["tensor"]),
        ("relu6", lambda: torch.nn.functional.relu6(X), ["tensor"]),
    ],
)
def test_activations_call_operators_of_their_own(name, call, args):
    assert seen(name, call) == (args, {})


def test_a_kernel_for_tensors_does_not_get_numbers():
    assert seen("eq.Tensor", lambda: X == 3) is None
    assert seen("pow.Tensor_Tensor", lambda: X**2) is None
    assert seen("eq.Tensor", lambda: X == X) == (["tensor", "tensor"], {})
    assert (X == 3).tolist() == [False, False, True]


def test_factories_say_where_their_memory_is():
    where = {"device": torch.device("cpu"), "pin_memory": False}
    assert seen("zeros", lambda: torch.zeros(3)) == ([[3]], where)
    assert seen("arange.start", lambda: torch.arange(1, 3, dtype=torch.int32)) == (
        [1, 3],
        {"dtype": torch.int32, **where},
    )
    assert seen("zeros", lambda: torch.zeros(3, device="meta")) is None
    assert seen("zeros", lambda: torch.zeros(3, device="meta"), "Meta")[1]["device"] == torch.device("meta")


def test_results_of_a_kernel_for_numbers_are_the_call_s():
    library = torch.library.Library("aten", "IMPL")
    library.impl("gt.Scalar", lambda self, other: torch.full_like(self, other, dtype=torch.float32), "CPU")
    try:
        assert (X > 5).tolist() == [5.0, 5.0, 5.0]
    finally:
        library._destroy()
    assert (X > 2).tolist() == [False, False, True]


def with_kernel(name, kernel, call):
    library = torch.library.Library("aten", "IMPL")
    library.impl(name, kernel, "CPU")
    try:
        return call()
    finally:
        library._destroy()


@pytest.mark.parametrize(
    "name, call, args",
    [
        ("_softmax", lambda: torch.softmax(X, -1), ["tensor", -1, False]),
        ("_log_softmax", lambda: torch.nn.functional.log_softmax(X, 0), ["tensor", 0, False]),
        ("native_layer_norm", lambda: torch.nn.functional.layer_norm(X, (3,)), ["tensor", [3], None, None, 1e-5]),
        ("mm", lambda: X[None] @ X[:, None], ["tensor", "tensor"]),
        ("bmm", lambda: torch.ones(2, 1, 3) @ torch.ones(2, 3, 1), ["tensor", "tensor"]),
        ("addmm", lambda: torch.nn.functional.linear(X[None], torch.ones(2, 3), torch.ones(2)), ["tensor"] * 3),
        ("_to_copy", lambda: X.double(), ["tensor"]),
    ],
)
def test_composites_call_the_kernels_of_their_parts(name, call, args):
    assert seen(name, call)[0] == args


def test_parts_do_not_lose_gradients():
    x = X.clone().requires_grad_()
    y = with_kernel("_softmax", lambda self, dim, half: self * 0, lambda: torch.softmax(x, 0))
    assert y.grad_fn is not None and torch.allclose(y.sum(), torch.tensor(1.0))
    with torch.no_grad():
        assert with_kernel("_softmax", lambda self, dim, half: self * 0, lambda: torch.softmax(x, 0)).tolist() == [
            0,
            0,
            0,
        ]
    w = torch.ones(3, 2, requires_grad=True)
    calls = []
    mm = with_kernel(
        "mm", lambda a, b: calls.append(1) or torch.ops.aten.mm.default.redispatch(KEYS, a, b), lambda: X[None] @ w
    )
    mm.sum().backward()
    assert calls == [1] and w.grad.tolist() == [[1, 1], [-2, -2], [3, 3]]


KEYS = torch._C.DispatchKeySet(torch._C.DispatchKey.CompositeExplicitAutograd)


def test_redispatch():
    def copied(self, **kwargs):
        return torch.ops.aten._to_copy.default.redispatch(KEYS, self, **kwargs) + 1

    assert with_kernel("_to_copy", copied, lambda: X.to(torch.float64)).tolist() == [2.0, -1.0, 4.0]
    equal = with_kernel("eq.Scalar", lambda a, b: torch.ops.aten.eq.Scalar.redispatch(KEYS, a, b), lambda: X == 1)
    assert equal.tolist() == [True, False, False]
    cpu = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)
    assert with_kernel("neg", lambda a: a * 2, lambda: torch.ops.aten.neg.default.redispatch(cpu, X)).tolist() == [
        2,
        -4,
        6,
    ]
    with pytest.raises(TypeError, match="must be DispatchKeySet, not int"):
        torch.ops.aten.neg.default.redispatch(1, X)


def test_an_overload_that_was_asked_for_is_still_called_for_numbers():
    assert torch.ops.aten.eq.Scalar(X, 3).tolist() == [False, False, True]
    assert torch.ops.aten.lt.Scalar(X, 0).tolist() == [False, True, False]
    assert seen("eq.Scalar", lambda: X == 3) == (["tensor", 3], {})
    assert seen("lt.Scalar", lambda: X < 0) == (["tensor", 0], {})
    assert seen("lt.Tensor", lambda: X < X) == (["tensor", "tensor"], {})
