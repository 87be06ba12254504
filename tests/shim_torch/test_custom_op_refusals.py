"""Operators of Python: what they refuse, and lists of tensors in functions with their own gradient."""

from collections.abc import Callable, Iterator, Sequence
from typing import List, Optional  # noqa: UP035

import pytest

import shim_torch as torch
from shim_torch import _custom_ops
from shim_torch._library.autograd import supports_tensorlist


@pytest.fixture
def lib() -> Iterator[torch.library.Library]:
    library = torch.library.Library("refusals", "FRAGMENT")
    yield library
    library._destroy()


@pytest.mark.parametrize(
    ("schema", "text", "mark"),
    [
        ("f(Tensor a) -> asdf", "unknown type specifier", "               ~~~~ <--- HERE"),
        ("f(asdf a) -> Tensor", "unknown type specifier", "  ~~~~ <--- HERE"),
        ("f(Tensor a, *, asdf[] b) -> Tensor", "unknown type specifier", "               ~~~~ <--- HERE"),
        ("f(int64_t a) -> Tensor", "Use `SymInt` or `int` instead of `int64_t`", "  ~~~~~~~ <--- HERE"),
        ("f(double a) -> Tensor", "Use `float` instead of `double`", "  ~~~~~~ <--- HERE"),
    ],
)
def test_unknown_type_names(lib: torch.library.Library, schema: str, text: str, mark: str) -> None:
    with pytest.raises(RuntimeError) as error:
        lib.define(schema)
    assert text in str(error.value)
    assert str(error.value).endswith(f":\n{schema}\n{mark}\n")
    assert not hasattr(torch.ops.refusals, "f")


def test_known_type_names_pass(lib: torch.library.Library) -> None:
    lib.define(
        "g(Tensor(a!) x, Tensor?[] y, int[2] z=[1, 2], str s='a, asdf b', *, ScalarType? t=None, Device d) -> (Tensor(a!), int)"
    )
    assert torch.ops.refusals.g.default._schema.name == "refusals::g"


def test_lists_of_optional_numbers_have_no_schema() -> None:
    def f(x: torch.Tensor, y: List[Optional[int]]) -> torch.Tensor:  # noqa: UP006, UP045
        return x

    with pytest.raises(ValueError, match="Parameter y has unsupported type"):
        torch.library.infer_schema(f, mutates_args=())


def test_a_fake_kernel_for_parts(lib: torch.library.Library) -> None:
    lib.define("parts(Tensor x) -> Tensor")
    lib.impl("parts", lambda x: x.sin(), "CompositeImplicitAutograd")
    with pytest.raises(
        RuntimeError,
        match="has a CompositeImplicitAutograd kernel in core. Instead we should let the operator decompose",
    ):
        torch.library.register_fake("refusals::parts", lambda x: x, lib=lib)


def test_first_form_without_kernels() -> None:
    @_custom_ops.custom_op("refusals::bare")
    def bare(x: torch.Tensor) -> torch.Tensor:
        raise AssertionError

    @_custom_ops.custom_op("refusals::made")
    def made(sizes: Sequence[int]) -> torch.Tensor:
        raise AssertionError

    try:
        op = torch.ops.refusals.bare
        with pytest.raises(
            NotImplementedError, match='<CustomOp.op="refusals::bare".>: .* there is no cpu impl registered'
        ):
            op(torch.ones(2))
        with pytest.raises(RuntimeError, match="Autograd has not been implemented for operator"):
            op(torch.ones(2, requires_grad=True))
        with pytest.raises(NotImplementedError, match="There were no Tensor inputs to this operator"):
            torch.ops.refusals.made((1, 2))
        _custom_ops.impl("refusals::bare", func=lambda x: x + 1)
        assert op(torch.ones(2)).tolist() == [2, 2]
    finally:
        _custom_ops._destroy("refusals::bare")
        _custom_ops._destroy("refusals::made")
    with pytest.raises(AssertionError, match="Invalid function schema: bare"):
        _custom_ops.custom_op("refusals::bare", "(")


def _stack() -> type:
    @supports_tensorlist
    class Stack(torch.autograd.Function):
        @staticmethod
        def forward(ctx, xs, factor):
            ctx.factor = factor
            return torch.stack(xs) * factor, [x + 0 for x in xs]

        @staticmethod
        def backward(ctx, grad, more):
            assert ctx.needs_input_grad == ([True, True, False], False)
            return [g * ctx.factor + m for g, m in zip(grad.unbind(0), more, strict=True)], None

    return Stack


def test_lists_of_tensors_have_gradients() -> None:
    xs = [torch.ones(2, requires_grad=True), torch.zeros(2, requires_grad=True), torch.ones(2)]
    stacked, each = _stack().apply(xs, 3.0)
    assert isinstance(each, list) and len(each) == 3
    grads = torch.autograd.grad(stacked.sum() + 2 * each[0].sum(), xs[:2])
    assert [g.tolist() for g in grads] == [[5, 5], [3, 3]]


@pytest.mark.parametrize("half", ["forward", "backward"])
def test_halves_are_not_called_directly(half: str) -> None:
    function: Callable[..., object] = getattr(_stack(), half)
    with pytest.raises(NotImplementedError, match=f"Function.{half} directly"):
        function(None, [torch.ones(2)])
