"""Signatures of layers, losses and functions: names, order and defaults are PyTorch's."""

import inspect

import pytest

import shim_torch as torch
import shim_torch.nn.functional as F

nn = torch.nn


@pytest.mark.parametrize(
    "layer, constructor, forward",
    [
        (nn.GELU, "approximate='none'", "input"),
        (nn.Threshold, "threshold, value, inplace=False", "input"),
        (nn.MaxPool2d, "kernel_size, stride=None, padding=0, dilation=1, return_indices=False, ceil_mode=False", "input"),
        (nn.CosineSimilarity, "dim=1, eps=1e-08", "x1, x2"),
        (
            nn.CrossEntropyLoss,
            "weight=None, size_average=None, ignore_index=-100, reduce=None, reduction='mean', label_smoothing=0.0",
            "input, target",
        ),
        (nn.TripletMarginLoss, "margin=1.0, p=2.0, eps=1e-06, swap=False, size_average=None, reduce=None, reduction='mean'",
         "anchor, positive, negative"),
    ],
)  # fmt: skip
def test_layers(layer, constructor, forward):
    assert str(inspect.signature(layer)) == f"({constructor})"
    names = list(inspect.signature(layer.forward).parameters)
    assert ", ".join(names) == f"self, {forward}"


def test_subclasses_keep_their_own_constructor():
    class Mine(nn.CrossEntropyLoss):
        def __init__(self, scale):
            super().__init__(reduction="sum")
            self.scale = scale

    assert str(inspect.signature(Mine)) == "(scale)" and Mine(2).reduction == "sum"
    loss = nn.MSELoss()(input=torch.ones(2), target=torch.zeros(2))
    assert loss.item() == 1.0


def test_functions():
    plain = {name: [p.replace(annotation=p.empty) for p in inspect.signature(getattr(F, name)).parameters.values()]
             for name in ("relu", "leaky_relu", "hardtanh", "threshold", "elu")}  # fmt: skip
    shown = {name: ", ".join(map(str, found)) for name, found in plain.items()}
    assert shown == {
        "relu": "input, inplace=False",
        "leaky_relu": "input, negative_slope=0.01, inplace=False",
        "hardtanh": "input, min_val=-1.0, max_val=1.0, inplace=False",
        "threshold": "input, threshold, value, inplace=False",
        "elu": "input, alpha=1.0, inplace=False",
    }
    x = torch.tensor([-2.0, 3.0])
    assert F.threshold(x, 0.5, 9.0).tolist() == [9.0, 3.0] and F.relu(x, True) is x and x.tolist() == [0.0, 3.0]
    with pytest.warns(FutureWarning, match="keyword argument `min_value` is deprecated and renamed to `min_val`"):
        assert nn.Hardtanh(min_value=-3.0).min_val == -3.0
