"""The optimizer base class: hooks, names, loading states, and what it refuses, in PyTorch's words."""

from __future__ import annotations

import copy

import pytest

import shim_torch as torch


def made(cls="SGD", **settings):
    p = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
    return p, getattr(torch.optim, cls)([p], **settings)


def test_hooks_of_the_state_dict_in_order():
    p, optimizer = made(lr=0.1, momentum=0.9)
    seen = []
    optimizer.register_state_dict_pre_hook(lambda o: seen.append("pre"))
    optimizer.register_state_dict_pre_hook(lambda o: seen.append("first"), prepend=True)
    optimizer.register_state_dict_post_hook(lambda o, d: {**d, "more": 1})
    found = optimizer.state_dict()
    assert seen == ["first", "pre"] and found["more"] == 1
    _, other = made(lr=0.5)
    other.register_load_state_dict_pre_hook(lambda o, d: {k: v for k, v in d.items() if k != "more"})
    handle = other.register_load_state_dict_post_hook(lambda o: seen.append(o.param_groups[0]["lr"]))
    other.load_state_dict(found)
    handle.remove()
    other.load_state_dict(found)
    assert seen == ["first", "pre", 0.1]


def test_step_hooks_must_give_nothing_or_a_pair():
    p, optimizer = made()
    optimizer.register_step_pre_hook(lambda o, args, kwargs: 3)
    with pytest.raises(RuntimeError, match="must return None or a tuple of \\(new_args, new_kwargs\\), but got 3"):
        optimizer.step()


def test_step_assigned_after_the_class_was_made_runs_hooks():
    class Mine(torch.optim.Optimizer):
        pass

    Mine.step = lambda self, closure=None: "stepped"
    optimizer = Mine([torch.nn.Parameter(torch.zeros(1))], {})
    seen = []
    optimizer.register_step_post_hook(lambda o, args, kwargs: seen.append(1))
    assert optimizer.step() == "stepped" and seen == [1]


def test_a_copy_keeps_state_without_hooks():
    p, optimizer = made("Adam", lr=0.1)
    p.grad = torch.ones(2)
    optimizer.register_step_pre_hook(lambda o, args, kwargs: None)
    optimizer.step()
    again = copy.deepcopy(optimizer)
    assert not again._optimizer_step_pre_hooks
    assert again.state_dict()["state"][0]["step"].item() == 1.0
    assert repr(again) == repr(optimizer)


def test_parameter_names():
    p, q = (torch.nn.Parameter(torch.zeros(1)) for _ in range(2))
    optimizer = torch.optim.SGD([("p", p)])
    assert optimizer.state_dict()["param_groups"][0]["param_names"] == ["p"]
    with pytest.raises(
        ValueError,
        match="^all optimizer param groups should be with/without names. cannot add param group without names to the optimizer$",
    ):
        optimizer.add_param_group({"params": [q]})
    with pytest.raises(
        ValueError, match="^all optimizer params should be with/without names. Some param names are missing$"
    ):
        torch.optim.SGD([("p", p), q])
    old = torch.optim.SGD([p]).state_dict()
    optimizer.load_state_dict(old)
    assert optimizer.param_groups[0]["param_names"] == ["p"]


def test_states_of_older_files_are_completed():
    p, optimizer = made("Adam")
    p.grad = torch.ones(2)
    optimizer.step()
    old = copy.deepcopy(optimizer.state_dict())
    for name in ("maximize", "foreach", "capturable", "differentiable", "fused", "decoupled_weight_decay"):
        del old["param_groups"][0][name]
    old["state"][0]["step"] = 1
    optimizer.load_state_dict(old)
    group = optimizer.param_groups[0]
    assert group["foreach"] is None and group["maximize"] is False
    step = optimizer.state[p]["step"]
    assert step.dtype == torch.float32 and step.item() == 1.0
    optimizer.step()


