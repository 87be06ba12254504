"""masked, futures, nn.grad, nn.parallel, compiler tools, small names of torch."""

from __future__ import annotations

import importlib

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


def test_futures():
    future = torch.futures.Future()
    after = future.then(lambda f: f.value() + 1)
    assert not after.done()
    future.set_result(3)
    assert after.wait() == 4
    with pytest.raises(RuntimeError, match="can only be marked completed once"):
        future.set_result(4)
    failing = torch.futures.Future()
    failing.set_exception(ValueError("no"))
    with pytest.raises(ValueError, match="no"):
        failing.wait()
    assert torch.futures.wait_all([future, after]) == [3, 4]


def test_convolution_gradients():
    torch.manual_seed(0)
    x = torch.randn(2, 4, 6, 5, requires_grad=True)
    w = torch.randn(6, 2, 3, 3, requires_grad=True)
    out = torch.nn.functional.conv2d(x, w, stride=2, padding=1, groups=2)
    g = torch.randn(out.shape)
    out.backward(g)
    settings = {"stride": 2, "padding": 1, "groups": 2}
    mine = torch.nn.grad.conv2d_input(x.shape, w, g, **settings)
    np.testing.assert_allclose(mine.detach().numpy(), x.grad.numpy(), rtol=1e-4, atol=1e-5)
    mine = torch.nn.grad.conv2d_weight(x, w.shape, g, **settings)
    np.testing.assert_allclose(mine.detach().numpy(), w.grad.numpy(), rtol=1e-4, atol=1e-5)


def test_parallel():
    p = torch.nn.parallel
    parts = p.scatter({"x": torch.arange(4)}, ["cpu", "cpu"])
    assert [d["x"].tolist() for d in parts] == [[0, 1], [2, 3]]
    assert p.gather(parts, "cpu")["x"].tolist() == [0, 1, 2, 3]
    with pytest.raises(RuntimeError, match="Default process group has not been initialized"):
        p.DistributedDataParallel(torch.nn.Linear(1, 1))


def test_compiler_tools():
    config = torch._inductor.config
    with config.patch(max_autotune=True):
        assert config.max_autotune
    assert not config.max_autotune
    from shim_torch._inductor.lowering import lowerings, register_lowering
    from shim_torch._inductor.runtime.benchmarking import benchmarker

    assert register_lowering(torch.ops.aten.add)(len) is len
    assert lowerings.pop(torch.ops.aten.add) is len
    assert benchmarker.benchmark_cpu(lambda: sum(range(100)), warmup=1, rep=2) > 0
    with pytest.raises(NotImplementedError, match="torch.export.export"):
        torch.export.export(None, ())
    importlib.import_module("shim_torch._higher_order_ops.while_loop")  # the package's function stays what it is
    assert torch._higher_order_ops.while_loop(lambda i: i < 5, lambda i: (i + 2,), (0,)) == (6,)
    assert torch.cond(torch.tensor(True), lambda: 1, lambda: 2) == 1
    f = torch._dynamo.eval_frame.innermost_fn
    assert f(len) is len


def test_names():
    assert repr(torch.per_tensor_affine) == "torch.per_tensor_affine"
    assert torch.Tag.pointwise == 16
    assert torch.sym_max(2, 3.0) == 3.0
    assert isinstance(torch.sym_max(2, 3.0), float)
    assert torch.sym_not(False)
    assert torch.is_autocast_cpu_enabled() is False
    assert torch._vendor.packaging.version.parse("2.1") < torch._vendor.packaging.version.parse("2.10")
    with pytest.raises(NotImplementedError, match="torch.qr of a nested tensor"):
        torch.qr(torch.nested.nested_tensor([torch.ones(2, 2)]))
    assert torch.sparse.mm(torch.eye(2), torch.ones(2, 1)).tolist() == [[1.0], [1.0]]
