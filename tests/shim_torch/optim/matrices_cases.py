"""Steps of LBFGS, Adafactor and Muon."""

import json

RUNS = [
    ("LBFGS", {"lr": 0.5}),
    ("LBFGS", {"line_search_fn": "strong_wolfe", "history_size": 3, "max_iter": 6}),
    ("LBFGS", {"lr": 0.1, "max_iter": 4, "history_size": 2}),
    ("Adafactor", {}),
    ("Adafactor", {"lr": 0.1, "weight_decay": 0.1, "d": 2.0, "maximize": True}),
    ("Muon", {}),
    ("Muon", {"lr": 0.1, "nesterov": False, "adjust_lr_fn": "match_rms_adamw"}),
]


def reached(torch, name, settings):
    """The parameters after four steps down a crooked slope."""
    matrix = (torch.arange(12.0).reshape(4, 3).sin() * 2).requires_grad_()
    vector = torch.tensor([1.0, -2.0, 0.5], requires_grad=True)
    given = [matrix] if name == "Muon" else [matrix, vector]
    optimizer = getattr(torch.optim, name)(given, **settings)

    def closure():
        optimizer.zero_grad()
        loss = ((matrix @ vector - 1) ** 2).sum() + (matrix * matrix * 0.3).sum() + (vector**4).sum() * 0.1
        loss.backward()
        return loss

    for _ in range(4):
        optimizer.step(closure)
    return [matrix.tolist(), vector.tolist()]


def written(torch):
    """The parameters that PyTorch reaches, to be stored."""
    found = {str((name, settings)): reached(torch, name, settings) for name, settings in RUNS}
    return json.dumps(found, indent=1) + "\n"
