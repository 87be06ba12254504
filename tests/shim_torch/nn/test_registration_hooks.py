"""Process-wide hooks of modules and optimizers; the functions that __torch_function__ sees."""

from __future__ import annotations

import inspect
import pickle
from collections import OrderedDict

import shim_torch as torch
from shim_torch.nn.modules import module as m
from shim_torch.optim import optimizer as o


def test_registration_hooks():
    seen = []
    handles = [
        m.register_module_parameter_registration_hook(lambda mod, name, p: seen.append(("p", name))),
        m.register_module_module_registration_hook(lambda mod, name, c: seen.append(("m", name))),
        m.register_module_buffer_registration_hook(lambda mod, name, b: seen.append(("b", name))),
    ]
    try:
        torch.nn.Sequential(torch.nn.BatchNorm1d(2, affine=False), torch.nn.Linear(2, 1, bias=False))
    finally:
        for h in handles:
            h.remove()
    assert ("p", "weight") in seen
    assert ("b", "running_mean") in seen
    assert [x for x in seen if x[0] == "m"] == [("m", "0"), ("m", "1")]
    count = len(seen)
    torch.nn.Linear(1, 1)
    assert len(seen) == count


def test_a_hook_may_replace_the_parameter():
    other = torch.nn.Parameter(torch.zeros(1, 1))
    with m.register_module_parameter_registration_hook(lambda mod, name, p: other if name == "weight" else None):
        layer = torch.nn.Linear(1, 1)
    assert layer.weight is other


def test_forward_hooks_of_all_modules():
    seen = []
    with m.register_module_forward_hook(lambda mod, args, out: seen.append(type(mod).__name__)):
        torch.nn.Sequential(torch.nn.ReLU())(torch.ones(1))
    assert seen == ["ReLU", "Sequential"]


def test_optimizer_hooks():
    p = torch.nn.Parameter(torch.ones(1))
    p.grad = torch.ones(1)
    seen = []
    before = o.register_optimizer_step_pre_hook(lambda opt, args, kwargs: seen.append("before"))
    after = o.register_optimizer_step_post_hook(lambda opt, args, kwargs: seen.append("after"))
    with before, after:
        torch.optim.SGD([p], lr=0.5).step()
    torch.optim.SGD([p], lr=0.5).step()
    assert seen == ["before", "after"]
    assert p.item() == 0.0


def test_handles_pickle():
    table = OrderedDict()
    handle = torch.utils.hooks.RemovableHandle(table)
    table[handle.id] = 1
    assert handle.__getstate__()[1] == handle.id
    assert torch.utils.hooks.RemovableHandle is type(torch.nn.Linear(1, 1).register_forward_hook(print))
    assert pickle.dumps(handle.__getstate__()[1])


def test_overridable_functions():
    found = torch.overrides.get_overridable_functions()
    assert torch.add in found[torch]
    assert torch.nn.functional.gelu in found[torch.nn.functional]
    overrides = torch.overrides.get_testing_overrides()
    assert overrides[torch.add](1, 2) == -1
    assert list(inspect.signature(overrides[torch.add]).parameters)[:2] == ["input", "other"]
    assert torch.add not in torch.overrides.get_ignored_functions()
    assert torch.is_tensor in torch.overrides.get_ignored_functions()


def test_the_tables_have_pytorchs_names():
    """tensordict reads them where it registers parameters itself."""
    handle = m.register_module_parameter_registration_hook(lambda mod, name, p: None)
    assert len(m._global_parameter_registration_hooks) == 1
    handle.remove()
    assert not m._global_parameter_registration_hooks and m._global_buffer_registration_hooks is not None
