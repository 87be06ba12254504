"""Views that keep the operators that made them, and tangents and gradients that lie as PyTorch's."""

import pytest

import shim_torch as torch
from shim_torch.autograd import forward_ad, gradcheck
from shim_torch.autograd.function import Function

F = torch.nn.functional

VIEWS = {
    "ViewBackward0": lambda c: c.view(-1),
    "SelectBackward0": lambda c: c[0],
    "TBackward0": lambda c: c.t(),
    "DiagonalBackward0": lambda c: c.diagonal(),
    "SliceBackward0": lambda c: c.view(-1)[1:],
    "UnsqueezeBackward0": lambda c: c.unsqueeze(0),
}


@pytest.mark.parametrize("name", VIEWS)
def test_a_tracked_view_is_made_again_by_its_operator(name):
    def written(on):
        x = torch.arange(4.0).reshape(2, 2).requires_grad_()
        with torch.autograd._force_original_view_tracking(on):
            assert torch.autograd.is_view_replay_enabled() is on
            base = x * 1
            view = VIEWS[name](base)
            view.mul_(3)
        (view.sum() + base.sum()).backward()
        return view.grad_fn.name(), x.grad

    tracked, plain = written(True), written(False)
    assert (tracked[0], plain[0]) == (name, "AsStridedBackward0")
    assert torch.equal(tracked[1], plain[1])
    assert not torch.autograd.is_view_replay_enabled()


def test_parts_are_tracked_as_before():
    with torch.autograd._force_original_view_tracking(True):
        a, _ = (torch.ones(4, requires_grad=True) * 2).split(2)
        assert a.view(2, 1)._base is a._base


def test_vmapped_as_strided_stays_within_an_item():
    batch = torch.arange(12.0).reshape(3, 4)
    assert torch.equal(torch.vmap(lambda t: t.as_strided((3,), (1,), 1))(batch), batch[:, 1:])
    for f in (lambda t: t.as_strided((5,), (1,), 0), lambda t: t.as_strided((2,), (1,), 3)):
        with pytest.raises(RuntimeError, match="can access memory outside of `tensor`"):
            torch.vmap(f)(batch)
    with pytest.raises(RuntimeError, match="can access memory outside of `tensor`"):  # before the first item
        torch.vmap(lambda t: t.as_strided((2,), (1,), 0))(batch[1:])


def test_tangents_of_a_batch_in_another_layout_are_copied():
    def unpacked(t):
        with forward_ad.dual_level():
            return forward_ad.unpack_dual(forward_ad.make_dual(torch.zeros(2, 3).T, t))[1]

    given = torch.arange(12.0).reshape(2, 3, 2)
    found = torch._vmap_internals._vmap(unpacked)(given)
    assert torch.equal(found, given) and found.data_ptr() != given.data_ptr()


def test_a_whole_view_shares_its_base_s_tangent():
    base = torch.zeros(2, 2)
    view = base.view_as(base)

    def written(t):
        with forward_ad.dual_level():
            view.copy_(forward_ad.make_dual(torch.zeros(2, 2), t))
            ours, whole = (forward_ad.unpack_dual(x)[1] for x in (view, view._base))
            assert ours is whole and ours is not t
            return ours

    given = torch.arange(8.0).reshape(2, 2, 2)
    assert torch.equal(torch._vmap_internals._vmap(written, 0, 0)(given), given)


def test_an_empty_tangent_is_not_copied():
    a, b = (torch.ones(1).as_strided((0,), (1,), offset) for offset in (1, 2))
    with forward_ad.dual_level():
        assert forward_ad.unpack_dual(forward_ad.make_dual(a, b)).tangent is b


def test_sparse_gradients_own_their_values():
    made = []

    class Spread(Function):
        @staticmethod
        def forward(ctx, a, b):
            return a + b

        @staticmethod
        def backward(ctx, g):
            values, indices = torch.rand(1, 3).expand(8, 3), torch.ones(1, 1, dtype=torch.long).expand(1, 8)
            made.append(torch.sparse_coo_tensor(indices, values, (10, 3)))
            return made[0], made[0]

    a, b = (torch.randn(10, 3, requires_grad=True) for _ in range(2))
    Spread.apply(a, b).sum().backward()
    assert len({t._values().data_ptr() for t in (a.grad, b.grad, made[0])}) == 3


def test_gradcheck_sees_what_is_sparse_in_other_dimensions():
    def function(x):
        y = x.clone()
        y.register_hook(lambda g: g.to_dense().to_sparse(1))
        return y.to_dense()

    x = torch.ones(2, 2, dtype=torch.float64, requires_grad=True).to_sparse()
    with pytest.raises(RuntimeError, match="grad is sparse tensor, but has incorrect sparse_dim"):
        gradcheck(function, (x,), masked=True, check_batched_grad=False)


def test_saved_copies_end_with_their_context():
    with torch.autograd.graph.allow_mutation_on_saved_tensors() as context:
        a = torch.rand(2, requires_grad=True)
        b = a.clone()
        out = (b**2).sum()
        b.sin_()
        assert len(context.cloned) == 1
        assert torch.allclose(torch.autograd.grad(out, a)[0], 2 * a)
    assert len(context.cloned) == 0


@pytest.mark.parametrize(("given", "expected"), [((), lambda g: g * g), ((True,), lambda g: g * g + g)])
def test_a_nested_probe_has_a_gradient_of_its_own(given, expected):
    parts = [torch.arange(n * 2.0).reshape(2, n).requires_grad_() for n in (3, 4)]
    out = torch._test_autograd_multiple_dispatch(torch.nested.as_nested_tensor(parts), *given)
    grads = [torch.randn(2, n) for n in (3, 4)]
    out.backward(torch.nested.nested_tensor(grads))
    for part, g in zip(parts, grads, strict=True):
        assert torch.equal(part.grad, expected(g))
    shapes = torch.autograd._calculate_shape(out, torch.nested.nested_tensor(grads), False)
    assert torch.equal(shapes[0], torch.tensor([[2, 3], [2, 4]])) and torch.equal(shapes[0], shapes[1])
