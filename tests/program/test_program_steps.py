"""What a recording runs again is what ran when it was made."""

from recording import Recording

import shim_torch as torch


def test_steps_run_again_with_other_tensors_and_numbers():
    x, y = torch.randn(3, 4), torch.randn(4)
    r = Recording(x, y)
    s = r.step("add.Tensor", x, y, alpha=2)
    r.parameter(2, 2)
    p = r.step("relu", s)
    q = r.step("cat", [p, s], 1)
    parts = r.step("split_with_sizes", q, [3, 5], 1)
    r.returns(parts[1], p)
    a, b = torch.randn(3, 4), torch.randn(4)
    tail, first = r.run_steps([a, b], [3])
    expected = torch.cat([(a + 3 * b).relu(), a + 3 * b], 1)[:, 3:]
    torch.testing.assert_close(tail, expected, rtol=0, atol=0)
    torch.testing.assert_close(first, (a + 3 * b).relu(), rtol=0, atol=0)


def test_steps_write_in_place_and_read_constants():
    x, constant = torch.zeros(5), torch.arange(5.0)
    r = Recording(x)
    y = r.step("add_.Tensor", x, constant)
    z = r.step("mul.Tensor", y, 2)
    r.returns(z, y)
    assert y is x
    a = torch.ones(5)
    doubled, same = r.run_steps([a])
    assert same.data_ptr() == a.data_ptr()
    assert a.tolist() == [1, 2, 3, 4, 5]
    assert doubled.tolist() == [2, 4, 6, 8, 10]


def test_steps_keep_generators_dtypes_and_devices():
    g, x = torch.Generator().manual_seed(3), torch.zeros(4)
    r = Recording(x)
    y = r.step("zeros", [4], dtype=torch.float64, device=torch.device("cpu"))
    r.step("normal_", y, 1.0, 2.0, generator=g)
    r.returns(r.step("add.Tensor", y, x))
    g.manual_seed(3)
    (again,) = r.run_steps([torch.ones(4)])
    assert again.dtype == torch.float64
    assert torch.equal(again, y + 1)
