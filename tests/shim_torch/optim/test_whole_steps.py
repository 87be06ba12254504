"""A step as one operator over lists of tensors gives bit for bit what the parameters get one by one, whatever changes in between."""

from __future__ import annotations

import itertools

import pytest

import shim_torch as torch
import shim_torch.optim
from shim_torch._impl.optim.per_parameter import Each

SHAPES = [(3, 4), (7,), (64, 33), (2, 3, 5, 4), (), (0, 3), (300, 230)]
GRID = [
    *[(name, {"lr": 0.02, "betas": betas, "amsgrad": amsgrad}) for name, betas, amsgrad in
      itertools.product(("Adam", "AdamW"), ((0.9, 0.999), (0.3, 0.4)), (False, True))],
    ("SGD", {"lr": 0.02}), ("SGD", {"lr": 0.02, "momentum": 0.9}), ("SGD", {"lr": 0.02, "momentum": 0.9, "nesterov": True}),
    ("SGD", {"lr": 0.02, "momentum": 0.9, "dampening": 0.3}), ("Adagrad", {"lr": 0.02}), ("Adagrad", {"lr": 0.02, "lr_decay": 0.1}),
    *[("RMSprop", {"lr": 0.02, "momentum": m, "centered": c}) for m, c in itertools.product((0, 0.9), (False, True))],
    ("Adadelta", {"lr": 0.5}), ("Adamax", {"lr": 0.02}), ("NAdam", {"lr": 0.02}), ("NAdam", {"lr": 0.02, "decoupled_weight_decay": True}),
    ("RAdam", {"lr": 0.02}), ("RAdam", {"lr": 0.02, "betas": (0.5, 0.6), "decoupled_weight_decay": True}),
]  # fmt: skip


def parameters(dtype):
    made = [torch.randn(shape).to(dtype).requires_grad_() for shape in SHAPES]
    return [*made, torch.randn((5, 6)).to(dtype).t().requires_grad_()]


def give_gradients(params, at):
    for i, p in enumerate(params):
        like = torch.randn(p.shape) if p.is_contiguous() else torch.randn(p.t().shape).t()
        p.grad = None if (at + i) % 7 == 3 else like.to(p.dtype)


def steps(name, settings, dtype, steps=6):
    torch.manual_seed(0)
    params = parameters(dtype)
    optimizer = getattr(torch.optim, name)(params, **settings)
    for at in range(steps):
        give_gradients(params, at)
        optimizer.param_groups[0]["lr"] *= 0.9
        optimizer.step()
    return [*params, *(v for p in params for v in optimizer.state[p].values())]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("name, settings", GRID, ids=str)
def test_as_one_by_one(name, settings, dtype, monkeypatch):
    for decay, maximize in itertools.product((0, 0.1), (False, True)):
        every = {**settings, "weight_decay": decay, "maximize": maximize}
        together = steps(name, every, dtype)
        with monkeypatch.context() as patch:
            patch.setattr(Each, "_move_at_once", lambda self, params, group: False)
            apart = steps(name, every, dtype)
        for a, b in zip(together, apart, strict=True):
            assert torch.equal(a.nan_to_num(), b.nan_to_num()), every


def watched(optimizer, monkeypatch):
    """The lists of each call of the operator from now on."""
    seen = []
    whole = type(optimizer)._operator_step
    monkeypatch.setattr(
        type(optimizer), "_operator_step", lambda self, lists, group: (seen.append(lists), whole(self, lists, group))
    )
    return seen


def test_nothing_is_stale(monkeypatch):
    params = [torch.ones(3).requires_grad_() for _ in range(3)]
    optimizer = torch.optim.SGD(params, lr=1.0, momentum=0.5)
    for p in params:
        p.grad = torch.ones(3)
    optimizer.step()
    seen = watched(optimizer, monkeypatch)
    params[0].grad = torch.full((3,), 2.0)  # another gradient
    params[1].grad = None  # none any more
    optimizer.state[params[2]]["momentum_buffer"] = torch.full((3,), 10.0)  # another state
    optimizer.param_groups[0]["lr"] = 0.5
    optimizer.step()
    assert [len(lists[0]) for lists in seen] == [2]
    assert params[0].tolist() == [-1.25] * 3  # 0 - 0.5 * (0.5 + 2)
    assert params[1].tolist() == [0.0] * 3
    assert params[2].tolist() == [-3.0] * 3  # 0 - 0.5 * (5 + 1)
    optimizer.add_param_group({"params": [torch.ones(2).requires_grad_()], "lr": 2.0})
    optimizer.param_groups[1]["params"][0].grad = torch.ones(2)
    optimizer.step()
    assert optimizer.param_groups[1]["params"][0].tolist() == [-1.0] * 2
    optimizer.load_state_dict(optimizer.state_dict())
    optimizer.step()
    assert len(seen[-1][0]) == 1 and len(seen[-2][0]) == 2