@pytest.mark.parametrize(
    ("cls", "settings", "error", "text"),
    [
        ("SGD", {"lr": torch.tensor([1e-3, 1e-3])}, ValueError, "Tensor lr must be 1-element"),
        ("Adam", {"lr": torch.tensor(0.1), "foreach": True}, ValueError, "lr as a Tensor is not supported for capturable=False and foreach=True"),
        ("AdamW", {"betas": (0.9, torch.tensor(0.99))}, ValueError, "betas must be either both floats or both Tensors"),
        ("Adam", {"betas": (torch.tensor(0.9), torch.tensor(0.99)), "foreach": True}, ValueError, "betas[0] as a Tensor is not supported for capturable=False and foreach=True"),
        ("Adam", {"fused": True, "foreach": True}, RuntimeError, "`fused` and `foreach` cannot be `True` together."),
        ("SGD", {"fused": True, "differentiable": True}, RuntimeError, "`fused` does not support `differentiable`"),
    ],
)  # fmt: skip
def test_settings_refused(cls, settings, error, text):
    with pytest.raises(error) as caught:
        made(cls, **settings)
    assert str(caught.value) == text


def test_params_refused():
    with pytest.raises(TypeError, match="an iterable of Tensors or dicts, but got torch.FloatTensor$"):
        torch.optim.SGD(torch.nn.Parameter(torch.zeros(2)))
    p = torch.nn.Parameter(torch.zeros(2, dtype=torch.complex64))
    p.grad = torch.zeros(2, dtype=torch.complex64)
    with pytest.raises(RuntimeError, match="requires all the params to be floating point Tensors of supported devices"):
        torch.optim.Adam([p], fused=True).step()
    with pytest.raises(RuntimeError, match="^Adafactor does not support complex parameters$"):
        torch.optim.Adafactor([p]).step()
    q = torch.nn.Parameter(torch.zeros(2))
    q.grad = torch.ones(2)
    with pytest.raises(
        AssertionError, match="^If capturable=True, params and state_steps must be on supported devices"
    ):
        torch.optim.Adam([q], capturable=True).step()


@pytest.mark.parametrize("cls", ["Adam", "AdamW", "NAdam", "RAdam", "Adamax", "ASGD", "RMSprop", "SGD", "Adagrad"])
def test_gradients_flow_through_a_differentiable_step(cls):
    """d(loss after one step)/d(lr), against a difference of two steps."""

    def after(rate):
        p = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64, requires_grad=True)
        w = p.clone()
        w.grad = torch.tensor([0.3, -0.2, 0.9], dtype=torch.float64)
        optimizer = getattr(torch.optim, cls)([w], lr=rate, differentiable=True)
        optimizer.step()
        return (w**2).sum()

    rate = torch.tensor(0.1, dtype=torch.float64, requires_grad=cls != "ASGD")
    loss = after(rate)
    if cls == "ASGD":  # its rate is a number of its state
        assert loss.requires_grad
        return
    (found,) = torch.autograd.grad(loss, rate)
    difference = (after(0.1 + 1e-5) - after(0.1 - 1e-5)) / 2e-5
    assert abs(found.item() - difference.item()) < 1e-3 * max(1.0, abs(difference.item()))


def test_state_keeps_the_memory_format():
    p = torch.nn.Parameter(torch.zeros(2, 3, 4, 4).contiguous(memory_format=torch.channels_last))
    p.grad = torch.ones(2, 3, 4, 4)
    optimizer = torch.optim.Adam([p])
    optimizer.step()
    assert optimizer.state[p]["exp_avg"].is_contiguous(memory_format=torch.channels_last)


def test_swalr_wants_a_rate_a_group():
    _, optimizer = made()
    with pytest.raises(ValueError, match="^swa_lr must have the same length as optimizer.param_groups"):
        torch.optim.swa_utils.SWALR(optimizer, swa_lr=[0.1, 0.2])


def test_names_that_other_optimizers_import():
    from shim_torch.optim import optimizer

    assert optimizer._get_value(torch.tensor(2.0)) == 2.0
    assert optimizer._default_to_fused_or_foreach([torch.zeros(1)], differentiable=False) == (False, False)
    grouped = optimizer._group_tensors_by_device_and_dtype([[torch.zeros(1), torch.zeros(1, dtype=torch.int64)]], True)
    assert [v[1] for v in grouped.values()] == [[0], [1]]
    assert optimizer._dispatch_sqrt(4.0) == 2.0
    params = [torch.zeros(2, dtype=torch.complex64)]
    optimizer._view_as_real(params)
    assert params[0].shape == (2, 2)
