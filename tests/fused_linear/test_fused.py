"""fused_linear: values and gradients against the separate operators, what is kept, the switch to unfused linear."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import shim_torch as torch
from shim_torch._impl.native import _core
from shim_torch.overrides import TorchFunctionMode
from shim_torch_linear import DecomposeLinear, fused_linear

F = torch.nn.functional
ACTIVATIONS = [("none", "none"), ("relu", "none"), ("gelu", "none"), ("gelu", "tanh")]


def random(rng, *shape, dtype=torch.float64):
    return torch.from_numpy(rng.standard_normal(shape)).to(dtype)


def numbers(t):
    return t.detach().to(torch.float64).numpy()


def separate(x, w, b, activation, approximate):
    z = F.linear(x, w, b)
    return z if activation == "none" else F.relu(z) if activation == "relu" else F.gelu(z, approximate=approximate)


@pytest.mark.parametrize("activation, approximate", ACTIVATIONS)
@pytest.mark.parametrize("needs", list(itertools.product([False, True], repeat=3)))
def test_all_subsets_of_gradients(activation, approximate, needs):
    rng = np.random.default_rng(0)
    tensors = [random(rng, 2, 3, 5), random(rng, 7, 5), random(rng, 7)]
    for t, need in zip(tensors, needs, strict=True):
        t.requires_grad_(need)
    y, want = fused_linear(*tensors, activation, approximate=approximate), separate(*tensors, activation, approximate)
    np.testing.assert_allclose(numbers(y), numbers(want), rtol=1e-12, atol=1e-14)
    wanted = [t for t, need in zip(tensors, needs, strict=True) if need]
    if not wanted:
        assert y.grad_fn is None
        return
    g = random(rng, 2, 3, 7)
    for a, b in zip(torch.autograd.grad(y, wanted, g), torch.autograd.grad(want, wanted, g), strict=True):
        np.testing.assert_allclose(numbers(a), numbers(b), rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("trans_x, trans_y", itertools.product([False, True], repeat=2))
def test_operands_of_every_orientation(trans_x, trans_y):
    rng = np.random.default_rng(1)
    x, w, b = random(rng, 6, 5), random(rng, 7, 5), random(rng, 7)
    given_x = x.t().contiguous() if trans_x else x
    given_w = w if trans_y else w.t().contiguous()
    y = fused_linear(given_x, given_w, b, "relu", trans_x=trans_x, trans_y=trans_y)
    np.testing.assert_allclose(numbers(y), np.maximum(numbers(x) @ numbers(w).T + numbers(b), 0), rtol=1e-12)


def test_vectors_lie_the_same_way_in_both_orientations():
    x, w = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([[1.0, 0.0, 1.0], [-1.0, 0.0, -1.0]])
    for trans_x, trans_y in itertools.product([False, True], repeat=2):
        options = {"trans_x": trans_x, "trans_y": trans_y}
        assert fused_linear(x, w if trans_y else w.t(), None, "relu", **options).tolist() == [4.0, 0.0]
        assert fused_linear(w.t() if trans_x else w, x, None, "relu", **options).tolist() == [4.0, 0.0]


def kept(y):
    return y.grad_fn._saved_result1


def test_what_is_kept():
    w = torch.ones(3, 2, requires_grad=True)
    x = torch.ones(4, 2)
    with torch.no_grad():
        assert fused_linear(x, w, None, "gelu").grad_fn is None
    y, reserve = _core.function("shim::fused_linear")(x, w.detach(), None, "gelu", False)
    assert reserve.numel() == 0
    y = fused_linear(x, w, None, "gelu")
    assert kept(y).tolist() == [[2.0] * 3] * 4
    y = fused_linear(x, w, None, "relu")
    assert kept(y).data_ptr() == y.data_ptr()  # relu keeps its result, not a copy


def test_backward_without_what_was_kept_is_an_error():
    w = torch.ones(3, 2, requires_grad=True)
    y, _ = _core.function("shim::fused_linear")(torch.ones(4, 2), w, None, "gelu", False)
    with pytest.raises(RuntimeError, match="was not kept"):
        y.sum().backward()


def test_in_place_change_of_a_kept_result_is_noticed():
    w = torch.ones(3, 2, requires_grad=True)
    y = fused_linear(torch.ones(4, 2), w, None, "relu")
    y.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_relu_at_zero_and_nan():
    x = torch.tensor([[0.0], [-0.0], [math.nan], [1.0], [-1.0], [math.inf], [-math.inf]], requires_grad=True)
    w = torch.ones(2, 1)
    y = fused_linear(x, w, None, "relu")
    assert y[:, 0].isnan().tolist() == [False, False, True, False, False, False, False]
    y.sum().backward()
    want = x.detach().clone().requires_grad_()
    F.linear(want, w).clamp(min=0)
    assert x.grad.flatten().tolist() == [0, 0, 2, 2, 0, 2, 0]


@pytest.mark.parametrize("approximate", ["none", "tanh"])
def test_gelu_is_the_one_asked_for(approximate):
    z = np.linspace(-6, 6, 101)
    y = fused_linear(
        torch.from_numpy(z[:, None]), torch.ones(1, 1, dtype=torch.float64), None, "gelu", approximate=approximate
    )
    erf = np.array([0.5 * v * (1 + math.erf(v / math.sqrt(2))) for v in z])
    tanh = 0.5 * z * (1 + np.tanh(math.sqrt(2 / math.pi) * (z + 0.044715 * z**3)))
    np.testing.assert_allclose(numbers(y)[:, 0], erf if approximate == "none" else tanh, rtol=1e-11, atol=1e-15)
    assert np.abs(erf - tanh).max() > 4e-4


@pytest.mark.parametrize("activation, approximate", ACTIVATIONS)
def test_second_derivatives(activation, approximate):
    rng = np.random.default_rng(2)
    tensors = [random(rng, 3, 4).requires_grad_(), random(rng, 5, 4).requires_grad_(), random(rng, 5).requires_grad_()]
    v = [random(rng, *t.shape) for t in tensors]

    def second(f):
        first = torch.autograd.grad(
            (f(*tensors, activation, approximate=approximate) ** 2).sum(), tensors, create_graph=True
        )
        return torch.autograd.grad(sum((a * b).sum() for a, b in zip(first, v, strict=True)), tensors)

    for a, b in zip(second(fused_linear), second(separate), strict=True):
        np.testing.assert_allclose(numbers(a), numbers(b), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("activation, approximate", ACTIVATIONS[1:])
def test_fused_is_never_less_accurate(dtype, activation, approximate):
    rng = np.random.default_rng(3)
    x, w, b = random(rng, 40, 64, dtype=dtype), random(rng, 30, 64, dtype=dtype), random(rng, 30, dtype=dtype)
    exact = separate(x.double(), w.double(), b.double(), activation, approximate)
    fused = (fused_linear(x, w, b, activation, approximate=approximate).double() - exact).abs().max()
    unfused = (separate(x, w, b, activation, approximate).double() - exact).abs().max()
    assert fused <= unfused


def test_arguments():
    with pytest.raises(ValueError, match="activation must be one of none, relu, gelu"):
        fused_linear(torch.ones(1, 1), torch.ones(1, 1), activation="tanh")
    with pytest.raises(TypeError, match="'trans_x' must be bool, not str"):
        fused_linear(torch.ones(1, 1), torch.ones(1, 1), None, "gelu", "tanh")
    with pytest.raises(RuntimeError, match="either none or tanh"):
        fused_linear(torch.ones(1, 1), torch.ones(1, 1), activation="gelu", approximate="erf")
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        fused_linear(torch.ones(2, 3), torch.ones(4, 5), activation="relu")
    assert torch.equal(fused_linear(torch.ones(2, 3), -torch.ones(4, 3), activation=None), torch.full((2, 4), -3.0))


@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("dtype", [torch.int64, torch.bool, torch.complex64])
def test_activations_are_of_floating_point_numbers(activation, dtype):
    x = torch.ones(2, 2).to(dtype)
    with pytest.raises(NotImplementedError, match=f"{activation} is computed of floating-point numbers, got {dtype}"):
        fused_linear(x, x, None, activation)


@pytest.mark.parametrize("activation", ["none", "relu"])
@pytest.mark.parametrize("position", range(3))
def test_arrays_are_no_tensors(activation, position):
    given = [torch.ones(2, 2), torch.ones(2, 2), torch.ones(2)]
    given[position] = given[position].numpy()
    name = ("x", "weight", "bias")[position]
    for trans_x in (False, True):
        with pytest.raises(TypeError, match=f"'{name}' .position {position + 1}. must be Tensor, not ndarray"):
            fused_linear(*given, activation, trans_x=trans_x)


def test_meta():
    y = fused_linear(torch.empty(2, 3, 4, device="meta"), torch.empty(5, 4, device="meta"), None, "gelu")
    assert y.is_meta and y.shape == (2, 3, 5)


class Seen(TorchFunctionMode):
    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.names.append(func.__name__)
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("shape", [(4, 3), (2, 5, 3), (3,)])
@pytest.mark.parametrize("with_bias", [False, True])
def test_linear_is_taken_apart_as_pytorch_does(shape, with_bias):
    rng = np.random.default_rng(5)
    x, w, b = random(rng, *shape), random(rng, 6, 3), random(rng, 6) if with_bias else None
    with Seen() as seen, DecomposeLinear():
        y = F.linear(x, w, b)
    assert "linear" not in seen.names and "t" in seen.names
    assert ("addmm" in seen.names) == (with_bias and len(shape) > 1)
    np.testing.assert_allclose(numbers(y), numbers(F.linear(x, w, b)), rtol=1e-12)
    with Seen() as seen, DecomposeLinear(no_decompose={"linear"}):
        F.linear(x, w, b)
    assert seen.names == ["linear"]
