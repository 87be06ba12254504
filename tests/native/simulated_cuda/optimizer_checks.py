"""Steps of optimizers over lists of tensors on the simulated driver: one launch, and what the CPU's loops make of the same."""

from compiled_checks import calls

import shim_torch as torch

RULES = [
    ("Adagrad", {"lr_decay": 0.1, "weight_decay": 0.1, "maximize": True, "initial_accumulator_value": 0.2}),
    ("RMSprop", {}),
    ("RMSprop", {"momentum": 0.9, "weight_decay": 0.1}),
    ("RMSprop", {"centered": True, "maximize": True}),
    ("RMSprop", {"centered": True, "momentum": 0.5}),
    ("Adadelta", {"weight_decay": 0.1}),
    ("Adamax", {"weight_decay": 0.1}),
    ("NAdam", {"weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("RAdam", {"weight_decay": 0.1, "maximize": True}),
]


def stepped(device, name, settings, dtype):
    """Parameters and states after eight steps, and how many kernels the sixth launched."""
    torch.manual_seed(0)
    shapes = ((3, 5), (7,), (300, 5), (0,), (1,))
    params = [torch.randn(s).to(dtype).to(device).detach().requires_grad_() for s in shapes]
    optimizer = getattr(torch.optim, name)(params, lr=0.02, **settings)
    for i in range(8):
        optimizer.param_groups[0]["lr"] = 0.02 / (1 + i)
        for p in params:
            p.grad = torch.randn(p.shape).to(dtype).to(device)
        told = calls(optimizer.step)
        if i == 5:
            launches = len([c for c in told if c.startswith("launch")])
    return [v.detach().cpu() for p in params for v in (p, *optimizer.state[p].values())], launches


def rules():
    for name, settings in RULES:
        for dtype in (torch.float32, torch.bfloat16) if name in ("RMSprop", "NAdam") else (torch.float32,):
            wanted, _ = stepped("cpu", name, settings, dtype)
            got, launches = stepped("cuda", name, settings, dtype)
            assert launches == 1, (name, settings, dtype, launches)
            near = {"rtol": 2e-2, "atol": 1e-2} if dtype == torch.bfloat16 else {}
            for a, b in zip(got, wanted, strict=True):
                torch.testing.assert_close(a, b, **near)


def of_each_dtype():
    """A group with parameters of several dtypes is a launch for each."""
    params = [torch.ones(3, dtype=t, device="cuda").requires_grad_() for t in (torch.float32, torch.bfloat16)]
    optimizer = torch.optim.RMSprop(params, lr=0.1)
    for _ in range(2):
        for p in params:
            p.grad = torch.ones_like(p)
        told = calls(optimizer.step)
    assert len([c for c in told if c.startswith("launch")]) == 2, told
    torch.testing.assert_close(params[1].float().cpu(), params[0].detach().cpu(), rtol=2e-2, atol=1e-2)
