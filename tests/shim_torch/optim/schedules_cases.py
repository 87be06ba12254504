"""Schedules, stepped, moved to an epoch, resumed and stored."""

import json
import warnings

ONE = {
    "lambda": ("LambdaLR", [lambda e: 0.9**e, lambda e: 1 / (1 + e)]),
    "multiplicative": ("MultiplicativeLR", lambda e: 0.95),
    "step": ("StepLR", 3, 0.2),
    "multistep": ("MultiStepLR", [2, 2, 5, 9], 0.3),
    "constant": ("ConstantLR", 0.3, 4),
    "linear": ("LinearLR", 0.2, 0.9, 7),
    "linear to zero": ("LinearLR", 0.5, 0.0, 4),
    "exponential": ("ExponentialLR", 0.7),
    "polynomial": ("PolynomialLR", 7, 2.0),
    "cosine": ("CosineAnnealingLR", 5, 1e-3),
    "restarts": ("CosineAnnealingWarmRestarts", 3, 2, 1e-3),
    "equal restarts": ("CosineAnnealingWarmRestarts", 4),
    "cycles": ("CyclicLR", 0.01, [0.1, 0.7], 3, 5),
    "halved cycles": ("CyclicLR", [0.01, 0.02], 0.4, 4, None, "triangular2"),
    "decaying cycles": ("CyclicLR", 0.01, 0.4, 4, None, "exp_range", 0.9, None, "cycle", True, [0.1, 0.2]),
    "scaled cycles": ("CyclicLR", 0.01, 0.4, 4, None, "triangular", 1.0, lambda x: 1 / (2 + x), "iterations"),
    "one cycle": ("OneCycleLR", [0.4, 0.5], 20),
    "averaging": ("SWALR", [0.01, 0.02], 4),
    "averaging, linear": ("SWALR", 0.01, 3, "linear"),
}
MANY = {
    "sequence": lambda s, o: s.SequentialLR(
        o, [s.ConstantLR(o, 0.1, 2), s.ExponentialLR(o, 0.9), s.LinearLR(o, 0.5, 1.0, 3)], [3, 8]
    ),
    "sequence in a sequence": lambda s, o: s.SequentialLR(
        o, [s.SequentialLR(o, [s.ConstantLR(o, 0.1, 2), s.ExponentialLR(o, 0.9)], [2]), s.StepLR(o, 2)], [5]
    ),
    "sequence with restarts": lambda s, o: s.SequentialLR(
        o, [s.LinearLR(o, 0.1, 1.0, 4), s.CosineAnnealingWarmRestarts(o, 3, 2)], [4]
    ),
    "chain": lambda s, o: s.ChainedScheduler([s.CosineAnnealingLR(o, 3), s.LinearLR(o, 0.2, 0.9, 7)], o),
}
METRICS = [5, 4, 4, 4, 4, 3.9999, 3, 3, 3, 3, 3, float("nan"), 2, 2, 2, 2, 2, 1]
PLATEAUS = [
    {},
    {"patience": 1},
    {"patience": 2, "cooldown": 2},
    {"mode": "max", "patience": 1, "factor": 0.5},
    {"patience": 0, "min_lr": [0.04, 0.3]},
    {"patience": 0, "min_lr": 0.1, "cooldown": 1},
    {"patience": 1, "threshold_mode": "abs", "threshold": 0.5},
    {"patience": 0, "mode": "max", "threshold_mode": "abs"},
    {"patience": 0, "eps": 0.01},
]


def optimizer(torch):
    groups = [{"params": [torch.nn.Parameter(torch.ones(2))], "lr": rate} for rate in (0.05, 0.5)]
    return torch.optim.SGD(groups, momentum=0.9)


def build(torch, name, of, **more):
    """The optimizer's schedule of that name."""
    schedules = torch.optim.lr_scheduler
    if name in MANY:
        return MANY[name](schedules, of)
    kind, *given = ONE[name]
    return getattr(torch.optim.swa_utils if kind == "SWALR" else schedules, kind)(of, *given, **more)


def plain(value):
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in sorted(value.items(), key=str)}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    return "function" if callable(value) else value


def followed(torch, of, schedule, steps):
    found = [schedule.get_last_lr()]
    for _ in range(steps):
        of.step()
        schedule.step()
        found.append([(group["lr"], group["momentum"]) for group in of.param_groups])
    return found


def answers(torch, name):
    of = optimizer(torch)
    schedule = build(torch, name, of)
    found = {"stepped": followed(torch, of, schedule, 16), "state": plain(schedule.state_dict())}
    if name in ONE:
        of = optimizer(torch)
        schedule = build(torch, name, of)
        of.step()
        found["moved"] = []
        for epoch in (5, 1, 12, 0, 3, *((2.5, None, None, 7.75) if "restarts" in name else ())):
            schedule.step(epoch)
            found["moved"].append((schedule.last_epoch, schedule.get_last_lr()))
        of = optimizer(torch)
        schedule = build(torch, name, of)
        followed(torch, of, schedule, 5)
        found["resumed"] = followed(torch, of, build(torch, name, of, last_epoch=schedule.last_epoch), 5)
    return json.loads(json.dumps(plain(found)))


def plateau(torch, settings):
    of = optimizer(torch)
    schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(of, **settings)
    found = []
    for metric in METRICS:
        schedule.step(metric)
        counts = [schedule.best, schedule.num_bad_epochs, schedule.cooldown_counter, schedule.in_cooldown]
        found.append([schedule.get_last_lr(), *counts])
    return json.loads(json.dumps(plain([found, schedule.state_dict()])))


def written(torch):
    """What the schedules of PyTorch give, to be stored."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        by_name = {name: answers(torch, name) for name in (*ONE, *MANY)}
        found = {**by_name, "plateaus": [plateau(torch, settings) for settings in PLATEAUS]}
    return json.dumps(found, separators=(",", ":")) + "\n"
