"""Operators of ``torch.library``: whose kernel is called, who sees the call, and what compiled functions make of it."""

import logging

import numpy as np
import pytest

import shim_torch as torch
from shim_torch.utils._python_dispatch import TorchDispatchMode


class Passing(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


def adding(name, by):
    def body(x: torch.Tensor) -> torch.Tensor:
        return torch.from_numpy(x.detach().numpy() + by)

    return torch.library.custom_op(name, body, mutates_args=())


def test_libraries_take_their_kernels_back_in_any_order():
    base = torch.library.Library("ops_of_libs", "FRAGMENT")
    base.define("order(Tensor x) -> Tensor")
    first, second = (torch.library.Library("ops_of_libs", "FRAGMENT") for _ in range(2))
    first.impl("order", lambda x: x + 1, "CPU")
    second.impl("order", lambda x: x + 2, "CPU")
    call, zero = torch.ops.ops_of_libs.order, torch.zeros(1)
    assert call(zero).item() == 2
    first._destroy()
    assert call(zero).item() == 2
    second._destroy()
    with pytest.raises(NotImplementedError, match="Could not run 'ops_of_libs::order'"):
        call(zero)
    base._destroy()


def test_rules_of_dispatch_go_by_the_operators_name():
    plus = adding("ops_of_libs::ruled", 1)
    seen = []

    def rule(owner, func, types, args, kwargs):
        seen.append(type(owner).__name__ if isinstance(owner, Passing) else owner.__name__)
        return torch.full((1,), 7.0)

    x = torch.zeros(1)
    with torch.library._scoped_library("ops_of_libs", "FRAGMENT") as library:
        library._register_torch_dispatch_rule("ruled", Passing, rule)
        with Passing():
            assert plus(x).item() == 7
    with Passing():
        assert plus(x).item() == 1  # the library took its rule back
    torch.library.register_torch_dispatch(plus, Passing, rule)
    with Passing():
        assert plus(x).item() == 7

    class Wrapper(torch.Tensor):
        __torch_dispatch__ = classmethod(lambda cls, func, types, args=(), kwargs=None: x)

    torch.library.register_torch_dispatch("ops_of_libs::ruled", Wrapper, rule)
    plus(torch.Tensor._make_wrapper_subclass(Wrapper, (2,)))
    assert seen == ["Passing", "Passing", "Wrapper"]


def test_without_tensors_the_device_chooses_the_kernel():
    @torch.library.custom_op("ops_of_libs::made", mutates_args=(), device_types="cpu")
    def made(device: torch.device) -> torch.Tensor:
        return torch.ones(1)

    assert made("cpu").item() == 1
    for device in ("cuda", "meta"):
        with pytest.raises(RuntimeError, match=f"made does not have a kernel registered for {device}. Please use"):
            made(device)


def test_switches_of_kernels_say_what_they_do_not_change(caplog):
    plus = adding("ops_of_libs::switched", 1)
    x = torch.zeros(1)
    with caplog.at_level(logging.WARNING, "torch._library.custom_ops"):
        with plus.set_kernel_enabled("cuda", enabled=False):
            assert plus(x).item() == 1
        plus.register_kernel("cpu")(lambda x: x + 2)
        with plus.set_kernel_enabled("cpu"), plus.set_kernel_enabled("cpu", enabled=False):
            assert plus(x).item() == 1
            with plus.set_kernel_enabled("cpu", enabled=False):
                assert plus(x).item() == 1
            assert plus(x).item() == 1
    assert plus(x).item() == 2
    assert [r.getMessage().split(" but ")[1] for r in caplog.records] == [
        "no kernel was registered for this device type.",
        "it was already enabled.",
        "it was already disabled.",
    ]


def test_rules_of_vmap_take_no_tensors_by_keyword_alone():
    with torch.library._scoped_library("ops_of_libs", "FRAGMENT") as library:
        library.define("kw(Tensor x, *, Tensor y) -> Tensor")
        with pytest.raises(NotImplementedError, match="register_vmap with kwarg-only Tensor args"):
            torch.library.register_vmap("ops_of_libs::kw", lambda info, in_dims, x, *, y: (x, 0))


def test_functions_of_torch_name_torch_and_ask_for_overrides():
    class Like:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func.__name__, func.__module__

    a = Like()
    names = "sym_int sym_float sym_not native_norm"
    assert [getattr(torch, n)(a) for n in names.split()] == [(n, "torch") for n in names.split()]
    assert torch.sym_max(a, 1) == ("sym_max", "torch") and torch.sym_sum([1, a]) == ("sym_sum", "torch")
    assert torch.dsmm(a, a) == ("dsmm", "torch") and torch.sym_ite(True, a, a) == ("sym_ite", "torch")
    assert torch.FloatStorage is torch.ones(1).storage_type()


@pytest.mark.filterwarnings("ignore:Sparse invariant checks")
def test_masks_projected_onto_sparse_entries():
    mask = torch.sparse_coo_tensor([[0, 1, 1], [1, 0, 2]], [1.0, 2.0, 3.0], (2, 3))
    t = torch.sparse_coo_tensor([[0, 0, 1, 1], [1, 1, 2, 1]], [5.0, 6.0, 7.0, 9.0], (2, 3))
    assert t._sparse_mask_projection(mask)._values().tolist() == [5, 6, 7, 0]
    assert t._sparse_mask_projection(t, True)._values().tolist() == [10, 12, 7, 9]
    with pytest.raises(RuntimeError, match="_sparse_mask_projection.*incompatible sizes"):
        t._sparse_mask_projection(torch.sparse_coo_tensor([[0], [1]], [1.0], (2, 4)))
    assert np.array_equal(mask._sparse_mask_projection(t).to_dense(), [[0, 1, 0], [0, 0, 3]])
