"""torch.nn.parallel on the CPU: tensors scattered and gathered."""

import pytest

import shim_torch as torch


def test_parallel():
    p = torch.nn.parallel
    parts = p.scatter({"x": torch.arange(4)}, ["cpu", "cpu"])
    assert [d["x"].tolist() for d in parts] == [[0, 1], [2, 3]]
    assert p.gather(parts, "cpu")["x"].tolist() == [0, 1, 2, 3]
    with pytest.raises(RuntimeError, match="Default process group has not been initialized"):
        p.DistributedDataParallel(torch.nn.Linear(1, 1))


def test_replicas_share_what_is_there_and_give_their_gradients():
    layer = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
    first, second = torch.nn.parallel.replicate(layer, ["cpu", "cpu"])
    assert first[0].weight.data_ptr() == layer[0].weight.data_ptr() and list(first.parameters()) == []
    assert first[0]._former_parameters["weight"] is first[0].weight and first[0] is not second[0]
    x = torch.randn(5, 3)
    assert torch.equal(first(x), layer(x))
    assert layer[1].num_batches_tracked == 2, "the buffers of the module's own device are its own"
    (first[0](x).sum() + 2 * second[0](x).sum()).backward()
    assert torch.allclose(layer[0].weight.grad, 3 * x.sum(0).expand(2, 3))
    detached = torch.nn.parallel.replicate(layer, ["cpu"], detach=True)[0]
    assert not detached[0].weight.requires_grad


def test_scalars_are_gathered_as_a_vector():
    with pytest.warns(UserWarning, match="all input tensors were scalars; will instead unsqueeze"):
        assert torch.nn.parallel.gather([torch.tensor(1.0), torch.tensor(2.0)], "cpu").tolist() == [1, 2]


def test_an_error_names_its_replica():
    layer = torch.nn.Linear(2, 2)
    with pytest.raises(RuntimeError, match="Caught RuntimeError in replica 1 on device None"):
        torch.nn.parallel.parallel_apply([layer, layer], [torch.ones(1, 2), torch.ones(1, 3)])
