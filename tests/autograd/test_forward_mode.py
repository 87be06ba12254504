"""Forward-mode gradients: directional derivatives along with the values."""

import pytest
from gradient_samples import SAMPLES, inputs
from test_gradients import function_of

import shim_torch as torch
from shim_torch.autograd import forward_ad as fw

pytestmark = [pytest.mark.usefixtures("device"), pytest.mark.devices("cpu", "cuda")]

SOME = "exp add.Tensor mul.Tensor pow.Tensor_Tensor sum.dim_IntList softmax.int mm linear cat view select.int _index_at where.self max.dim var.correction linalg_inv_ex split.Tensor convolution cumsum copy_".split()
EXPRESSIONS = [e for name in SOME for e in SAMPLES[name] if "z" not in e]


def test_inputs_are_there():
    assert inputs(torch)["a"].shape == (2, 3)


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_tangents_against_differences(expression):
    function, leaves = function_of(expression)
    assert torch.autograd.gradcheck(function, leaves, check_forward_ad=True)


def test_values_and_tangents():
    x, t = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])
    with fw.dual_level():
        dual = fw.make_dual(x, t)
        y = dual * dual + 1
        primal, tangent = fw.unpack_dual(y)
        assert primal.tolist() == [2.0, 5.0]
        assert tangent.tolist() == [6.0, 16.0]
        assert not y.requires_grad
        assert fw.unpack_dual(x).tangent is None
        assert fw.unpack_dual(y[1:].sum()).tangent.item() == 16.0
        with torch.no_grad():
            assert fw.unpack_dual(dual.chunk(2)[1]).tangent.tolist() == [4.0]
        z = torch.zeros(2)
        z.add_(dual)
        assert fw.unpack_dual(z).tangent.tolist() == [3.0, 4.0]
    assert fw.unpack_dual(y).tangent is None


def test_writes_through_views():
    x, t = torch.ones(3), torch.arange(3.0)
    with fw.dual_level():
        dual = fw.make_dual(x, t)
        tangent = lambda y: fw.unpack_dual(y).tangent.tolist()
        z = torch.zeros(5)
        z[1:4] = dual
        assert tangent(z) == [0.0, 0.0, 1.0, 2.0, 0.0]
        z[3].mul_(3)
        assert tangent(z) == [0.0, 0.0, 1.0, 6.0, 0.0]
        assert tangent(z[3]) == 6.0
        z.narrow(0, 2, 2).copy_(torch.ones(2))
        assert tangent(z) == [0.0, 0.0, 0.0, 0.0, 0.0]
        copy = dual.clone()
        copy.mul_(2)
        assert tangent(dual) == [0.0, 1.0, 2.0]
        assert tangent(copy) == [0.0, 2.0, 4.0]
        assert tangent(torch.constant_pad_nd(dual, (1, 1))) == [0.0, 0.0, 1.0, 2.0, 0.0]
        assert tangent(torch.zeros(2, 3).select_scatter(dual, 0, 1)) == [[0.0, 0.0, 0.0], [0.0, 1.0, 2.0]]
        assert tangent(torch.ones(3).masked_fill(x > 0, dual[2])) == [2.0, 2.0, 2.0]


def test_flat_functions_have_zeros():
    with fw.dual_level():
        dual = fw.make_dual(torch.tensor([0.5, -1.5]), torch.tensor([3.0, 4.0]))
        for y in (dual.floor(), dual.sign(), dual.round(decimals=1), torch.div(dual, 2, rounding_mode="floor")):
            assert fw.unpack_dual(y).tangent.tolist() == [0.0, 0.0]


def test_forward_over_reverse():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with fw.dual_level():
        y = (fw.make_dual(x, torch.tensor([1.0, 0.0])) ** 3).sum()
        tangent = fw.unpack_dual(y).tangent
        (g,) = torch.autograd.grad(tangent, x)
    assert g.tolist() == [6.0, 0.0]


