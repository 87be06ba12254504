"""Guards of the current GPU, which generated code writes: a negative index changes nothing and asks for no GPU."""

import pytest

import shim_torch as torch


def test_negative_indices_change_nothing():
    with torch.cuda._DeviceGuard(-1) as entered:
        assert entered is None
    assert torch.cuda._exchange_device(-1) == -1
    assert torch.cuda._maybe_exchange_device(-1) == -1


@pytest.mark.skipif(torch.cuda.is_available(), reason="needs a machine with no GPU")
def test_without_a_gpu_the_guard_says_so():
    with pytest.raises(RuntimeError), torch.cuda._DeviceGuard(0):
        pass
    with pytest.raises(RuntimeError):
        torch.cuda._exchange_device(0)


def test_a_guard_needs_an_index():
    with pytest.raises(TypeError, match="not supported between instances of 'NoneType' and 'int'"):
        with torch.cuda._DeviceGuard(None):
            pass


def test_whether_cuda_is_in_use_is_asked_by_an_attribute_too():
    """reformer-pytorch's reversible layers ask so before they keep the generators' states."""
    assert torch.cuda._initialized is torch.cuda.is_initialized()
