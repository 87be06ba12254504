"""The optimizers that ``dir(torch.optim)`` names: libraries register each, by its class's name."""

from __future__ import annotations

import inspect

import shim_torch as torch

OWN_NAMES = (
    "ASGD Adadelta Adafactor Adagrad Adam AdamW Adamax LBFGS Muon NAdam Optimizer RAdam RMSprop Rprop SGD SparseAdam"
)


def test_each_class_has_one_name():
    found = {n: getattr(torch.optim, n) for n in dir(torch.optim)}
    classes = {n: c for n, c in found.items() if inspect.isclass(c) and issubclass(c, torch.optim.Optimizer)}
    assert sorted(classes) == sorted(OWN_NAMES.split())
    assert all(c.__name__ == n for n, c in classes.items())
    assert [torch.optim.Adafactor.__module__, torch.optim.Muon.__module__] == ["torch.optim", "torch.optim"]
