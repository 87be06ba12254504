"""all, any and count_nonzero: over any dims, of nothing, of NaN; the dtypes of their results."""

import numpy as np
import pytest

import shim_torch as torch


def test_all_and_any_of_none():
    none = torch.empty(3, 0, dtype=torch.bool)
    assert none.all(1).tolist() == [True] * 3 and none.any(1).tolist() == [False] * 3
    assert (
        torch.empty(0, 2, dtype=torch.bool).all(0).tolist() == [True, True]
        and torch.tensor([], dtype=torch.uint8).all().item() == 1
    )
    some = torch.tensor([[True, False], [True, True]])
    assert (
        some.all(0).tolist() == [True, False]
        and some.all(1).tolist() == [False, True]
        and some.any(1).tolist() == [True, True]
    )


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int16", "int64", "float32", "float64", "complex64"])
@pytest.mark.parametrize("shape", [(5,), (3, 4), (2, 70, 3), (30, 200)])
def test_tests_and_counts_along_dims(shape, dtype):
    x = (np.random.default_rng(0).integers(0, 9, shape) // 6).astype(dtype)
    for t, wide in ((torch.from_numpy(x), x), (torch.from_numpy(x).transpose(0, -1), np.swapaxes(x, 0, -1))):
        for dims in [(d,) for d in range(len(shape))] + [tuple(range(len(shape)))]:
            for keepdim in (False, True):
                for name in ("all", "any"):
                    found = getattr(t, name)(dims, keepdim)
                    assert found.dtype == (torch.uint8 if dtype == "uint8" else torch.bool)
                    assert np.array_equal(found.numpy(), getattr(np, name)(wide, axis=dims, keepdims=keepdim))
            assert np.array_equal(torch.count_nonzero(t, dims).numpy(), np.count_nonzero(wide, dims))
        assert torch.count_nonzero(t).item() == np.count_nonzero(wide) and t.count_nonzero(0).dtype == torch.int64


def test_nan_is_true():
    nan = torch.tensor([float("nan"), 0.0])
    assert nan.any().item() is True and nan[:1].all().item() is True and nan.count_nonzero().item() == 1


def test_no_dims_are_none_of_them_for_tests_alone():
    x = torch.tensor([[0, 1], [2, 0]])
    assert x.all([]).tolist() == x.any([]).tolist() == [[False, True], [True, False]]
    assert x.count_nonzero([]).item() == 2 and x.any(()).shape == (2, 2)


def test_results_of_another_dtype_are_refused():
    with pytest.raises(RuntimeError, match="any only supports bool tensor for result, got: Float"):
        torch.any(torch.ones(2, 2), 0, out=torch.empty(2))
