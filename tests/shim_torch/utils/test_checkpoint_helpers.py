"""What libraries that write their own checkpointing take from torch.utils.checkpoint, and small names beside it."""

import pytest

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


def test_checkpoint_in_two_steps():
    """The generator that distributed checkpoints and unsloth_zoo drive themselves: what runs between its steps is recomputed."""
    from shim_torch.utils.checkpoint import _checkpoint_without_reentrant_generator

    calls = []

    def square_sines(x):
        calls.append(len(calls))
        return x.sin().square()

    x = torch.tensor([0.5, 2.0], requires_grad=True)
    steps = _checkpoint_without_reentrant_generator(
        square_sines, True, checkpoint.noop_context_fn, "default", False, True, x
    )
    next(steps)
    y = square_sines(x)
    with pytest.raises(StopIteration):
        next(steps)
    y.sum().backward()
    assert calls == [0, 1]
    torch.testing.assert_close(x.grad, (2 * x).sin().detach())


def test_an_error_of_the_first_pass_comes_out():
    def fails(x):
        raise KeyError("first pass")

    with pytest.raises(KeyError, match="first pass"):
        checkpoint.checkpoint(fails, torch.ones(2, requires_grad=True), use_reentrant=False)


def test_names_of_typing():
    import typing

    from shim_torch.utils.checkpoint import ContextManager

    assert ContextManager is typing.ContextManager and not hasattr(checkpoint, "no_such_name")