def test_functions_have_their_own():
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.x = x
            return x**3

        @staticmethod
        def jvp(ctx, t):
            return 3 * ctx.x**2 * t

    class Silent(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

    with fw.dual_level():
        dual = fw.make_dual(torch.tensor([2.0]), torch.tensor([5.0]))
        assert fw.unpack_dual(Cube.apply(dual)).tangent.tolist() == [60.0]
        with pytest.raises(NotImplementedError, match="must implement the jvp function"):
            Silent.apply(dual)


def test_errors():
    x = torch.ones(2)
    with pytest.raises(RuntimeError, match="no level exists"):
        fw.make_dual(x, x)
    with fw.dual_level():
        with pytest.raises(RuntimeError, match="Nested forward mode AD is not supported"):
            fw.enter_dual_level()
        with pytest.raises(ValueError, match="Expected primal to be floating point"):
            fw.make_dual(torch.ones(2, dtype=torch.int64), x)
        with pytest.raises(RuntimeError, match="different size"):
            fw.make_dual(x, torch.ones(3))


def test_gradcheck_checks_batches_and_perturbed_shapes():
    x = torch.ones(2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: x**2, (x,), check_batched_grad=True, check_forward_ad=True)
    with pytest.raises(AssertionError, match="return outputs with the same shape when inputs are perturbed"):
        torch.autograd.gradcheck(lambda x: torch.cat([x, x]) if bool((x >= 1).all()) else x, (x,))


def _pushed(function, x):
    def jvp(tangent):
        with fw.dual_level():
            return fw.unpack_dual(function(fw.make_dual(x, tangent))).tangent

    return jvp


@pytest.mark.parametrize(
    "function",
    [
        torch.trace,
        lambda x: torch.stack([x, x * 2]),
        lambda x: torch.nn.functional.pad(x, (1, 1)),
        lambda x: x.clone().mul_(x),
        lambda x: torch.zeros(4, 4).index_fill(0, torch.tensor([0]), 1.0).narrow(0, 1, 3).copy_(x),
        lambda x: torch.nn.functional.softmin(x, 1, dtype=torch.float32),
    ],
)
def test_batches_of_tangents_of_one_point(function):
    x, tangents = torch.linspace(0.5, 2.0, 12).reshape(3, 4), torch.linspace(-1.0, 1.0, 24).reshape(2, 3, 4)
    jvp = _pushed(function, x)
    torch.testing.assert_close(torch.vmap(jvp)(tangents), torch.stack([jvp(t) for t in tangents]))


def test_writes_with_a_tangent_and_a_history():
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    with fw.dual_level():
        dual = fw.make_dual(x, torch.tensor([1.0, 0.5, 2.0]))
        full = torch.zeros(5)
        full.narrow(0, 1, 3).copy_(dual * dual)
        full.pow_(2)
        value, tangent = fw.unpack_dual(full)
        assert value.tolist() == [0, 1, 16, 81, 0] and tangent.tolist() == [0, 4, 16, 216, 0]
        (first,) = torch.autograd.grad(value.sum(), x, retain_graph=True)
        (mixed,) = torch.autograd.grad(tangent.sum(), x)
    assert first.detach().tolist() == [4, 32, 108] and mixed.tolist() == [12, 24, 216]


def test_a_write_of_a_tensor_into_itself_is_seen_in_backward():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * x
    y.mul_(y)
    assert y.tolist() == [1.0, 16.0]
    with pytest.raises(RuntimeError, match="has been modified by an inplace operation"):
        y.sum().backward()


def test_operators_that_pytorch_has_no_forward_formula_of():
    with fw.dual_level():
        x = fw.make_dual(torch.eye(2), torch.ones(2, 2))
        with pytest.raises(NotImplementedError, match="forward AD with _cdist_forward that does not support it"):
            torch.cdist(x, torch.ones(2, 2))
        with pytest.raises(NotImplementedError, match="forward AD with index_reduce that"):
            x.index_reduce(0, torch.tensor([0]), torch.ones(1, 2), "amin")
        assert torch.cdist(torch.eye(2), torch.ones(2, 2)).shape == (2, 2)


@pytest.mark.parametrize("order", [2, 0.5, 3, -1])
def test_norm_of_zeros_has_no_tangent_but_zero(order):
    x, t = torch.zeros(3), torch.tensor([1.0, -2.0, 3.0])
    with fw.dual_level():
        assert fw.unpack_dual(torch.linalg.vector_norm(fw.make_dual(x, t), order)).tangent.item() == 0.0
