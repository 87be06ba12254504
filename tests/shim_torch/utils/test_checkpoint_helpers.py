"""What libraries that write their own checkpointing take from torch.utils.checkpoint, and small names beside it."""

import shim_torch as torch
from shim_torch import _dynamo, _environment
from shim_torch.utils import checkpoint


def test_autocast_as_it_stands():
    device, cpu = checkpoint._get_autocast_kwargs("cpu")
    assert device == cpu == {"enabled": False, "dtype": torch.bfloat16, "cache_enabled": True}
    with torch.autocast("cpu", dtype=torch.float16, cache_enabled=False):
        device, cpu = checkpoint._get_autocast_kwargs("cuda")
    assert cpu == {"enabled": True, "dtype": torch.float16, "cache_enabled": False}
    assert device == {"enabled": False, "dtype": torch.float16, "cache_enabled": False}


def test_modules_of_devices():
    assert checkpoint._get_device_module("cpu") is torch.cpu and checkpoint._get_device_module() is torch.cuda
    assert checkpoint._get_device_module("meta") == torch.device("meta")


def test_small_names():
    assert torch.legacy_contiguous_format is torch.contiguous_format
    assert _environment.is_fbcode() is False and _dynamo.reset_code_caches() is None
    assert torch.cpu._is_vnni_supported() == torch.cpu.get_capabilities()["avx512_vnni"]
