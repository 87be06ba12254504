"""Small things that torchao, torchtune, timm and kornia import or call beside tensors."""

from __future__ import annotations

import itertools
import os
import pickle

import pytest

import shim_torch as torch


def test_reports_of_the_environment():
    from shim_torch.utils import collect_env

    assert collect_env.run("echo one; exit 3") == (3, "one", "") and collect_env.run(["echo", "two"]) == (0, "two", "")
    assert collect_env.run_and_read_all(collect_env.run, "exit 1") is None
    assert collect_env.run_and_parse_first_match(collect_env.run, "echo version 3.1", r"version (.*)") == "3.1"
    answers = {
        "nvidia-smi -L": (0, "GPU 0: NVIDIA H200 (UUID: GPU-1)", ""),
        "gcc --version": (0, "gcc (x) 12.2.0\n", ""),
    }

    def asked(command):
        return answers.get(command, (1, "", "not found"))

    assert collect_env.get_gpu_info(asked) == "GPU 0: NVIDIA H200"
    assert collect_env.get_gcc_version(asked) == "(x) 12.2.0" and collect_env.get_clang_version(asked) is None
    info = collect_env.get_env_info()
    assert info.torch_version == torch.__version__ and info.is_cuda_available == str(torch.cuda.is_available())
    known = info._replace(clang_version=None, cmake_version="3.25.1", pip_packages="a==1\nb==2", conda_packages="")
    lines = collect_env.pretty_str(known).split("\n")
    assert {"  clang: not found", "  cmake: 3.25.1", f"  answers as torch: {torch.__version__}"} < set(lines)
    start = lines.index("  packages, by pip:")
    assert lines[start + 1 : start + 5] == ["    a==1", "    b==2", "", "System"]  # and none by conda


def test_where_cudnn_is(tmp_path):
    from shim_torch.utils import collect_env

    real = tmp_path / "libcudnn.so.9.1"
    real.touch()
    (tmp_path / "libcudnn.so.9").symlink_to(real)
    listed = "\n".join(
        f"\t{n} (libc6,x86-64) => {tmp_path}/{n}" for n in ("libcudnn.so.9", "libcudnn.so.9.1", "libcudnn_gone.so")
    )
    assert collect_env.get_cudnn_version(lambda command: (0, listed, "")) == str(real)
    assert collect_env.get_cudnn_version(lambda command: (1, "", "no ldconfig")) is None


@pytest.mark.parametrize(("blocks", "grids"), [(None, [(3, 2, 3)]), ((2, None, None), [(3, 2, 2), (3, 2, 1)])])
def test_block_sparse_launches_cover_the_grid(blocks, grids):
    """A product of blocks, written with the launch helpers as torchao's ``bsr_dense_addmm`` is, in PyTorch."""
    from shim_torch.sparse import _triton_ops as ops

    dense = torch.arange(6 * 4, dtype=torch.float32).reshape(6, 4) % 7
    dense[:2, 2:] = 0
    bsr = dense.to_sparse_bsr((2, 2))
    others = torch.randn(3, 4, 8)
    out = torch.full((3, 6, 8), float("nan"))
    assert ops.broadcast_batch_dims("f", bsr, others) == (3,)
    crow, col, values, tiled_others, tiled_out = ops.prepare_inputs(bsr, others, out)
    assert crow.shape == (3, 4) and values.shape == (3, 5, 2, 2)
    tiled_others, tiled_out = ops.tile_to_blocksize(tiled_others, (2, 4)), ops.tile_to_blocksize(tiled_out, (2, 4))
    seen = []

    def kernel(grid, values, crow, col, right, out):
        seen.append(tuple(grid))
        assert list(ops.ptr_stride_extractor(crow))[1:] == [*crow.stride()]
        rows, columns, batches = grid
        for b, r, c in itertools.product(range(batches), range(rows), range(columns)):
            where = range(int(crow[b, r]), int(crow[b, r + 1]))
            out[b, c, r] = sum((values[b, i] @ right[b, c, int(col[b, i])] for i in where), torch.zeros(2, 4))

    # The axes of the grid: batches, columns of blocks, rows of blocks.
    right, whole = tiled_others.transpose(1, 2), (0, None, None)
    dims = {values: whole, crow: whole, col: whole, right: (0, 1, None), tiled_out.transpose(1, 2): (0, 1, 2)}
    ops.launch_kernel(kernel, dims, (3, 2, 3), blocks)
    assert seen == grids
    torch.testing.assert_close(out, dense @ others)


