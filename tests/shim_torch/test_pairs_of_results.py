"""Deviations beside means as one node, tangents laid out as their tensors, and splits that are no views."""

import pytest

import shim_torch as torch
import shim_torch.autograd.forward_ad as fwAD


@pytest.mark.parametrize("name", ["var_mean", "std_mean"])
@pytest.mark.parametrize("args", [(), (0,), ((0, 1),), (1, False)])
def test_both_results_have_one_node_and_the_gradients_of_each(name, args):
    x = (torch.arange(9.0).reshape(3, 3) ** 1.5).requires_grad_()
    deviation, mean = getattr(torch, name)(x, *args)
    assert deviation.grad_fn is mean.grad_fn and len(mean.grad_fn._input_metadata) == 2
    assert mean.grad_fn.name() == {"var_mean": "VarMeanBackward0", "std_mean": "StdMeanBackward0"}[name]
    assert torch.allclose(mean, x.mean(*args[:1]))
    apart = getattr(torch, name[:3])(x, *args)
    assert torch.allclose(deviation, apart)
    found = torch.autograd.grad((deviation * 2).sum() + (mean * 3).sum(), x)[0]
    expected = torch.autograd.grad((apart * 2).sum() + (x.mean(*args[:1]) * 3).sum(), x, retain_graph=True)[0]
    assert torch.allclose(found, expected)
    for i in (0, 1):  # one of them alone
        alone = torch.autograd.grad(getattr(torch, name)(x, *args)[i].sum(), x)[0]
        other = apart if i == 0 else x.mean(*args[:1])
        assert torch.allclose(alone, torch.autograd.grad(other.sum(), x, retain_graph=True)[0])


def test_tangents_are_copied_into_the_layout_of_their_tensor():
    with fwAD.dual_level():
        tangent = torch.arange(4.0)
        kept = fwAD.make_dual(torch.ones(4), tangent)
        assert fwAD.unpack_dual(kept).tangent is tangent
        dual = fwAD.make_dual(torch.arange(5.0)[:4].detach(), tangent)
        found = fwAD.unpack_dual(dual).tangent
        assert found is not tangent and found.untyped_storage().nbytes() == 20 and found.tolist() == [0, 1, 2, 3]
        found *= 2
        assert tangent.tolist() == [0, 1, 2, 3] and dual.as_strided((5,), (1,), 0).shape == (5,)
        turned = fwAD.make_dual(torch.ones(2, 3).t(), torch.arange(6.0).reshape(3, 2))
        found = fwAD.unpack_dual(turned).tangent
        assert found.stride() == (1, 3) and found.tolist() == [[0, 1], [2, 3], [4, 5]]
        numbers = torch.tensor([1 + 2j, 3 - 1j])
        found = fwAD.unpack_dual(fwAD.make_dual(numbers.conj(), numbers)).tangent
        assert found is not numbers and found.tolist() == numbers.tolist()


def test_the_older_vmap_runs_functions_without_a_context_and_no_random_operators():
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def jvp(ctx, t):
            return t * 2

    def along(tangent):
        with fwAD.dual_level():
            return fwAD.unpack_dual(Twice.apply(fwAD.make_dual(torch.ones(2), tangent))).tangent

    found = torch._vmap_internals._vmap(along)(torch.arange(6.0).reshape(3, 2))
    assert found.tolist() == [[0, 2], [4, 6], [8, 10]]
    with pytest.raises(RuntimeError, match="vmap: We do not yet support calling random operations inside of vmap"):
        torch._vmap_internals._vmap(torch.randn_like)(torch.ones(3))


def test_every_name_of_a_tensor_is_there():
    x = torch.ones(2, 2)
    x.mine = 1
    names = dir(x)
    assert "mine" in names and "shape" in names and "volatile" not in names and "__cuda_array_interface__" not in names
    assert all(hasattr(x, name) for name in names if name != "imag")
