"""Products of vectors with Jacobians and Hessians: values, graphs of their own, and what strict mode tells."""

from __future__ import annotations

import pytest

import shim_torch as torch
from shim_torch.autograd import functional as f

X, Y = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([[0.5, -1.0]])
V = torch.tensor([1.0, 0.0, 2.0])


def cubes(x):
    return (x**3).sum()


def two(x, y):
    return (x**2).sum() * y.sum() ** 2


def listed(tree):
    return tuple(map(listed, tree)) if isinstance(tree, tuple) else tree.tolist()


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("create_graph", [False, True])
def test_values(create_graph, strict):
    options = {"create_graph": create_graph, "strict": strict}
    assert listed(f.vjp(cubes, X, **options)) == (36.0, [3.0, 12.0, 27.0])
    assert listed(f.jvp(cubes, X, V, **options)) == (36.0, 57.0)
    for product in (f.vhp, f.hvp):
        assert listed(product(cubes, X, V, **options)) == (36.0, [6.0, 0.0, 36.0])
        value, parts = product(two, (X, Y), (V, Y), **options)
        assert value == 3.5 and listed(parts) == ([1.5, 2.0, 4.0], [[-28.0, -28.0]])
        assert parts[0].requires_grad is create_graph
    assert listed(f.hessian(cubes, X, **options)) == [[6.0, 0.0, 0.0], [0.0, 12.0, 0.0], [0.0, 0.0, 18.0]]
    blocks = f.hessian(two, (X, Y), **options)
    assert [tuple(b.shape) for row in blocks for b in row] == [(3, 3), (3, 1, 2), (1, 2, 3), (1, 2, 1, 2)]


def one_of_two(x, y):
    return (x**2).sum()


STRICT = "This is not allowed in strict mode"
REFUSED = [
    (f.vjp, one_of_two, (X, Y), None, f"function is independent of input 1. {STRICT}"),
    (f.jvp, one_of_two, (X, Y), (X, Y), f"function is independent of input 1. {STRICT}"),
    (f.vhp, cubes, X, None, "v can only be None if the input to the user-provided function is a single Tensor"),
    (f.vjp, lambda x: x, X, None, "v can only be None if the user-provided function returns a single Tensor"),
    (f.hvp, lambda x: x, X, V, "The Tensor returned by the function given to hvp should contain a single element"),
    (f.vhp, lambda x: (x.sum(),), X, V, "The function given to vhp should return a single Tensor"),
    (f.vhp, lambda x: x.sum(), X, V, "with respect to input 0 is independent of the input"),
    (f.hvp, lambda x: x.sum(), X, V, "with respect to input 0 is independent of the input"),
    (f.jvp, lambda x: torch.ones(3), X, V, "Output 0 of the user-provided function does not require gradients"),
    (f.jvp, cubes, X, (V, V), "The given v should contain a single Tensor"),
    (f.hvp, two, (X, Y), (Y, X), "Entry 0 in v has invalid size"),
]


@pytest.mark.parametrize(("product", "function", "inputs", "v", "text"), REFUSED)
def test_refusals(product, function, inputs, v, text):
    with pytest.raises(RuntimeError, match=text):
        product(function, inputs, v, strict=True)


def test_linear_functions_have_a_jacobian_without_history():
    for product in (f.vjp, f.jvp):
        text = f"The jacobian of the user-provided function is independent of input 0. {STRICT} when create_graph=True"
        with pytest.raises(RuntimeError, match=text):
            product(lambda x: 3 * x, X, V, create_graph=True, strict=True)


def test_hessians_are_of_one_number():
    for function, text in (
        (lambda x: x, "returned by the function given to hessian should contain a single element"),
        (lambda x: (x.sum(),), "The function given to hessian should return a single Tensor"),
    ):
        with pytest.raises(RuntimeError, match=text):
            f.hessian(function, X)
    with pytest.raises(RuntimeError, match="with respect to input 0 is independent of the input"):
        f.hessian(lambda x: x.sum(), X, strict=True)
