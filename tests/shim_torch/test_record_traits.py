"""What a record says of its operator beside the schema: who has it, and what is refused. The texts are PyTorch's."""

import pytest

import shim_torch as torch
from shim_torch._impl.native import _core
from shim_torch._impl.table.operators import define, records
from shim_torch._impl.table.record import RECORDS, TRAITS, composite
from shim_torch.utils._python_dispatch import TorchDispatchMode

NO_GRADIENT = "functions with out=... arguments don't support automatic differentiation"


def test_every_trait_is_some_operators():
    said = {trait for record in records().values() for trait in record.traits}
    assert said == set(TRAITS)


@pytest.fixture
def declared():
    before = set(RECORDS)
    yield
    for key in set(RECORDS) - before:
        del RECORDS[key]


def test_unknown_options_are_refused(declared):
    with pytest.raises(TypeError, match=r"unknown options \['autocats'\]"):
        composite("tst::unknown_option(Tensor self) -> Tensor", autocats="promote")(lambda self: self)


def test_unknown_words_are_refused(declared):
    composite("tst::unknown_word(Tensor self) -> Tensor", autocast="float31")(lambda self: self)
    with pytest.raises(TypeError, match="autocast cannot be 'float31'"):
        define(RECORDS["tst::unknown_word"])


@pytest.mark.parametrize(
    "numbers, taken",
    [(None, ()), ("any", "ab_"), ("not_first", "a"), ("not_all", "ab")],
    ids=["none", "any", "not_first", "not_all"],
)
def test_numbers_for_tensors(declared, numbers, taken):
    name = f"tst::numbers_{numbers}"
    composite(f"{name}(Tensor a, Tensor b) -> Any[]", **({"numbers": numbers} if numbers else {}))(lambda a, b: [a, b])
    define(RECORDS[name])
    function, x = _core.function(name), torch.ones(2)
    calls = {"a": (x, 1), "b": (1, x), "_": (1, 1)}
    for which, given in calls.items():
        if which in taken:
            assert list(function(*given)) == list(given)
        else:
            with pytest.raises(TypeError):
                function(*given)


@pytest.mark.parametrize("alias, of", [("fix", "trunc"), ("negative", "neg"), ("absolute", "abs")])
def test_an_alias_refuses_the_dtypes_of_its_operator(alias, of):
    for name in (alias, of):
        with pytest.raises(RuntimeError, match="Found dtype Half but expected Float"):
            getattr(torch, name)(torch.ones(3), out=torch.empty(3, dtype=torch.float16))


@pytest.mark.parametrize(
    "alias, of",
    [
        ("arccos", "acos"),
        ("arctan2", "atan2"),
        ("fix", "trunc"),
        ("negative", "neg"),
        ("multiply", "mul"),
        ("concat", "cat"),
    ],
)
def test_an_alias_is_called_as_its_operator(alias, of):
    x = torch.ones(3, requires_grad=True)
    given = {"arctan2": (x, x), "multiply": (x, x), "concat": ([x, x],)}.get(alias, (x,))
    with pytest.raises(RuntimeError) as found:
        getattr(torch, alias)(*given, out=torch.empty(3))
    assert str(found.value).startswith(f"{of}(): {NO_GRADIENT}")


def test_an_alias_writes_into_no_input():
    x = torch.ones(3)
    for name in ("cat", "concat", "concatenate"):
        with pytest.raises(RuntimeError, match="some elements of the input tensor and the written-to tensor refer"):
            getattr(torch, name)([x], out=x)


def test_an_alias_shows_the_overload_for_numbers():
    class Seen(TorchDispatchMode):
        overloads = []

        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            self.overloads.append(function._overloadname)
            return function(*args, **(kwargs or {}))

    x = torch.ones(3)
    with Seen():
        torch.greater(x, 1)
        x.not_equal_(1.0)
    assert Seen.overloads == ["Scalar", "Scalar"]


def test_an_alias_has_no_old_order():
    x = torch.ones(2)
    with pytest.raises(TypeError):
        torch.subtract(x, 2, x)
