"""Small names that libraries ask for: torchvision, timm, transformers, lightning, unsloth_zoo."""

import pytest

import shim_torch as torch


def test_deterministic_alerts():
    from shim_torch._prims_common import alert_not_deterministic

    alert_not_deterministic("f")
    torch.use_deterministic_algorithms(True)
    try:
        with pytest.raises(
            RuntimeError, match=r"f does not have a deterministic implementation, but you set 'torch\.use"
        ):
            alert_not_deterministic("f")
        torch.use_deterministic_algorithms(True, warn_only=True)
        with pytest.warns(UserWarning, match="f does not have a deterministic implementation"):
            alert_not_deterministic("f")
    finally:
        torch.use_deterministic_algorithms(False)


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


def test_the_schedule_of_a_profiler_without_one():
    from shim_torch.profiler import ProfilerAction
    from shim_torch.profiler.profiler import _default_schedule_fn

    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as found:
        assert found.schedule is _default_schedule_fn and _default_schedule_fn(7) is ProfilerAction.RECORD
