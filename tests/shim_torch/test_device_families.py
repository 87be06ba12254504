"""torch.xpu and its like, torch.accelerator, torch.cpu, device modes, torch.distributed of one process."""

import pytest

import shim_torch as torch


@pytest.mark.parametrize("name", ["xpu", "mps", "mtia"])
def test_absent_families_answer_and_refuse(name):
    family = getattr(torch, name)
    assert family.is_available() is False
    assert family.device_count() == 0
    with pytest.raises(RuntimeError, match=f"torch.{name}.synchronize"):
        family.synchronize()


def test_device_as_context_and_decorator():
    from shim_torch.utils._device import set_device

    with torch.device("meta"):
        assert torch.ones(2).device.type == "meta"
        assert torch.tensor([1, 2]).device.type == "meta"
        assert torch.get_default_device().type == "meta"

    @set_device("meta")
    def make():
        return torch.zeros(3)

    assert make().device.type == "meta"
    assert torch.ones(1).device.type == "cpu"
    with pytest.raises(RuntimeError, match="Cannot decorate classes"):
        set_device("meta")(int)
    assert not callable(torch.device("meta"))  # libraries tell functions from devices so (tvm_ffi)


def test_copies_to_meta_keep_the_layout_and_none_come_back():
    t = torch.ones(2, 3).t()
    assert t.to("meta").stride() == (1, 3)
    assert t.to(torch.float64).stride() == (1, 3)
    with pytest.raises(NotImplementedError, match="Cannot copy out of meta tensor; no data!"):
        t.to("meta").to("cpu")


def test_a_group_of_one_process():
    dist = torch.distributed
    assert not dist.is_initialized()
    with pytest.raises(ValueError, match="Default process group has not been initialized"):
        dist.get_rank()
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        t = torch.tensor([1.0, 2.0])
        dist.all_reduce(t)
        parts = [torch.zeros(2)]
        dist.all_gather(parts, t)
        assert (dist.get_rank(), dist.get_world_size(), parts[0].tolist()) == (0, 1, [1.0, 2.0])
    finally:
        dist.destroy_process_group()
    assert not isinstance(torch.ones(1), torch.distributed.tensor.DTensor)


def test_the_old_constructors():
    assert torch.Tensor(2, 3).shape == (2, 3)
    assert torch.Tensor([1, 2]).dtype is torch.float32
    assert torch.LongTensor([1.5]).tolist() == [1]
    assert isinstance(torch.ones(2), torch.FloatTensor)
    assert not isinstance(torch.ones(2, dtype=torch.int64), torch.FloatTensor)
    assert torch.ones(2).type() == "torch.FloatTensor"
    assert torch.ones(2).type("torch.LongTensor").dtype is torch.int64
    with pytest.raises(TypeError, match=r"new\(\): data must be a sequence \(got float\)"):
        torch.Tensor(2.5)
    with pytest.raises(RuntimeError, match="expects device type: cpu but device type: meta"):
        torch.Tensor([1], device="meta")

    class Mine(torch.Tensor):
        pass

    assert type(Mine([1.0])) is Mine


def test_classes_of_absent_devices():
    for name in ("Event", "Stream", "device"):
        assert not isinstance(1, getattr(torch.xpu, name))
        with pytest.raises(RuntimeError, match=f"torch.xpu.{name}: there is no XPU device"):
            getattr(torch.xpu, name)()
    assert torch.autograd.DeviceType.CUDA == 1
    assert torch.cuda.get_sync_debug_mode() == 0
    torch.cuda.set_sync_debug_mode("default")
    with pytest.raises(NotImplementedError, match="set_sync_debug_mode"):
        torch.cuda.set_sync_debug_mode("warn")
