"""What custom operators take and give: as their schemas declare it."""

import pytest

import shim_torch as torch
from shim_torch import Tensor
from shim_torch.library import custom_op

X = torch.ones(3)


@custom_op("declared::scaled", mutates_args=())
def scaled(x: Tensor, y: int = 2, sizes: list[int] | None = None) -> Tensor:
    return x * y


def gives(result, value):
    def kernel(x: Tensor) -> Tensor:
        return value(x)

    kernel.__annotations__["return"] = result
    return custom_op("declared::gives", kernel, mutates_args=())


def test_a_bool_is_a_number():
    assert scaled(X, True).tolist() == [1, 1, 1]
    assert torch.ops.aten.unsqueeze(X, True).shape == (3, 1)


def test_errors_name_plain_types():
    with pytest.raises(
        RuntimeError, match="Expected a value of type 'int' for argument 'y' but instead found type 'float'"
    ):
        scaled(X, 1.5)
    with pytest.raises(RuntimeError, match=r"of type 'Optional\[List\[int\]\]' for argument 'sizes'"):
        scaled(X, 1, [1.5])


def test_custom_operators_are_fit_for_compilation():
    assert torch.ops.declared.scaled.default.tags == [torch.Tag.pt2_compliant_tag]


@pytest.mark.parametrize(
    ("declared", "value", "expected"),
    [
        (tuple[Tensor, Tensor], lambda x: [x * 1, x * 2], tuple),
        (list[Tensor], lambda x: (x * 1,), list),
        (float, lambda x: 3, float),
        (bool, lambda x: 1, bool),
        (int, lambda x: 3, int),
    ],
)
def test_results_are_of_their_types(declared, value, expected):
    found = gives(declared, value)(X)
    assert type(found) is expected or (expected is list and isinstance(found, (list, tuple)))


@pytest.mark.parametrize(
    ("declared", "value", "text"),
    [
        (None, lambda x: x * 1, "to return None but it returned something else instead"),
        (tuple[Tensor, Tensor], lambda x: (x * 1,), "to return 2 values but it returned 1"),
        (Tensor, lambda x: 3, "Unable to cast Python instance of type <class 'int'>"),
        (list[Tensor], lambda x: x * 1, "Unable to cast Python instance of type <class '.*Tensor'>"),
        (int, lambda x: 3.5, "Unable to cast Python instance of type <class 'float'>"),
    ],
)
def test_other_results_are_refused(declared, value, text):
    with pytest.raises(RuntimeError, match=text):
        gives(declared, value)(X)
