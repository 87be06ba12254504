"""Zero-copy with CuPy both ways."""

import copy
import pickle

import numpy as np
import pytest

import shim_torch as torch

cupy = pytest.importorskip("cupy")


def test_dlpack_from_and_to_cupy_shares_memory():
    a = cupy.arange(12, dtype=cupy.float32).reshape(3, 4)
    t = torch.from_dlpack(a)
    assert t.data_ptr() == a.data.ptr
    assert t.device.type == "cuda"
    t += 1
    assert a[2, 3] == 12
    back = cupy.from_dlpack(t)
    assert back.data.ptr == t.data_ptr()
    assert torch.from_dlpack(a.T).stride() == (1, 4)


def test_cuda_array_interface_both_ways():
    a = cupy.random.rand(5, 6).astype(cupy.float16)
    t = torch.as_tensor(a, device="cuda")
    assert t.data_ptr() == a.data.ptr
    view = cupy.asarray(t[:, ::2])
    assert view.data.ptr == t.data_ptr()
    assert np.array_equal(cupy.asnumpy(view), cupy.asnumpy(a[:, ::2]))


def test_cupy_functions_take_our_tensors():
    t = torch.arange(6, dtype=torch.float32, device="cuda")
    assert float(cupy.sum(cupy.asarray(t))) == 15.0


def test_pool_is_shared_with_cupy():
    torch.ones(1, device="cuda") + 1
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    a = cupy.empty(32 << 20, dtype=cupy.uint8)
    torch.cuda.synchronize()
    assert torch.cuda.memory_allocated() - before >= 32 << 20
    del a


def test_copies_cross_devices():
    host = torch.arange(6.0).reshape(2, 3).requires_grad_()
    there = torch.zeros(2, 3, device="cuda").copy_(host)
    assert there.tolist() == [[0, 1, 2], [3, 4, 5]]
    (there * 2).sum().backward()
    assert host.grad.device.type == "cpu" and host.grad.tolist() == [[2, 2, 2], [2, 2, 2]]
    layer = torch.nn.Linear(3, 2, device="cuda")
    layer.load_state_dict({"weight": torch.ones(2, 3), "bias": torch.zeros(2)})
    assert layer.weight.device.type == "cuda" and layer(there.detach()).tolist() == [[3, 3], [12, 12]]
    back = torch.empty(2, 3).t().copy_(there.detach().t())
    assert back.tolist() == [[0, 3], [1, 4], [2, 5]]


def test_a_shallow_copy_is_of_the_same_memory():
    x = torch.arange(6.0, device="cuda").reshape(2, 3).t()
    y = copy.copy(x)
    y.fill_(1)
    assert x.tolist() == y.tolist() == [[1.0, 1.0]] * 3 and y.stride() == x.stride()


def test_views_of_one_pickle_stay_views_of_one_memory():
    x = torch.arange(6.0, device="cuda")
    whole, part = pickle.loads(pickle.dumps((x, x[2:4])))
    part.zero_()
    assert whole.tolist() == [0.0, 1.0, 0.0, 0.0, 4.0, 5.0] and part.is_cuda and x[2].item() == 2.0


def test_exponential_draws_are_never_zero():
    assert torch.empty(50_000_000, device="cuda").exponential_().min().item() > 0