def test_counts_of_their_own():
    """Parameters that joined later, and counts that somebody wrote."""
    a, b = (torch.ones(3).requires_grad_() for _ in range(2))
    optimizer = torch.optim.Adam([a, b], lr=0.1)
    for i in range(4):
        a.grad, b.grad = torch.ones(3), torch.ones(3) if i > 1 else None
        optimizer.step()
    assert optimizer.state[a]["step"].item() == 4 and optimizer.state[b]["step"].item() == 2
    alone = torch.ones(3).requires_grad_()
    other = torch.optim.Adam([alone], lr=0.1)
    for _ in range(2):
        alone.grad = torch.ones(3)
        other.step()
    assert torch.equal(alone, b)


def test_versions_are_counted():
    p = torch.ones(3).requires_grad_()
    p.grad = torch.ones(3)
    optimizer = torch.optim.Adam([p])
    optimizer.step()
    before = [t._version for t in (p, *optimizer.state[p].values())]
    held = (p * p).sum()
    optimizer.step()
    assert all(t._version > v for t, v in zip((p, *optimizer.state[p].values()), before, strict=True))
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        held.backward()


class Own(torch.Tensor):
    """A class of its own."""


@pytest.mark.parametrize(
    "made, settings",
    [
        (lambda: torch.ones(3).as_subclass(Own).requires_grad_(), {}),
        (lambda: torch.ones(3, dtype=torch.complex64).requires_grad_(), {}),
        (lambda: torch.ones(3).requires_grad_(), {"differentiable": True}),
    ],
    ids=["subclass", "complex", "differentiable"],
)
def test_what_goes_one_by_one(made, settings, monkeypatch):
    p = made()
    optimizer = torch.optim.Adam([p], lr=torch.tensor(0.1) if settings else 0.1, **settings)
    seen = watched(optimizer, monkeypatch)
    p.grad = torch.ones_like(p.detach())
    if settings:
        p = p.clone()
        optimizer.param_groups[0]["params"] = [p]
        p.retain_grad()
        (p * 1).sum().backward()
    optimizer.step()
    assert not seen and (p.abs() < 1).all()


def test_a_rate_that_is_a_tensor():
    a, b = (torch.ones(3).requires_grad_() for _ in range(2))
    rate = torch.tensor(0.1, dtype=torch.float64)
    one, other = torch.optim.Adam([a], lr=rate), torch.optim.Adam([b], lr=0.1)
    for i in range(4):
        a.grad, b.grad = torch.full((3,), 1.0 + i), torch.full((3,), 1.0 + i)
        one.step()
        other.step()
        rate.mul_(0.5)
        other.param_groups[0]["lr"] *= 0.5
    assert torch.equal(a, b)


def test_modes_see_what_the_step_is_made_of():
    from shim_torch.overrides import TorchFunctionMode
    from shim_torch.utils._python_dispatch import TorchDispatchMode

    class Functions(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(getattr(func, "__name__", str(func)))
            return func(*args, **(kwargs or {}))

    class Operators(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(str(func))
            return func(*args, **(kwargs or {}))

    p = torch.ones(3).requires_grad_()
    p.grad = torch.ones(3)
    optimizer = torch.optim.Adam([p])
    optimizer.step()
    for mode, name in ((Functions, "lerp_"), (Operators, "aten.lerp_.Scalar")):
        seen: list[str] = []
        with mode():
            optimizer.step()
        assert name in seen and not any("adam_step" in call for call in seen)
    assert optimizer.state[p]["step"].item() == 3


class Spread:
    """A tensor that is spread over processes, as far as the lists of a step look at it."""

    is_cuda = True

    mesh = "mesh"
    placements: tuple = ()

    def __init__(self, local, grad=None):
        self._local_tensor, self.grad, self._spec = local, grad, self

    def is_partial(self):
        return False


def test_parts_of_spread_parameters():
    from shim_torch._impl.optim.local_parts import lists_of_parts

    rows = Spread("rows")
    rows.placements = (rows,)

    def spread(local, grad=None):
        made = Spread(local, grad=grad)
        made.placements = rows.placements
        return made

    p, without = spread("p", grad=spread("g")), spread("other")
    state = {p: {"step": "count", "exp_avg": spread("mean")}}
    assert lists_of_parts([p, without], state, ("step", "exp_avg")) == (["p"], ["g"], ["count"], ["mean"])
    assert lists_of_parts([p], {p: {"step": "count"}}, ("step", "exp_avg")) is None
    state[p]["exp_avg"].placements = (spread("columns"),)
    assert lists_of_parts([p], state, ("step", "exp_avg")) is None
