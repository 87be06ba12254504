"""Optimizers against the parameters that PyTorch 2.13 reached after the same steps."""

import copy
import importlib
import json
from pathlib import Path

import numpy as np
import pytest
from steps_cases import RUNS, reached

pytestmark = [pytest.mark.usefixtures("device"), pytest.mark.devices("cpu", "cuda")]

HERE = Path(__file__).parent


@pytest.mark.parametrize(("name", "settings"), RUNS, ids=lambda v: str(v))
def test_as_pytorch(name, settings):
    expected = json.loads((HERE / "steps_expected.json").read_text())
    torch = importlib.import_module("shim_torch")
    np.testing.assert_allclose(reached(torch, name, settings), expected[f"{name} {settings}"], rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["Adadelta", "Adamax", "NAdam", "RAdam", "ASGD", "Rprop"])
def test_a_state_dict_goes_on_where_it_stopped(name):
    torch = importlib.import_module("shim_torch")
    cls = getattr(torch.optim, name)
    p, q = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    first, second = cls([p]), cls([q])
    for t in (p, q):
        t.grad = torch.tensor([1.0, -2.0, 0.5])
    first.step()
    second.load_state_dict(copy.deepcopy(first.state_dict()))  # else the two would share their state
    q.data.copy_(p.data)
    first.step()
    second.step()
    assert torch.equal(p, q)


def test_settings_out_of_range_are_refused():
    torch = importlib.import_module("shim_torch")
    p = [torch.ones(1, requires_grad=True)]
    with pytest.raises(ValueError, match="Invalid learning rate: -1"):
        torch.optim.Adadelta(p, lr=-1)
    with pytest.raises(ValueError, match="Invalid eta values: 1.0, 1.2"):
        torch.optim.Rprop(p, etas=(1.0, 1.2))
    assert torch.optim.NAdam.__module__ == "torch.optim.nadam"


def test_hooks_of_every_optimizer():
    torch = importlib.import_module("shim_torch")
    optimizer = importlib.import_module("shim_torch.optim.optimizer")
    seen = []
    handles = [
        optimizer.register_optimizer_step_pre_hook(lambda *given: seen.append("before")),
        optimizer.register_optimizer_step_post_hook(lambda *given: seen.append("after")),
    ]
    p = torch.ones(2, requires_grad=True)
    p.grad = torch.ones(2)
    steps = torch.optim.SGD([p], lr=0.1)
    steps.step()
    for handle in handles:
        handle.remove()
    steps.step()
    assert seen == ["before", "after"]
