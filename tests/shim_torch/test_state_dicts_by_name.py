"""``torch.distributed.checkpoint.state_dict``: optimizers' state by parameters' names, loaded in another order."""

from __future__ import annotations

import pytest

import shim_torch as torch
from shim_torch.distributed.checkpoint import state_dict as by_name


def _module():
    return torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Linear(3, 1))


def _stepped(module, optimizer):
    module(torch.ones(4, 2)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()


@pytest.mark.parametrize("flat", [False, True])
def test_groups_in_another_order_get_their_own_state(flat):
    first = _module()
    weights, biases = [first[0].weight, first[1].weight], [first[0].bias, first[1].bias]
    saved = torch.optim.AdamW([{"params": weights, "lr": 0.5}, {"params": biases, "lr": 0.25}])
    _stepped(first, saved)
    options = by_name.StateDictOptions(flatten_optimizer_state_dict=flat)
    model_state, state = by_name.get_state_dict(first, saved, options=options)
    if flat:
        assert torch.equal(state["state.1.weight.exp_avg"], saved.state[first[1].weight]["exp_avg"])
        assert state["param_groups.0.bias.lr"] == 0.25
    else:
        assert [group["params"] for group in state["param_groups"]] == [["0.weight", "1.weight"], ["0.bias", "1.bias"]]

    second = _module()
    loaded = torch.optim.AdamW(
        [{"params": [second[1].bias, second[0].bias]}, {"params": [second[1].weight, second[0].weight]}]
    )
    found = by_name.set_state_dict(
        second, loaded, model_state_dict=model_state, optim_state_dict=state, options=options
    )
    assert not found.missing_keys and not found.unexpected_keys
    assert [group["lr"] for group in loaded.param_groups] == [0.25, 0.5]
    for mine, theirs in zip(second.parameters(), first.parameters(), strict=True):
        assert torch.equal(mine, theirs)
        assert torch.equal(loaded.state[mine]["exp_avg"], saved.state[theirs]["exp_avg"])


def test_an_optimizer_without_steps_gets_its_state_and_nothing_moves():
    module = _module()
    before = [p.detach().clone() for p in module.parameters()]
    optimizer = torch.optim.Adam(module.parameters(), lr=0.5)
    state = by_name.get_optimizer_state_dict(module, optimizer)
    assert sorted(state["state"]) == ["0.bias", "0.weight", "1.bias", "1.weight"]
    assert not state["state"]["0.weight"]["exp_avg"].any() and optimizer.param_groups[0]["lr"] == 0.5
    assert all(map(torch.equal, before, module.parameters())) and all(p.grad is None for p in module.parameters())


def test_a_parameter_without_saved_state():
    module = _module()
    optimizer = torch.optim.Adam(module.parameters())
    state = by_name.get_optimizer_state_dict(module, optimizer)
    del state["state"]["1.bias"]
    with pytest.raises(RuntimeError, match="Missing optimizer state for parameter '1.bias' in checkpoint"):
        by_name.set_optimizer_state_dict(module, optimizer, state)
    by_name.set_optimizer_state_dict(module, optimizer, state, options=by_name.StateDictOptions(strict=False))
    assert module[1].bias not in optimizer.state and module[0].bias in optimizer.state


def test_submodules_and_compiled_names():
    module = _module()
    found = by_name.get_model_state_dict(torch.compile(module), submodules={module[1]})
    assert sorted(found) == ["1.bias", "1.weight"]
    short = by_name.StateDictOptions(keep_submodule_prefixes=False)
    assert sorted(by_name.get_model_state_dict(module, submodules={module[1]}, options=short)) == ["bias", "weight"]
