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


def test_selective_passes_answer_by_call():
    sin, x = torch.ops.aten.sin.default, torch.ones(2)
    first, second = checkpoint.create_selective_checkpoint_contexts([sin])
    with first:
        kept, other = x.sin(), x.exp()
    with second:
        assert x.sin().data_ptr() == kept.data_ptr() and x.exp().data_ptr() != other.data_ptr()
        with pytest.raises(
            RuntimeError, match="aten.cos.default encountered during backward but not found in storage. This can"
        ):
            x.cos()
        with pytest.raises(RuntimeError, match="aten.sin.default invocation index 1 encountered during backward"):
            x.sin()
    with second, pytest.raises(RuntimeError, match="Trying to backward an extra time."):
        x.sin()
    for mutable in (False, True):
        first, second = checkpoint.create_selective_checkpoint_contexts([sin], mutable)
        with first:
            kept = x.sin()
        kept.add_(1)
        with second:
            if mutable:
                assert x.sin().data_ptr() == kept.data_ptr()
                continue
            with pytest.raises(
                RuntimeError, match="Tensor cached during selective activation checkpoint has been mutated"
            ):
                x.sin()


def test_policies_and_arguments_that_are_refused():
    for policy, error, text in [
        ([3], ValueError, "Expected op in `op_list` to be an OpOverload but got: 3 of type <class 'int'>. $"),
        ([torch.ops.aten.mm], ValueError, "Please update the OpOverloadPacket to a specific OpOverload."),
        (3, TypeError, "policy_fn_or_list must be either a function or a list of ops."),
    ]:
        with pytest.raises(error, match=text):
            checkpoint.create_selective_checkpoint_contexts(policy)
    x = torch.ones(2, requires_grad=True)
    for named, text in [
        ({"foo": 1, "bar": 2}, "Unexpected keyword arguments: foo,bar"),
        ({"debug": 0}, "`context_fn` or `debug`"),
    ]:
        with pytest.raises(ValueError, match=text):
            checkpoint.checkpoint(torch.sin, x, use_reentrant=True, **named)
    with pytest.raises(ValueError, match="Unexpected keyword arguments: foo"):
        checkpoint.checkpoint_sequential([torch.sin], 1, x, use_reentrant=False, foo=1)


@pytest.mark.parametrize(
    ("layers", "segments", "again"), [(5, 2, [0, 1]), (5, 3, [1, 0]), (5, 1, []), (4, 4, [2, 1, 0])]
)
def test_all_parts_but_the_last_run_again(layers, segments, again):
    ran = []

    def layer(i):
        return lambda x: (ran.append(i), x * x)[1]

    x = torch.ones(2, requires_grad=True)
    y = checkpoint.checkpoint_sequential([layer(i) for i in range(layers)], segments, x, use_reentrant=True)
    y.sum().backward()
    assert ran == [*range(layers), *again] and x.grad.tolist() == [2.0**layers] * 2
