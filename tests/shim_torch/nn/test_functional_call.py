"""torch.func.functional_call: modules called with other parameters."""

import pytest

import shim_torch as torch
from shim_torch import nn
from shim_torch.func import functional_call


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(1, 1)
        self.tied_bias = self.a.bias
        self.register_buffer("count", torch.zeros(1))

    def forward(self, x):
        self.count = self.count + 1
        return self.a(x) + self.tied_bias + getattr(self, "extra", 0)


def test_functional_call_with_new_names_and_ties():
    net = Tied()
    given = {
        "a.weight": torch.ones(1, 1),
        "tied_bias": torch.tensor([2.0]),
        "extra": torch.tensor([0.5]),
        "count": torch.zeros(1),
    }
    out = functional_call(net, given, torch.ones(1, 1))
    assert out.item() == 5.5 and not hasattr(net, "extra")
    assert given["count"].item() == 1.0 and net.count.item() == 0.0  # what the module assigned is the caller's
    with pytest.raises(ValueError, match="got multiple values for keys \\['a.bias', 'tied_bias'\\]"):
        functional_call(net, {"a.bias": torch.ones(1), "tied_bias": torch.zeros(1)}, torch.ones(1, 1))
    with pytest.raises(
        RuntimeError,
        match="Error\\(s\\) in reparametrizing for Tied:\n\tUnexpected key\\(s\\): 'b'.\n\tMissing key\\(s\\): ",
    ):
        functional_call(net, {"b": torch.ones(1)}, torch.ones(1, 1), strict=True)
