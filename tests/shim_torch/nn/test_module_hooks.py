"""Hooks of modules: the old backward hooks, hooks of all modules, hooks that keep no module alive."""

import gc
import pickle
import weakref
from collections import namedtuple

import pytest

import shim_torch as torch
from shim_torch import nn
from shim_torch.nn.modules import module as hooks_of_all


def note(*args):
    pass


def test_old_backward_hooks_run_with_the_last_node():
    seen = []
    layer = nn.Linear(2, 3)
    layer.register_backward_hook(lambda m, gi, go: seen.append((len(gi), [g.shape for g in go])))
    with pytest.raises(
        RuntimeError, match="Cannot use both regular backward hooks and full backward hooks on a single Module"
    ):
        layer.register_full_backward_hook(note)
    x = torch.ones(1, 2, requires_grad=True)
    with pytest.warns(FutureWarning, match="when the forward contains multiple autograd Nodes is deprecated"):
        layer(x).sum().backward()
    assert len(seen) == 1 and seen[0][1] == [(1, 3)]


def test_hooks_of_all_modules_come_first_and_go():
    order = []
    layer = nn.Sigmoid()
    layer.register_forward_hook(lambda m, a, r: order.append("own"))
    handles = [
        hooks_of_all.register_module_forward_hook(lambda m, a, k, r: order.append(("all", k)), with_kwargs=True),
        hooks_of_all.register_module_full_backward_pre_hook(lambda m, g: (g[0] * 2,)),
        hooks_of_all.register_module_full_backward_hook(lambda m, gi, go: order.append("backward")),
    ]
    try:
        x = torch.zeros(2, requires_grad=True)
        layer(x).sum().backward()
        assert order == [("all", {}), "own", "backward"] and x.grad.tolist() == [0.5, 0.5]
        with pytest.raises(RuntimeError, match="as a global Module hook. Please use only one of them"):
            hooks_of_all.register_module_backward_hook(note)
    finally:
        for h in handles:
            h.remove()
        hooks_of_all._global_is_full_backward_hook = None
    layer(x)
    assert order[3:] == ["own"] and not hooks_of_all._global_forward_hooks_with_kwargs


def test_a_forward_hook_that_is_always_called_sees_failures():
    class Fails(nn.Module):
        def forward(self, x):
            raise ValueError("no")

    seen = []
    handle = hooks_of_all.register_module_forward_hook(lambda m, a, r: seen.append(r), always_call=True)
    try:
        with pytest.raises(ValueError, match="no"):
            Fails()(1)
    finally:
        handle.remove()
    assert seen == [None]


def test_full_hooks_without_gradients_of_inputs():
    layer = nn.Linear(2, 1)
    layer.register_full_backward_hook(lambda m, gi, go: (torch.ones(1),))
    with pytest.raises(RuntimeError, match="where no input requires gradient should always return None"):
        layer(torch.ones(1, 2)).sum().backward()

    class Second(nn.Module):
        def forward(self, a, b):
            assert a.requires_grad and not b.requires_grad
            return a * b

    m = Second()
    m.register_full_backward_hook(note)
    m(torch.ones(1, requires_grad=True), torch.ones(1)).backward()


def test_loading_hooks_are_pickled_and_hold_no_module():
    layer = nn.Linear(2, 2)
    layer._register_load_state_dict_pre_hook(note, True)
    again = pickle.loads(pickle.dumps(next(iter(layer._load_state_dict_pre_hooks.values())).hook))
    assert again is note
    ref = weakref.ref(layer)
    gc.disable()
    try:
        del layer
        assert ref() is None
    finally:
        gc.enable()


Pair = namedtuple("Pair", "a b")


def test_hooks_keep_named_tuples_and_run_always():
    class Two(nn.Module):
        def forward(self, x):
            return Pair(x * 2, x * 3)

    net, seen = Two(), []
    net.register_full_backward_hook(lambda m, i, o: seen.append("backward"))
    out = net(torch.ones(1, requires_grad=True))
    assert type(out) is Pair
    out.a.sum().backward()

    def fail(*_):
        raise RuntimeError("in hook")

    net.register_forward_pre_hook(fail)
    net.register_forward_hook(lambda m, i, o: seen.append("always"), always_call=True)
    net.register_forward_hook(fail, always_call=True)
    with pytest.raises(RuntimeError, match="in hook"), pytest.warns(UserWarning, match="silenced as another error"):
        net(torch.ones(1))
    assert seen == ["backward", "always"]


def test_hooks_that_return_what_they_may_not():
    net = nn.Linear(1, 1)
    net.register_state_dict_post_hook(lambda *a: {})
    with pytest.raises(RuntimeError, match="^state_dict post-hook must return None$"):
        net.state_dict()

    def short(grad_input, grad_output):
        return grad_input[:-1]

    y = torch.ones(1, requires_grad=True).sigmoid()
    y.grad_fn.register_hook(short)
    with pytest.raises(
        RuntimeError, match="hook 'short' has returned an incorrect number of values \\(got 0, but expected 1\\)"
    ):
        y.backward()


def test_a_hook_without_gradients_of_inputs_warns():
    seen, layer = [], torch.nn.Linear(1, 1)
    layer.register_full_backward_hook(lambda module, grad_input, grad_output: seen.append(grad_input))
    with pytest.warns(
        UserWarning, match="^Full backward hook is firing when gradients are computed with respect to module out"
    ):
        layer(torch.ones(1)).sum().backward()
    assert seen == [(None,)]
