"""Names that libraries reach for beside the operators, with what they do."""

from __future__ import annotations

import io

import numpy as np
import pytest

import shim_torch as torch


def test_types():
    assert torch.Future is torch.futures.Future and torch._C._LinAlgError is torch.linalg.LinAlgError
    assert isinstance(torch.ones(1).untyped_storage(), torch.StorageBase) and torch.sparse.Tensor is torch.Tensor
    assert issubclass(torch.onnx.OnnxExporterError, RuntimeError)


def test_device_index():
    index = torch._utils._get_device_index
    assert (index(3), index("cuda:1"), index(torch.device("cpu"), allow_cpu=True)) == (3, 1, -1)
    with pytest.raises(ValueError, match="Expected a non cpu device, but got: cpu"):
        index("cpu")
    with pytest.raises(ValueError, match="Expected a torch.device with a specified index or an integer, but got:None"):
        index(None)


def test_fills_without_gradients():
    x = torch.ones(3, requires_grad=True)
    assert torch.nn.init._no_grad_fill_(x, 2.0) is x and x.tolist() == [2, 2, 2] and x.grad_fn is None
    torch.nn.init._no_grad_uniform_(x, 4.0, 5.0)
    assert x.min().item() >= 4 and x.max().item() < 5 and x.requires_grad


def test_batch_norms_are_converted():
    plain = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 1), torch.nn.Sequential(torch.nn.BatchNorm2d(2))).eval()
    plain[1][0].running_mean.fill_(0.5)
    made = torch.nn.SyncBatchNorm.convert_sync_batchnorm(plain, process_group="g")
    norm = made[1][0]
    assert type(norm) is torch.nn.SyncBatchNorm and norm.process_group == "g" and not norm.training
    assert norm.running_mean.tolist() == [0.5, 0.5] and len(list(made.parameters())) == 4
    x = torch.arange(8.0).reshape(2, 1, 2, 2)
    assert torch.equal(
        made(x),
        torch.nn.functional.batch_norm(plain[0](x), norm.running_mean, norm.running_var, norm.weight, norm.bias),
    )
    with pytest.raises(ValueError, match="expected at least 2D input"):
        torch.nn.SyncBatchNorm(2)(torch.ones(2))


def test_collectives_of_one_process(tmp_path):
    dist = torch.distributed
    dist.init_process_group("gloo", init_method=f"file://{tmp_path}/store", rank=0, world_size=1)
    try:
        found, objects = [torch.zeros(2)], [None]
        dist.gather(torch.ones(2), found)
        dist.scatter_object_list(objects, ["mine"])
        assert found[0].tolist() == [1, 1] and objects == ["mine"] and len(dist.new_subgroups(1)[1]) == 1
        with pytest.raises(ValueError, match="gather_list"):
            dist.gather(torch.ones(2))
        with pytest.warns(FutureWarning, match="reduce_op"):
            assert dist.reduce_op.SUM is not None
    finally:
        dist.destroy_process_group()


def test_nothing_to_accelerate():
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    assert torch._C._get_accelerator() == torch.device("cpu")
    with pytest.raises(RuntimeError, match="Cannot access accelerator device when none is available"):
        torch._C._get_accelerator(True)
    before = torch.backends.nnpack.set_flags(False)
    assert before == (True,) and torch.backends.nnpack.set_flags(True) == (False,)


def test_storages_of_old_pickles():
    file = io.BytesIO()
    torch.save([torch.arange(3)], file)
    assert torch.storage._load_from_bytes(file.getvalue())[0].tolist() == [0, 1, 2]


def test_texts_are_left_out_of_batches():
    """The pattern of NumPy's dtypes that make no tensors, by which libraries collate themselves (torchmetrics, monai)."""
    from shim_torch.utils.data._utils.collate import default_convert, np_str_obj_array_pattern

    kinds = [np.array(["a"]), np.array([None]), np.array([1.0])]
    assert [bool(np_str_obj_array_pattern.search(a.dtype.str)) for a in kinds] == [True, True, False]
    assert default_convert(kinds[0]) is kinds[0] and default_convert(kinds[2]).tolist() == [1.0]


def test_graphs_of_traces_are_refused():
    with pytest.raises(NotImplementedError, match="torch.jit._get_trace_graph is not supported by shim-torch"):
        torch.jit._get_trace_graph(torch.nn.ReLU(), torch.ones(1))
