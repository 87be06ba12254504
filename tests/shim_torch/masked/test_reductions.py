"""torch.masked: reductions of the elements that a mask keeps, against NumPy."""

import numpy as np
import pytest

import shim_torch as torch


def test_masked_reductions():
    x = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    keep = torch.tensor([[True, False, True], [False, False, True]])
    m = torch.masked
    data = np.ma.masked_array(x.numpy(), ~keep.numpy())
    np.testing.assert_allclose(m.sum(x, 1, mask=keep).numpy(), data.sum(1))
    np.testing.assert_allclose(m.mean(x, 1, mask=keep).numpy(), data.mean(1))
    np.testing.assert_allclose(m.prod(x, 1, mask=keep).numpy(), data.prod(1))
    np.testing.assert_allclose(m.amax(x, mask=keep).numpy(), data.max())
    np.testing.assert_allclose(m.amin(x, 0, mask=keep).numpy(), [1.0, np.inf, 3.0])
    np.testing.assert_allclose(m.var(x, 1, mask=keep).numpy()[0], data.var(1, ddof=1)[0])
    np.testing.assert_allclose(m.std(x, 0, unbiased=False, mask=keep).numpy()[2], data.std(0)[2])
    found = m.softmax(x, 1, mask=keep)
    np.testing.assert_allclose(found.numpy()[0], [np.exp(-2) / (1 + np.exp(-2)), 0, 1 / (1 + np.exp(-2))], rtol=1e-6)
    assert m.argmax(x, 1, mask=keep).tolist() == [2, 2]
    np.testing.assert_allclose(m.norm(x, 2, 1, mask=keep).numpy(), [10**0.5, 6.0], rtol=1e-6)
    assert m.masked_tensor(x, keep).sum().item() == x[keep].sum().item()


def test_masked_median_takes_dtype_for_integers_alone():
    x, none = torch.tensor([[1.0, 5.0, 3.0, 2.0]]), torch.zeros(1, 4, dtype=torch.bool)
    keep = torch.tensor([True, False, True, True])
    median = torch.masked.median
    assert median(x, 1, mask=keep, dtype=torch.float64).dtype == torch.float32
    assert median(x, 1, mask=none, dtype=torch.int64).isnan().all()
    for dtype, found in ((None, torch.int64), (torch.float64, torch.float64)):
        assert median(x.long(), 1, mask=keep, dtype=dtype).dtype == found
        with pytest.raises(ValueError, match="masked median expects no fully masked out rows"):
            median(x.long(), 1, mask=none, dtype=dtype)


def test_extremes_of_a_sparse_tensor_without_entries_are_the_dtypes():
    nowhere = torch.zeros(2, 0, dtype=torch.int64)
    x = torch.sparse_coo_tensor(nowhere, torch.zeros(0), (2, 3))
    mask = torch.sparse_coo_tensor(nowhere, torch.zeros(0, dtype=torch.bool), (2, 3))
    assert torch.masked.amax(x, (0, 1), mask=mask).to_dense().item() == -float("inf")
    assert torch.masked.amin(x.to(torch.int8), (0, 1), mask=mask).to_dense().item() == 127
