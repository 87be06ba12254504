"""Guards that leave autograd out: as contexts and as objects that last."""

import shim_torch as torch
from shim_torch._subclasses.schema_check_mode import SchemaCheckMode


def test_in_effect_from_the_construction():
    x = torch.ones(2, requires_grad=True)
    guard = torch._C._AutoDispatchBelowAutograd()
    assert not (x * 2).requires_grad
    del guard
    assert (x * 2).requires_grad
    with torch._C._AutoDispatchBelowAutograd():
        assert not (x * 2).requires_grad
    assert (x * 2).requires_grad


def test_excluded_keys_are_in_effect_within_the_context():
    x = torch.ones(2, requires_grad=True)
    guard = torch._C._ExcludeDispatchKeyGuard(torch._C.DispatchKeySet(torch._C.DispatchKey.AutogradCPU))
    assert (x * 2).requires_grad
    with guard:
        assert not (x * 2).requires_grad
    assert (x * 2).requires_grad


def test_a_function_that_calls_its_operator_below_itself():
    library = torch.library.Library("below_autograd", "FRAGMENT")
    library.define("copied(Tensor x) -> Tensor")
    op = torch.ops.below_autograd.copied.default

    class Copied(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            guard = torch._C._AutoDispatchBelowAutograd()
            try:
                return op(x)
            finally:
                del guard

        @staticmethod
        def backward(ctx, g):
            return 3 * g

    library.impl("copied", Copied.apply, "Autograd")
    library.impl("copied", lambda x: x.clone(), "CPU")
    x = torch.ones(2, requires_grad=True)
    with SchemaCheckMode():
        assert op(x).tolist() == [1, 1]
    op(x).sum().backward()
    assert x.grad.tolist() == [3, 3]


def test_operators_of_our_own_are_no_methods():
    assert not any(
        hasattr(torch.Tensor, name) for name in ("add_runs", "cross_entropy", "masked_scale", "pointwise_loss")
    )