@pytest.mark.parametrize(
    ("batch", "others", "shapes"),
    [
        ((), [(8, 4)], [(1, 3), (1, 8), (1, 8, 2, 2), (1, 8, 4)]),
        ((), [(3, 8, 4)], [(3, 3), (3, 8), (3, 8, 2, 2), (3, 8, 4)]),
        ((2,), [(3, 2, 8, 4), (8, 4)], [(6, 3), (6, 8), (6, 8, 2, 2), (6, 8, 4), (6, 8, 4)]),
    ],
)
def test_inputs_of_block_sparse_kernels_have_one_batch(batch, others, shapes):
    from shim_torch.sparse import _triton_ops as ops

    bsr = torch.arange(1, 33.0).reshape(4, 8).expand(*batch, 4, 8).to_sparse_bsr((2, 2))
    found = ops.prepare_inputs(bsr, *(torch.ones(shape) for shape in others))
    assert [tuple(t.shape) for t in found] == shapes
    assert found[1][0].tolist() == [0, 1, 2, 3] * 2 and found[2].sum() == 528 * shapes[0][0]


def test_batches_that_do_not_broadcast():
    from shim_torch.sparse import _triton_ops as ops

    with pytest.raises(ValueError, match=r"f\(\): inputs' batch dimensions are not broadcastable!"):
        ops.broadcast_batch_dims("f", torch.zeros(2, 3, 3), torch.zeros(4, 3, 3))
    with pytest.raises(NotImplementedError, match="there are no block-sparse kernels"):
        ops.bsr_dense_mm()


def test_optimizers_over_lists_group_their_tensors():
    tensors = [torch.zeros(2), torch.zeros(3, dtype=torch.float64), torch.ones(4)]
    groups = torch.optim.Optimizer._group_tensors_by_device_and_dtype([tensors], with_indices=True)
    assert {key[1]: indices for key, (_, indices) in groups.items()} == {torch.float32: [0, 2], torch.float64: [1]}


def test_dynamo_optimize_is_compile():
    @torch._dynamo.optimize("eager", nopython=True)
    def double(x):
        return x * 2

    assert double(torch.tensor(3)).item() == 6


def test_a_choice_of_the_code_generator_is_its_function():
    from shim_torch._inductor.select_algorithm import ExternKernelChoice

    choice = ExternKernelChoice(torch.add, "at::add", has_out_variant=False)
    assert choice.to_callable() is torch.add and choice.name == "add"
    with pytest.raises(NotImplementedError, match="there is no compiler"):
        choice.bind((), None)


def test_the_spec_of_a_spread_tensor():
    from shim_torch.distributed._tensor.placement_types import DTensorSpec, Replicate, Shard, TensorMeta

    spec = DTensorSpec("mesh", [Shard(1), Replicate()], TensorMeta(torch.Size([2, 3]), (3, 1), torch.float32))
    assert spec.dim_map == [-1, 0] and spec.ndim == 2 and spec.shape == (2, 3) and not spec.is_replicated()
    with pytest.raises(ValueError, match="tensor_meta is not set"):
        DTensorSpec("mesh", (Replicate(),)).shape


