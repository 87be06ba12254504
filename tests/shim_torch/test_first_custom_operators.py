"""``torch._custom_op`` and ``torch._custom_ops``: the first form of custom operators."""

from collections.abc import Sequence

import pytest

import shim_torch as torch
from shim_torch import Tensor, _custom_ops
from shim_torch._custom_op.impl import custom_op, get_op, global_registry

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@pytest.fixture
def cubed():
    @custom_op("first_form::cubed")
    def cubed(x: Tensor, factor: float) -> Tensor: ...

    @cubed.impl("cpu")
    def _(x, factor):
        return x * x * x * factor

    yield cubed
    cubed._destroy()


def test_kernel_runs_by_both_names(cubed):
    assert cubed(torch.tensor([2.0]), 3.0).tolist() == [24] and repr(cubed) == '<CustomOp(op="first_form::cubed")>'
    assert torch.ops.first_form.cubed(torch.tensor([2.0]), 3.0).tolist() == [24]
    assert get_op("first_form::cubed") is torch.ops.first_form.cubed.default


def test_gradient_is_refused_until_both_halves_are_there(cubed):
    x = torch.tensor([2.0], requires_grad=True)
    with pytest.raises(RuntimeError, match="Autograd has not been implemented for operator"):
        cubed(x, 3.0)
    assert not cubed(x.detach(), 3.0).requires_grad

    @cubed.impl_save_for_backward()
    def _(inputs, output):
        return {"x": inputs.x, "factor": inputs.factor}

    with pytest.raises(
        RuntimeError, match="We found a 'save_for_backward' registration .* unable to find a 'backward'"
    ):
        cubed(x, 3.0)

    @cubed.impl_backward()
    def _(ctx, saved, grad):
        return {"x": grad * 3 * saved["x"] ** 2 * saved["factor"]}

    cubed(x, 3.0).backward()
    assert x.grad.tolist() == [36]


def test_fake_kernel_serves_meta_tensors(cubed):
    cubed.impl_abstract()(lambda x, factor: torch.empty_like(x))
    assert cubed(torch.empty(5, device="meta"), 1.0).shape == (5,)
    with pytest.raises(RuntimeError, match="Attempting to register a abstract impl .* that already has"):
        cubed.impl_abstract()(lambda x, factor: x)


def test_gradients_of_lists_and_of_what_is_no_tensor():
    @custom_op("first_form::weighed")
    def weighed(xs: Sequence[Tensor], weight: Tensor, n: int) -> Tensor: ...

    try:
        weighed.impl(["cpu", "cuda"])(lambda xs, weight, n: sum(xs) * weight * n)
        weighed.impl_save_for_backward()(lambda inputs, output: (len(inputs.xs), inputs.weight, inputs.n))
        weighed.impl_backward()(lambda ctx, saved, g: {"xs": [g * saved[1] * saved[2]] * saved[0], "weight": None})
        xs = [torch.tensor([v], requires_grad=True) for v in (1.0, 2.0)]
        out = weighed(xs, torch.tensor([5.0]), 2)
        out.backward()
        assert out.tolist() == [30] and [x.grad.tolist() for x in xs] == [[10], [10]]
    finally:
        weighed._destroy()


def test_backward_must_name_every_tensor(cubed):
    cubed.impl_save_for_backward()(lambda inputs, output: None)
    cubed.impl_backward()(lambda ctx, saved, g: {})
    out = cubed(torch.ones(1, requires_grad=True), 1.0)
    with pytest.raises(
        RuntimeError, match="expected the returned grad_input dict to have keys {'x'} but got dict_keys"
    ):
        out.backward()


@pytest.mark.parametrize("flags", [[1], (True,), [True, False], 3])
def test_outputs_are_differentiable_by_a_list_of_bools(cubed, flags):
    with pytest.raises(RuntimeError, match="to be a list of bools with length equal to the number of outputs"):
        cubed.impl_backward(flags)
    cubed.impl_backward([True])


def test_names_and_schemas_are_checked():
    for name, text in (
        ("foo", "Expected there to be a namespace in foo"),
        ("ns::foo.bar", "do not handle overloads"),
        ("aten::foo", "'aten' is a reserved namespace"),
    ):
        with pytest.raises(ValueError, match=text):

            @custom_op(name)
            def foo(x: Tensor) -> Tensor: ...

    with pytest.raises(ValueError, match="expected `func` to have name 'bar' but got 'foo'"):

        @custom_op("first_form::bar")
        def foo(x: Tensor) -> Tensor: ...

    with pytest.raises(ValueError, match="custom_op only supports functional operators"):

        @custom_op("first_form::foo", "(Tensor(a!) x) -> Tensor")
        def foo(x): ...

    with pytest.raises(ValueError, match="we expect `func`'s signature to match `manual_schema`"):

        @custom_op("first_form::foo", "(Tensor y) -> Tensor")
        def foo(x): ...


def test_functions_of_the_older_module():
    @_custom_ops.custom_op("first_form::halved")
    def halved(x: Tensor) -> Tensor: ...

    try:
        _custom_ops.impl("first_form::halved", func=lambda x: x / 2)
        _custom_ops.impl_abstract("first_form::halved", func=lambda x: torch.empty_like(x))
        _custom_ops.impl_save_for_backward("first_form::halved", func=lambda inputs, output: ())
        _custom_ops.impl_backward("first_form::halved", func=lambda ctx, saved, g: {"x": g / 2})
        x = torch.ones(2, requires_grad=True)
        torch.ops.first_form.halved(x).sum().backward()
        assert x.grad.tolist() == [0.5, 0.5] and torch.ops.first_form.halved(x.detach().to("meta")).is_meta
    finally:
        _custom_ops._destroy("first_form::halved")
    assert "first_form::halved" not in global_registry


def test_below_autograd_no_kernel_of_autograd_runs_and_no_history_is_kept():
    lib = torch.library.Library("below_autograd", "DEF")
    lib.define("twice(Tensor x) -> Tensor")
    seen = []

    def outer(x):
        seen.append("Autograd")
        with torch._C._AutoDispatchBelowAutograd():
            return torch.ops.below_autograd.twice(x)

    lib.impl("twice", outer, "Autograd")
    lib.impl("twice", lambda x: x * 2, "CPU")
    x = torch.ones(2, requires_grad=True)
    out = torch.ops.below_autograd.twice(x)
    assert out.tolist() == [2, 2] and not out.requires_grad and seen == ["Autograd"]
    with torch._C._AutoDispatchBelowAutograd():
        assert not (x * 2).requires_grad
    assert (x * 2).requires_grad
    lib._destroy()
