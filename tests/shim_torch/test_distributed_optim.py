"""torch.distributed.optim and model averaging in a group of one process."""

from __future__ import annotations

import pytest

import shim_torch as torch
from shim_torch import distributed as dist
from shim_torch.distributed.algorithms.join import Join
from shim_torch.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager
from shim_torch.distributed.optim import (
    PostLocalSGDOptimizer,
    ZeroRedundancyOptimizer,
    _apply_optimizer_in_backward,
    _get_in_backward_optimizers,
)


@pytest.fixture(autouse=True)
def group():
    dist.init_process_group("gloo", store=dist.HashStore(), world_size=1, rank=0)
    yield
    dist.destroy_process_group()


def trained(make, steps=3):
    torch.manual_seed(0)
    model = torch.nn.Linear(3, 2)
    optimizer = make(list(model.parameters()))
    for i in range(steps):
        optimizer.zero_grad()
        (model(torch.full((1, 3), float(i + 1))) ** 2).sum().backward()
        optimizer.step()
    return model.weight.detach(), optimizer


def test_zero_redundancy_steps_as_the_optimizer_does():
    plain, _ = trained(lambda p: torch.optim.Adam(p, lr=0.1))
    split, zero = trained(lambda p: ZeroRedundancyOptimizer(p, optimizer_class=torch.optim.Adam, lr=0.1))
    assert split.tolist() == plain.tolist()
    assert zero.param_groups[0]["lr"] == 0.1 and isinstance(zero.optim, torch.optim.Adam)
    with pytest.raises(RuntimeError, match="has not been consolidated"):
        zero.state_dict()
    zero.consolidate_state_dict()
    kept = zero.state_dict()
    assert sorted(kept["state"]) == [0, 1] and kept["state"][0]["step"].item() == 3
    other = ZeroRedundancyOptimizer([torch.zeros(2, 3), torch.zeros(2)], torch.optim.Adam, lr=0.5)
    other.load_state_dict(kept)
    assert other.param_groups[0]["lr"] == 0.1 and other.state


def test_zero_redundancy_with_schedulers_groups_and_join():
    model = torch.nn.Linear(2, 1)
    zero = ZeroRedundancyOptimizer(model.parameters(), torch.optim.SGD, lr=1.0)
    scheduler = torch.optim.lr_scheduler.StepLR(zero, 1, gamma=0.5)
    extra = torch.nn.Parameter(torch.ones(1))
    zero.add_param_group({"params": [extra], "lr": 0.25})
    with Join([zero]):
        (model(torch.ones(1, 2)).sum() + extra.sum()).backward()
        zero.step()
        scheduler.step()
    assert extra.item() == 0.75 and zero.optim.param_groups[0]["lr"] == 0.5
    with pytest.raises(TypeError, match="should be an iterable of Tensors"):
        ZeroRedundancyOptimizer(torch.ones(2), torch.optim.SGD, lr=1.0)
    with pytest.raises(ValueError, match="empty parameter list"):
        ZeroRedundancyOptimizer([], torch.optim.SGD, lr=1.0)


def test_averages_after_steps():
    plain, _ = trained(lambda p: torch.optim.SGD(p, lr=0.01))
    averager = PeriodicModelAverager(period=2, warmup_steps=1)
    mean, local = trained(lambda p: PostLocalSGDOptimizer(torch.optim.SGD(p, lr=0.01), averager))
    assert mean.tolist() == plain.tolist() and averager.step == 3
    state = local.state_dict()
    assert state.pop("step") == 3
    with pytest.warns(UserWarning, match="does not contain a step counter"):
        local.load_state_dict(state)
    assert averager.step == 0
    with pytest.raises(ValueError, match="must be a positive value"):
        PeriodicModelAverager(period=0)


def test_optimizers_within_backward():
    model = torch.nn.Linear(2, 1, bias=False)
    before = model.weight.detach().clone()
    _apply_optimizer_in_backward(torch.optim.SGD, model.parameters(), {"lr": 0.5})
    model(torch.tensor([[1.0, 2.0]])).sum().backward()
    assert model.weight.grad is None
    assert torch.allclose(before - model.weight.detach(), torch.tensor([[0.5, 1.0]]))
    (optimizer,) = _get_in_backward_optimizers(model)
    assert optimizer.param_groups[0]["lr"] == 0.5


def test_a_backward_of_inputs_holds_no_checkpoints():
    seen = []

    class Looks(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            seen.append(torch.autograd._is_checkpoint_valid())
            return g

    x = torch.ones(2, requires_grad=True)
    Looks.apply(x).sum().backward()
    torch.autograd.grad(Looks.apply(x).sum(), x)
    assert seen == [True, False]


def test_who_is_in_a_group():
    assert not dist._rank_not_in_group(None) and not dist._rank_not_in_group(dist.group.WORLD)
    assert dist._rank_not_in_group(dist.GroupMember.NON_GROUP_MEMBER)


def test_parameters_are_averaged_in_place():
    from shim_torch.distributed.algorithms.model_averaging.utils import average_parameters

    matrix = torch.nn.Parameter(torch.arange(6.0).view(2, 3).t())
    given = [matrix, torch.ones(2, dtype=torch.bfloat16), torch.ones(0, 3), torch.tensor(3.0)]
    before = matrix.data_ptr()
    average_parameters(iter(given), dist.group.WORLD)
    # as in PyTorch, parameters become parts of the vector that was averaged
    assert matrix.data_ptr() != before and matrix.requires_grad and matrix.is_contiguous()
    assert matrix.tolist() == [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]] and given[3].item() == 3.0
    assert given[1].dtype == torch.bfloat16 and given[2].shape == (0, 3)
    nothing = torch.ones(0)
    average_parameters([nothing], dist.group.WORLD)
    with pytest.raises(RuntimeError, match="result type Float can't be cast to the desired output type"):
        average_parameters([torch.tensor([1, 2])], dist.group.WORLD)
