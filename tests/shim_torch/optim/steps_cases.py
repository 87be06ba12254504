"""Steps of the optimizers that have no file of their own."""

import json

RUNS = [
    (name, settings)
    for name, several in {
        "Adadelta": [{}, {"lr": 0.5, "rho": 0.8, "weight_decay": 0.1}],
        "Adamax": [{}, {"lr": 0.1, "weight_decay": 0.1, "maximize": True}],
        "NAdam": [
            {},
            {"lr": 0.1, "weight_decay": 0.1},
            {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True},
        ],
        "RAdam": [
            {},
            {"lr": 0.1, "weight_decay": 0.1, "betas": [0.8, 0.9]},
            {"weight_decay": 0.1, "decoupled_weight_decay": True},
        ],
        "ASGD": [{}, {"lr": 0.1, "lambd": 0.1, "t0": 2, "weight_decay": 0.1}],
        "Rprop": [{}, {"lr": 0.1, "etas": [0.4, 1.5], "step_sizes": [0.01, 0.2]}],
    }.items()
    for settings in several
]


def reached(torch, name, settings):
    """The parameter after six steps down a crooked slope."""
    settings = {k: tuple(v) if isinstance(v, list) else v for k, v in settings.items()}
    p = torch.tensor([1.0, -2.0, 0.5, 3.0], requires_grad=True)
    optimizer = getattr(torch.optim, name)([p], **settings)
    for i in range(6):
        optimizer.zero_grad()
        ((p - i * 0.3) ** 2 * torch.tensor([1.0, 0.2, 3.0, -0.1]) + (3 * p).sin()).sum().backward()
        optimizer.step()
    return p.tolist()


def written(torch):
    """The parameters that PyTorch reaches, to be stored."""
    return (
        json.dumps({f"{name} {settings}": reached(torch, name, settings) for name, settings in RUNS}, indent=1) + "\n"
    )
