"""make_tensor: bounds, dtypes, gaps and zeros."""

import pytest

import shim_torch as torch
from shim_torch.testing import make_tensor


def test_bounds_beyond_the_dtype_are_its_own():
    found = make_tensor(2000, dtype=torch.int8, device="cpu", low=-1000, high=1000)
    assert found.min() < -100 and found.max() > 100
    wide = make_tensor(2000, dtype=torch.float64, device="cpu", low=-(10**400), high=10**400)
    assert wide.isfinite().all() and wide.abs().max() > 1e307


@pytest.mark.parametrize(("dtype", "low", "high"), [(torch.uint8, -2, -1), (torch.float32, 10**39, 10**40)])
def test_an_interval_outside_the_dtype(dtype, low, high):
    with pytest.raises(ValueError, match=f"but {dtype} only supports"):
        make_tensor(3, dtype=dtype, device="cpu", low=low, high=high)


def test_bounds_of_integers_are_rounded_up():
    assert (make_tensor(100, dtype=torch.int64, device="cpu", low=-0.9, high=0.9) == 0).all()


def test_zeros_are_replaced_by_the_least_normal_number():
    small = torch.finfo(torch.float64).tiny
    found = make_tensor(50, dtype=torch.float64, device="cpu", low=0, high=5e-324, exclude_zero=True)
    assert ((found == small) | (found == 5e-324)).all() and (found == small).any()
    assert (make_tensor(50, dtype=torch.uint8, device="cpu", low=0, high=1, exclude_zero=True) == 1).all()


def test_complex_numbers_have_both_parts_in_the_interval():
    parts = torch.view_as_real(make_tensor(4, 5, dtype=torch.complex64, device="cpu", low=2, high=3))
    assert parts.shape == (4, 5, 2) and (parts >= 2).all() and (parts < 3).all()


def test_gaps_and_memory_formats():
    gaps = make_tensor(4, 5, dtype=torch.float32, device="cpu", noncontiguous=True)
    assert gaps.shape == (4, 5) and gaps.stride() == (10, 2) and gaps.storage_offset() == 1
    last = make_tensor(2, 3, 4, 5, dtype=torch.float32, device="cpu", memory_format=torch.channels_last)
    assert last.is_contiguous(memory_format=torch.channels_last)


def test_the_format_that_is_kept_asks_as_no_format():
    rows = torch.ones(2, 3)
    assert rows.is_contiguous(memory_format=torch.preserve_format)
    assert rows.contiguous(memory_format=torch.preserve_format) is rows
    assert not rows.t().is_contiguous(memory_format=torch.preserve_format)
    with pytest.raises(RuntimeError, match="preserve memory format is unsupported by the contiguous operator"):
        rows.t().contiguous(memory_format=torch.preserve_format)


def test_what_is_refused():
    def make(**options):
        return torch.testing.make_tensor(2, 3, device="cpu", **options)

    for options, text in (
        (
            {"dtype": torch.int32, "requires_grad": True},
            "`requires_grad=True` is not supported for boolean and integral dtypes",
        ),
        (
            {"dtype": torch.float32, "noncontiguous": True, "memory_format": torch.channels_last},
            "are mutually exclusive",
        ),
        ({"dtype": torch.float32, "low": float("nan")}, "cannot be NaN, but got low=nan and high=9"),
        ({"dtype": torch.int8, "low": 2, "high": 2}, "`low` must be less than `high`, but got 2 >= 2"),
    ):
        with pytest.raises(ValueError, match=text):
            make(**options)
    with pytest.warns(FutureWarning, match="Passing `low==high`"):
        assert make(dtype=torch.float32, low=2, high=2).eq(2).all()


def test_shapes_of_few_elements_have_no_gaps():
    for shape in ((), (1,), (0,)):
        for given in (shape, [shape], [list(shape)]):
            made = torch.testing.make_tensor(*given, dtype=torch.float32, device="cpu", noncontiguous=True)
            assert made.shape == shape and made.is_contiguous()
    made = torch.testing.make_tensor(
        (2, 3), dtype=torch.complex64, device="cpu", noncontiguous=True, requires_grad=True
    )
    assert made.stride() == (6, 2) and made.requires_grad and made.is_leaf


def test_make_tensor_refuses():
    for options, text in (
        ({"dtype": torch.int32, "low": 3, "high": 3}, "`low` must be less than `high`, but got 3 >= 3"),
        ({"dtype": torch.int32, "requires_grad": True}, "not supported for boolean and integral dtypes"),
        (
            {"dtype": torch.float32, "noncontiguous": True, "memory_format": torch.contiguous_format},
            "mutually exclusive",
        ),
    ):
        with pytest.raises(ValueError, match=text):
            make_tensor((2, 2), device="cpu", **options)