def test_launching_one_worker_from_python():
    from shim_torch.distributed import launcher

    before = dict(os.environ)
    config = launcher.LaunchConfig(
        1, 1, 1, run_id="job", rdzv_backend="c10d", rdzv_endpoint="localhost:0", max_restarts=0, start_method="fork"
    )
    found = launcher.elastic_launch(config, lambda x: (x, os.environ["RANK"], os.environ["TORCHELASTIC_RUN_ID"]))(7)
    assert found == {0: (7, "0", "job")} and dict(os.environ) == before
    assert launcher.launch_agent(config, "true", []) == {0: None}
    config.rdzv_backend = "etcd"
    with pytest.raises(NotImplementedError, match="the rendezvous backend etcd"):
        launcher.elastic_launch(config, print)()


def test_attention_over_a_mesh_of_one_device():
    from shim_torch.distributed.tensor import experimental
    from shim_torch.distributed.tensor.experimental._attention import set_rotate_method

    class Mesh:
        def __init__(self, n):
            self.size = lambda: n

    with experimental.context_parallel(Mesh(1), buffers=[torch.zeros(2)], buffer_seq_dims=[0]):
        pass
    with (
        pytest.raises(ValueError, match="must have the same number"),
        experimental.context_parallel(Mesh(1), buffers=[1]),
    ):
        pass
    with pytest.raises(NotImplementedError, match="several devices"), experimental.context_parallel(Mesh(2)):
        pass
    set_rotate_method("allgather")
    set_rotate_method("alltoall")
    with pytest.raises(NotImplementedError, match="does not support using ring"):
        set_rotate_method("ring")


def test_clipping_of_a_library_is_not_recorded():
    from shim_torch.nn.utils import clip_grad

    @clip_grad._no_grad
    def halved(x):
        return x / 2

    x = torch.ones(2, requires_grad=True)
    assert not halved(x).requires_grad and (x / 2).requires_grad and halved.__name__ == "halved"


def test_pipes_travel_as_bytes():
    from shim_torch.utils.data.datapipes import datapipe
    from shim_torch.utils.data.datapipes.iter import IterableWrapper
    from shim_torch.utils.data.datapipes.map import SequenceWrapper

    again = pickle.loads(pickle.dumps(datapipe._IterDataPipeSerializationWrapper(IterableWrapper([3, 4]))))
    assert list(again) == [3, 4] and len(again) == 2
    again = pickle.loads(pickle.dumps(datapipe._MapDataPipeSerializationWrapper(SequenceWrapper([3, 4]))))
    assert again[1] == 4
    with pytest.raises(TypeError, match="instance doesn't have valid length"):
        len(datapipe._IterDataPipeSerializationWrapper(IterableWrapper(iter([1]))))


def test_sizes_as_tensors():
    from shim_torch.onnx.operators import reshape_from_tensor_shape, shape_as_tensor

    x = torch.arange(6).reshape(2, 3)
    assert shape_as_tensor(x).tolist() == [2, 3]
    assert reshape_from_tensor_shape(x, torch.tensor([3, 2])).tolist() == [[0, 1], [2, 3], [4, 5]]


def test_shards_are_cut_as_chunks():
    from shim_torch.distributed.tensor import Shard

    x = torch.arange(7)
    for parts in (1, 2, 3, 5, 7):
        pieces = x.chunk(parts)
        for rank in range(parts):
            size, start = Shard.local_shard_size_and_offset(7, parts, rank)
            expected = pieces[rank].tolist() if rank < len(pieces) else []
            assert x[start : start + size].tolist() == expected and 0 <= start <= 7
    assert Shard(0)._local_shard_size_and_offset(7, 3, 2) == (1, 6)


def test_switches_of_fusers_are_kept():
    before = torch._C._jit_can_fuse_on_cpu()
    torch._C._jit_override_can_fuse_on_cpu(not before)
    assert torch._C._jit_can_fuse_on_cpu() is not before
    torch._C._jit_override_can_fuse_on_cpu(before)
