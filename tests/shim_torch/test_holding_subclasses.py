"""Subclasses that hold a tensor: views, writes and gradients through their ``__torch_dispatch__``."""

import shim_torch as torch
from shim_torch.utils._pytree import tree_map


class _Wrapped(torch.Tensor):
    """A wrapper whose views take the memory of what they are views of, as composite compliance's tensors do."""

    @staticmethod
    def __new__(cls, elem):
        made = torch.Tensor._make_wrapper_subclass(cls, elem.shape, strides=elem.stride(), dtype=elem.dtype)
        made.elem = elem
        return made

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        def plain(t):
            return t.elem if isinstance(t, cls) else t

        found = func(*tree_map(plain, args), **tree_map(plain, kwargs or {}))
        made = cls(found) if isinstance(found, torch.Tensor) else found
        if func.overloadpacket.__name__ in ("detach", "view", "transpose", "as_strided", "slice", "select"):
            with torch.utils._mode_utils.no_dispatch():
                made.set_(func(*args, **(kwargs or {})))
        return made


def test_views_that_a_handler_makes_count_writes_with_their_base():
    x = _Wrapped(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    assert x.detach()._version == 0 and x.view(4)._version == 0
    x.add_(1)
    assert x.detach()._version == x._version == 1


def test_what_backward_saved_is_not_taken_for_written():
    x = _Wrapped(torch.tensor([[3.0, 4.0]])).requires_grad_()
    (g,) = torch.autograd.grad(torch.linalg.vector_norm(x), x)
    assert [round(v, 4) for v in g.elem.flatten().tolist()] == [0.6, 0.8]
    (g,) = torch.autograd.grad(x.cumprod(1).sum(), x)
    assert g.elem.flatten().tolist() == [5.0, 3.0]


def test_a_reshape_that_copies_is_made_by_the_handler():
    x = _Wrapped(torch.arange(6.0).reshape(2, 3)).transpose(0, 1)
    assert x.reshape(6).elem.tolist() == [0.0, 3.0, 1.0, 4.0, 2.0, 5.0]


class Holder(torch.Tensor):
    """Holds a tensor; every operator runs on what is held."""

    @staticmethod
    def __new__(cls, held):
        made = torch.Tensor._make_wrapper_subclass(cls, held.shape, dtype=held.dtype)
        made.held = held
        return made

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        bare = tree_map(lambda t: t.held if isinstance(t, Holder) else t, (args, kwargs or {}))
        made = func(*bare[0], **bare[1])
        return (
            args[0] if made is bare[0][0] else tree_map(lambda t: Holder(t) if isinstance(t, torch.Tensor) else t, made)
        )


def test_a_plain_tensor_takes_what_a_class_of_python_holds_in_forward_mode():
    import shim_torch.autograd.forward_ad as fwad

    with fwad.dual_level():
        dual = fwad.make_dual(Holder(torch.tensor([1.0, 2.0])), torch.tensor([3.0, 4.0]))
        plain = torch.zeros(2)
        plain.add_(dual, alpha=2.0)
        primal, tangent = fwad.unpack_dual(plain)
        assert primal.tolist() == [2.0, 4.0]
        values = tangent.held if isinstance(tangent, Holder) else tangent
        assert values.tolist() == [6.0, 8.0]


def test_a_gradient_that_a_class_of_python_holds_goes_through_writes_into_views():
    x, y = torch.arange(4.0).requires_grad_(), torch.ones(2, requires_grad=True)
    written = x * 1
    written[1:3] = y * 2
    dx, dy = torch.autograd.grad(written, (x, y), Holder(torch.tensor([1.0, 2.0, 3.0, 4.0])))
    assert isinstance(dx, Holder) and isinstance(dy, Holder)
    assert dx.held.tolist() == [1.0, 0.0, 0.0, 4.0] and dy.held.tolist() == [4.0, 6.0]
