"""``torch.library.opcheck`` of operators whose sizes depend on data."""

import pytest

import shim_torch as torch
from shim_torch.library import custom_op, get_ctx, opcheck

X = torch.tensor([[1.0, 0.0, 3.0], [2.0, 0.0, 0.0]])


@custom_op("checked_sizes::places", mutates_args=())
def places(x: torch.Tensor) -> torch.Tensor:
    return x.nonzero()


@places.register_fake
def _(x):
    return x.new_empty((get_ctx().new_dynamic_size(), x.dim()), dtype=torch.int64)


@custom_op("checked_sizes::wider", mutates_args=())
def wider(x: torch.Tensor) -> torch.Tensor:
    return x.nonzero()


@wider.register_fake
def _(x):
    return x.new_empty((get_ctx().new_dynamic_size(), x.dim() + 1), dtype=torch.int64)


@custom_op("checked_sizes::all_of_them", mutates_args=())
def all_of_them(x: torch.Tensor) -> torch.Tensor:
    return x.nonzero()


@all_of_them.register_fake
def _(x):
    return x.new_empty((x.numel(), x.dim()), dtype=torch.int64)


def test_any_number_of_rows_will_do():
    assert set(opcheck(places, (X,)).values()) == {"SUCCESS"}


def test_bounds_of_a_size():
    seen = []

    @custom_op("checked_sizes::bounded", mutates_args=())
    def bounded(x: torch.Tensor) -> torch.Tensor:
        return x.new_ones(4)

    @bounded.register_fake
    def _(x):
        seen.append(get_ctx().new_dynamic_size(min=4, max=6))
        return x.new_empty(seen[-1])

    assert set(opcheck(bounded, (X,)).values()) == {"SUCCESS"}
    assert seen and all(4 <= n <= 6 for n in seen)


@pytest.mark.parametrize("op", [wider, all_of_them])
def test_sizes_that_are_known_must_be_right(op):
    with pytest.raises(Exception, match=r"Shapes torch.Size\(\[3, 2\]\) and torch.Size\(\[\d, \d\]\) are not equal"):
        opcheck(op, (X,))


def test_outside_a_check_there_is_no_size():
    with pytest.raises(RuntimeError, match="may return an output Tensor with data-dependent shape"):
        places(X.to("meta"))


def test_aliases_cannot_be_functional():
    with torch.library._scoped_library("checked_sizes", "FRAGMENT") as lib:
        lib.define("shared(Tensor(a) x) -> Tensor(a)")
        lib.impl("shared", lambda x: x.view(-1), "CompositeExplicitAutograd")
        with pytest.raises(
            Exception, match="We only support functionalizing operators whose outputs do not have alias annot"
        ):
            opcheck(torch.ops.checked_sizes.shared.default, (X,))


def test_a_missing_fake_kernel_is_named():
    with torch.library._scoped_library("checked_sizes", "FRAGMENT") as lib:
        lib.define("unknown(Tensor x) -> Tensor")
        lib.impl("unknown", lambda x: x.clone(), "CPU")
        with pytest.raises(Exception, match=r"checked_sizes.unknown.default: .*no fake impl"):
            opcheck(torch.ops.checked_sizes.unknown.default, (X,))
