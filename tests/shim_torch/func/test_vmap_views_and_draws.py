"""vmap: what stays a view, in-place changes of geometry, random operators, and errors of transforms."""

from __future__ import annotations

import pytest

import shim_torch as torch
from shim_torch.func import grad, jvp, stack_module_state, vjp, vmap


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("squeeze_", (0,)),
        ("squeeze_", ()),
        ("unsqueeze_", (0,)),
        ("transpose_", (0, 1)),
        ("t_", ()),
        ("swapaxes_", (0, 1)),
    ],
)
def test_geometry_changed_in_place(name, args):
    x = torch.randn(3, 1, 2)
    weights = torch.randn(2)

    def f(x):
        y = x * 1
        assert getattr(y, name)(*args) is y
        return y

    expected = torch.stack([getattr(i * 1, name)(*args) for i in x])
    assert torch.equal(vmap(f)(x), expected)
    found = vmap(grad(lambda x: (f(x).reshape(-1) * weights).sum()))(x)
    assert torch.equal(found, weights.expand(3, 1, 2))


def test_gradients_through_a_squeezed_product():
    weight, x, t = torch.randn(4, 2), torch.randn(5, 1, 4), torch.randn(5, 2)

    def loss(weight, x, t):
        x = x.mm(weight)
        return (x.squeeze_(0) - t).sum()

    found = vmap(lambda x, t: grad(loss)(weight, x, t))(x, t)
    expected = torch.stack([grad(loss)(weight, x[i], t[i]) for i in range(5)])
    torch.testing.assert_close(found, expected)


def test_views_are_views_of_the_input():
    x = torch.randn(3, 2, 2)
    for f in (
        lambda y: y.t(),
        lambda y: y[0],
        lambda y: y.view(4),
        lambda y: y.movedim(0, 1),
        lambda y: y.unsqueeze(0),
    ):
        found = vmap(f)(x)
        assert found._is_view() and found._base is x
    vmap(lambda y: y.t())(x).zero_()
    assert not x.any()


def test_bernoulli_by_a_number():
    torch.manual_seed(0)
    x = torch.empty(1000)
    found = torch.bernoulli(x, 0.25)
    assert set(found.tolist()) == {0.0, 1.0} and 200 < found.sum().item() < 300
    assert torch.bernoulli(x, 1.0).sum() == 1000 and x.bernoulli(0.0).sum() == 0
    with pytest.raises(RuntimeError, match=r"bernoulli_ expects p to be in \[0, 1\], but got p=2"):
        torch.bernoulli(x, 2.0)


def test_random_operators_over_a_batch():
    x = torch.zeros(4, 50)
    different = vmap(
        lambda y: torch.nn.functional.alpha_dropout(torch.ones_like(y), training=True), randomness="different"
    )(x)
    same = vmap(lambda y: torch.nn.functional.alpha_dropout(torch.ones_like(y), training=True), randomness="same")(x)
    assert len({tuple(row.tolist()) for row in different}) == 4 and len({tuple(row.tolist()) for row in same}) == 1
    drawn = vmap(lambda y: torch.normal(0.0, 1.0, (3,)), randomness="different")(x)
    assert drawn.shape == (4, 3) and len(set(drawn.flatten().tolist())) == 12
    half = torch.full((50,), 0.5)
    filled = vmap(lambda y: y.bernoulli_(half), randomness="same")(x.clone())
    assert all(torch.equal(row, filled[0]) for row in filled)
    with pytest.raises(
        RuntimeError, match="there exists a Tensor `other` in extra_args that has more elements than `self`"
    ):
        vmap(lambda p: torch.zeros(50).bernoulli_(p), randomness="different")(x)


def test_truth_of_every_item():
    x = torch.tensor([[True, False], [True, True]])
    assert vmap(torch.ops.aten._is_all_true)(x).tolist() == [False, True]
    assert vmap(torch.ops.aten._is_any_true)(x).tolist() == [True, True]


@pytest.mark.parametrize("result", [None, (), [None]])
def test_functions_without_a_result(result):
    x = torch.ones(2)
    for run in (lambda: vjp(lambda a: result, x), lambda: jvp(lambda a: result, (x,), (x,))):
        with pytest.raises(
            RuntimeError, match=r"Expected f to be a function that has non-empty output \(got output = \["
        ):
            run()


def test_structures_and_states_that_differ():
    x = torch.ones(2)
    with pytest.raises(RuntimeError, match="Expected primals and tangents to have the same python structure"):
        jvp(torch.sin, (x,), x)
    frozen = torch.nn.Linear(1, 1)
    frozen.weight.requires_grad_(False)
    with pytest.raises(RuntimeError, match="Expected weight from each model to have the same .requires_grad"):
        stack_module_state([torch.nn.Linear(1, 1), frozen])


def test_derivatives_along_tangents_of_a_batch():
    x, tangents = torch.randn(4, 2), torch.randn(3, 2)

    def f(x, t):
        return jvp(lambda x: (x.sin() * x).sum(), (x,), (t,))[1]

    found = vmap(vmap(f, (None, 0)), (0, None))(x, tangents)
    expected = (x.cos() * x + x.sin()) @ tangents.t()
    torch.testing.assert_close(found, expected)


def test_noise_of_what_is_no_batch():
    one = torch.ones(50)
    found = vmap(lambda _: torch.nn.functional.alpha_dropout(one, training=True), randomness="different")(
        torch.zeros(4)
    )
    assert len({tuple(row.tolist()) for row in found}) == 4
