"""torch._tensor's module_load and _convert, and how torch._tensor_str breaks lines before a tensor's suffixes."""

import pytest

import shim_torch as torch
from shim_torch._tensor import _convert
from shim_torch._tensor_str import _add_suffixes


class Sub(torch.Tensor):
    pass


class SubOfSub(Sub):
    pass


def test_convert():
    x = torch.ones(2)
    lower = x.as_subclass(SubOfSub)
    assert _convert(x, torch.Tensor) is x and _convert(lower, Sub) is lower and type(_convert(x, Sub)) is Sub
    found = _convert([x, 3, (x, None), {"a": x}], Sub)
    assert [type(item) for item in found] == [Sub, int, tuple, dict]
    assert type(found[2][0]) is Sub and type(found[3]["a"]) is torch.Tensor  # what is in a dict stays
    named = _convert(torch.ones(2, 2).max(0), Sub)
    assert type(named) is torch.return_types.max and type(named.values) is Sub
    pair = [x, x]
    assert _convert(pair, torch.Tensor) is pair


def test_module_load():
    own, given = torch.ones(2), torch.tensor([3, 4])
    loaded = own.module_load(given)
    assert loaded is not own and loaded.data_ptr() == own.data_ptr() and own.tolist() == [3.0, 4.0]
    assigned = own.module_load(given, assign=True)
    assert assigned is not given and assigned.data_ptr() == given.data_ptr() and assigned.dtype == torch.int64
    parameter = torch.nn.Parameter(torch.ones(2))
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad is being used in an in-place operation"):
        parameter.module_load(given)
    with torch.no_grad():
        assert type(parameter.module_load(given)) is torch.Tensor
        assert not torch.ones(2).module_load(parameter, assign=True).requires_grad


def test_module_load_asks_the_type_of_what_is_loaded():
    class Asked(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func.__name__, len(args), kwargs

    given = torch.ones(2).as_subclass(Asked)
    assert torch.ones(2).module_load(given) == ("module_load", 2, {"assign": False})
    assert torch.ones(2).module_load(given, assign=True) == ("module_load", 2, {"assign": True})


def test_suffixes_begin_a_line_where_they_do_not_fit():
    first, later = "s" * 60, "u" * 10
    assert _add_suffixes("tensor(1.", [], 7, True) == "tensor(1.)"
    assert _add_suffixes("tensor([1,\n 2]", ["a=1"], 7) == "tensor([1,\n 2], a=1)"
    assert _add_suffixes("tensor(1.", ["a=1", "b=2"], 7, force_newline=True) == "tensor(1.,\n       a=1, b=2)"
    # the first line ends at 78 characters, those after it at 80
    assert _add_suffixes("t" * 16, [first], 2) == f"{'t' * 16}, {first})"
    assert _add_suffixes("t" * 17, [first], 2) == f"{'t' * 17},\n  {first})"
    assert _add_suffixes("t" * 80, [first, "u" * 16], 2) == f"{'t' * 80},\n  {first}, {'u' * 16})"
    assert _add_suffixes("t" * 80, [first, "u" * 17, later], 2) == f"{'t' * 80},\n  {first},\n  {'u' * 17}, {later})"


def test_how_exponents_are_printed():
    """To PyTorch's float8_e8m0fnu zero is its smallest number, and NaN is finite."""
    nan = float("nan")
    for values, text in [
        ([2.0**-127, 8.0], "tensor([0., 8.], dtype=torch.float8_e8m0fnu)"),
        ([nan, 67108864.0], "tensor([          nan, 67108864.0000], dtype=torch.float8_e8m0fnu)"),
        (
            [nan, 128.0, 2.0**-10, 2.0**-17],
            "tensor([     nan, 128.0000,   0.0010,   0.0000], dtype=torch.float8_e8m0fnu)",
        ),
        ([128.0, 2.0**-10], "tensor([1.2800e+02, 9.7656e-04], dtype=torch.float8_e8m0fnu)"),
    ]:
        assert repr(torch.tensor(values, dtype=torch.float64).to(torch.float8_e8m0fnu)) == text
