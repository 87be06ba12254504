"""What ``setup_context`` of a library operator sees: every argument, in its place, also those that the caller left out."""

from __future__ import annotations

import pytest

import shim_torch as torch


@pytest.fixture(scope="module")
def scaled():
    def function(x: torch.Tensor, a: float = 2.0, b: bool = True, *, k: int = 3, j: int | None = None) -> torch.Tensor:
        return x * a * k

    function.__annotations__ = {
        "x": torch.Tensor, "a": float, "b": bool, "k": int, "j": int | None, "return": torch.Tensor,
    }  # fmt: skip
    op = torch.library.custom_op("shimdefaults::scaled", function, mutates_args=())
    seen = []

    def setup(ctx, inputs, keyword_only_inputs, output):
        seen.append((list(inputs[1:]), dict(keyword_only_inputs)))
        ctx.factor = inputs[1] * keyword_only_inputs["k"]

    op.register_autograd(lambda ctx, g: (g * ctx.factor, None, None), setup_context=setup)
    return op, seen


@pytest.mark.parametrize(
    "args, kwargs, inputs, named",
    [
        ((), {}, [2.0, True], {"k": 3, "j": None}),
        ((3.0,), {"k": 5}, [3.0, True], {"k": 5, "j": None}),
        ((), {"b": False}, [2.0, False], {"k": 3, "j": None}),
        ((), {"a": 4.0, "b": True, "j": 1}, [4.0, True], {"k": 3, "j": 1}),
    ],
)
def test_arguments_left_out_have_their_defaults(scaled, args, kwargs, inputs, named):
    op, seen = scaled
    x = torch.ones(2, requires_grad=True)
    op(x, *args, **kwargs).sum().backward()
    assert seen[-1] == (inputs, named)
    assert x.grad.tolist() == [inputs[0] * named["k"]] * 2


def test_a_tensor_given_by_name_has_a_gradient(scaled):
    op, _ = scaled
    x = torch.ones(2, requires_grad=True)
    op(x=x, a=5.0).sum().backward()
    assert x.grad.tolist() == [15.0, 15.0]


def test_lists_of_tensors_before_arguments_left_out():
    lib = torch.library.Library("shimdefaults", "FRAGMENT")
    lib.define("total(Tensor[] xs, float a=2.0) -> Tensor")
    lib.impl("total", lambda xs, a=2.0: (xs[0] + xs[1]) * a, "CompositeExplicitAutograd")

    def setup(ctx, inputs, output):
        ctx.a = inputs[1]

    torch.library.register_autograd(
        "shimdefaults::total", lambda ctx, g: ([g * ctx.a, g * 2 * ctx.a], None), setup_context=setup, lib=lib
    )
    x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    torch.ops.shimdefaults.total([x, y]).sum().backward()
    assert (x.grad.tolist(), y.grad.tolist()) == ([2.0, 2.0], [4.0, 4.0])
