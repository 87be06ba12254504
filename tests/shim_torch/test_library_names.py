"""Small names that libraries import: timm, kornia, open_clip, torchdata, vector-quantize-pytorch, torch-geometric."""

from __future__ import annotations

import pytest

import shim_torch as torch


def test_symbolic_numbers_are_types_of_nothing_here():
    assert not isinstance(3, torch.SymInt) and not isinstance(3.0, torch.SymFloat) and not isinstance(True, torch.SymBool)
    assert isinstance(3, (int, torch.SymInt))
    assert not torch._C._are_functorch_transforms_active()


def test_build_settings_are_a_text():
    assert "USE_MKL=OFF" in torch.__config__.show()
    assert "get_num_threads" in torch.__config__.parallel_info()


def test_names_of_weights_have_a_digest():
    from shim_torch.hub import HASH_REGEX, urlparse

    name = urlparse("https://a.test/models/resnet18-5c106cde.pth").path
    assert HASH_REGEX.search(name).group(1) == "5c106cde"


def test_an_exception_is_raised_elsewhere_with_its_traceback():
    from shim_torch._utils import ExceptionWrapper

    for kind in (ValueError, KeyError):
        try:
            raise kind("the reason")
        except kind:
            wrapped = ExceptionWrapper(where="in a thread")
        with pytest.raises(kind, match="in a thread") as caught:
            wrapped.reraise()
        assert "the reason" in str(caught.value)


def test_workers_seed_numpy_differently():
    from shim_torch.utils.data._utils.worker import _generate_state

    states = [_generate_state(seed, worker) for seed in (1, 2**40) for worker in (0, 1)]
    assert all(len(s) == 4 and s != t for i, s in enumerate(states) for t in states[:i])


def test_a_warning_is_given_once():
    from shim_torch._dynamo.utils import warn_once

    with pytest.warns(UserWarning, match="said once here"):
        warn_once("said once here")
    warn_once("said once here")  # warnings are errors under -W error only; nothing is raised or shown


def test_tuned_parameters_are_found_again():
    from shim_torch.sparse import _triton_ops_meta

    assert _triton_ops_meta.get_meta("op", (1, 2), "device", "v") is None
    _triton_ops_meta.update("op", "device", "v", (1, 2), {"GROUP_SIZE_ROW": 4})
    assert _triton_ops_meta.get_meta("op", (1, 2), "device", "v") == {"GROUP_SIZE_ROW": 4}


def test_an_implementation_by_library_and_name():
    library = torch.library.Library("library_names", "FRAGMENT")
    library.define("twice(Tensor x) -> Tensor")

    @torch.library.impl(library, "twice", "CPU")
    def twice(x):
        return x * 2

    assert twice(torch.ones(1)).item() == 2
    assert torch.ops.library_names.twice(torch.tensor([3.0])).item() == 6


def test_collectives_of_one_process_have_gradients(tmp_path):
    from shim_torch import distributed
    from shim_torch.distributed import nn as distributed_nn

    distributed.init_process_group("gloo", init_method=f"file://{tmp_path}/store", rank=0, world_size=1)
    try:
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        (distributed_nn.all_reduce(x) * 3).sum().backward()
        (distributed_nn.broadcast(x, 0) * 5).sum().backward()
        (part,) = distributed_nn.all_gather(x)
        (part * torch.tensor([1.0, 10.0])).sum().backward()
        assert x.grad.tolist() == [9, 18]
    finally:
        distributed.destroy_process_group()
