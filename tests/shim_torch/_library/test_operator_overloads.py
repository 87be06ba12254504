"""Operators of Python with overloads, and what their declarations and calls take."""

from collections.abc import Sequence

import pytest

import shim_torch as torch
from shim_torch import Tensor


class Ones(Sequence):
    """A sequence that is neither a list nor a tuple."""

    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        if not -self.n <= i < self.n:
            raise IndexError(i)
        return 1


def test_custom_op_declares_an_overload_beside_another():
    @torch.library.custom_op("with_overloads::f", mutates_args=())
    def f(x: Tensor) -> Tensor:
        return x.clone()

    @torch.library.custom_op("with_overloads::f.two", mutates_args=())
    def two(x: Tensor, y: Tensor) -> Tensor:
        return x + y

    two.register_fake(lambda x, y: torch.empty_like(x))
    two.register_autograd(lambda ctx, g: (g, g * 2))
    packet = torch.ops.with_overloads.f
    x = torch.ones(2, requires_grad=True)
    out = packet(x, x)
    out.sum().backward()
    assert out.tolist() == [2, 2] and x.grad.tolist() == [3, 3] and packet(x.detach()).tolist() == [1, 1]
    assert out.grad_fn.name() == "GeneratedBackwardFor_with_overloads_f_twoBackward"
    assert (
        packet.overloads() == ["default", "two"]
        and two._opoverload is packet.two
        and packet.two.name() == "with_overloads::f.two"
    )
    assert repr(two) == "<CustomOpDef(with_overloads::f.two)>" and two(x.to("meta"), x.to("meta")).shape == (2,)
    assert packet.two._defined_in_python and not torch.ops.aten.sin.default._defined_in_python


def test_declaring_an_overload_again_takes_its_place():
    for result in (1, 2):

        @torch.library.custom_op("with_overloads::again.x", mutates_args=())
        def again(x: Tensor) -> Tensor:
            return x.new_full((), result)  # noqa: B023

        assert torch.ops.with_overloads.again.x(torch.ones(1)) == result


def test_tensors_by_name_alone_are_refused():
    with pytest.raises(
        NotImplementedError,
        match=r"custom_op with kwarg-only Tensor args.* Got: by_name\(Tensor x, \*, Tensor\? y\) -> Tensor",
    ):

        @torch.library.custom_op("with_overloads::by_name", mutates_args=())
        def f(x: Tensor, *, y: Tensor | None) -> Tensor: ...

    assert not hasattr(torch.ops.with_overloads, "by_name")


def test_older_define_is_a_decorator():
    lib = torch.library.Library("older_define", "DEF")

    @torch.library.define(lib, "twice(Tensor x) -> Tensor", alias_analysis="CONSERVATIVE")
    def twice(x):
        return x * 2

    assert torch.ops.older_define.twice(torch.ones(1)).item() == 2 and twice(3) == 6
    lib._destroy()


def test_impl_refuses_unknown_devices_at_once():
    with pytest.raises(
        RuntimeError, match="Expected one of cpu, cuda, .* device type at start of device string: nowhere"
    ):
        torch.library.impl("older_define::twice", "nowhere")


def test_any_sequence_stands_for_a_list():
    lib = torch.library.Library("any_sequence", "DEF")
    lib.define("f(Tensor x, int[] sizes, float[] scales) -> Tensor")
    seen = []
    lib.impl("f", lambda x, sizes, scales: (seen.append((sizes, scales)), x.clone())[1], "CPU")
    torch.ops.any_sequence.f(torch.ones(1), Ones(3), scales=Ones(2))
    assert seen == [([1, 1, 1], [1.0, 1.0])]
    assert torch.ops.aten.view.default(torch.ones(1), Ones(2)).shape == (1, 1)
    with pytest.raises(
        RuntimeError, match="Expected a value of type 'List\\[int\\]' for argument 'sizes' but instead found type 'str'"
    ):
        torch.ops.any_sequence.f(torch.ones(1), "12", [1.0])
    lib._destroy()


def test_gradients_of_sparse_parts_are_summed_the_later_one_first():
    class Given(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, grad):
            ctx.grad = grad
            return x.view_as(x)

        @staticmethod
        def backward(ctx, g):
            return ctx.grad, None

    parts = [torch.sparse_coo_tensor(torch.tensor([[i]]), torch.tensor([float(i)]), (4,)) for i in (1, 2)]
    x = torch.ones(4, requires_grad=True)
    (Given.apply(x, parts[0]) + Given.apply(x, parts[1])).sum().backward()
    assert x.grad._indices().tolist() == [[1, 2]] and x.grad.to_dense().tolist() == [0, 1, 2, 0]
