"""Layers whose shapes come with the first input, as PyTorch 2.13 makes them."""

import copy

import pytest

import shim_torch as torch

pytestmark = [pytest.mark.usefixtures("device"), pytest.mark.devices("cpu", "cuda")]

nn = torch.nn
pytestmark = pytest.mark.filterwarnings("ignore:Lazy modules")


@pytest.mark.parametrize(
    ("lazy", "plain", "shape", "args", "kwargs"),
    [
        ("LazyLinear", "Linear", (2, 5), (3,), {}),
        ("LazyConv1d", "Conv1d", (2, 4, 8), (6, 3), {"groups": 2, "padding": 1}),
        ("LazyConv2d", "Conv2d", (4, 8, 8), (6, 3), {"bias": False}),
        ("LazyConvTranspose1d", "ConvTranspose1d", (2, 4, 8), (6, 3), {"stride": 2, "output_padding": 1}),
        ("LazyBatchNorm1d", "BatchNorm1d", (3, 5), (), {}),
        ("LazyInstanceNorm2d", "InstanceNorm2d", (5, 4, 4), (), {"affine": True, "track_running_stats": True}),
    ],
)
def test_the_first_input_makes_a_plain_layer(lazy, plain, shape, args, kwargs):
    layer = getattr(nn, lazy)(*args, **kwargs)
    assert layer.has_uninitialized_params()
    x = torch.randn(shape)
    got = layer(x)
    assert type(layer) is getattr(nn, plain)
    assert not layer._forward_pre_hooks and not layer._load_state_dict_pre_hooks
    channels = (
        layer.weight.shape[1] if plain == "Linear" else layer.num_features if "Norm" in plain else layer.in_channels
    )
    same = getattr(nn, plain)(channels, *args, **kwargs)
    same.load_state_dict(layer.state_dict())
    torch.testing.assert_close(got, copy.deepcopy(layer).eval()(x) if "Norm" not in plain else got)
    assert same.weight.shape == layer.weight.shape and all(isinstance(p, nn.Parameter) for p in layer.parameters())


def test_a_state_dict_makes_the_shapes_too():
    source, layer = nn.Linear(4, 3), nn.LazyLinear(3)
    layer.load_state_dict(source.state_dict())
    x = torch.randn(2, 4)
    assert torch.equal(layer(x), source(x)) and layer.in_features == 4


def test_what_has_no_shape_refuses_and_says_why():
    layer = nn.LazyConv1d(2, 3)
    with pytest.raises(ValueError, match="Attempted to use an uninitialized parameter in"):
        layer.weight + 1
    with pytest.raises(RuntimeError, match="Can't access the shape of an uninitialized parameter"):
        layer.weight.shape
    with pytest.raises(RuntimeError, match=r"Expected 2D \(unbatched\) or 3D \(batched\) input to LazyConv1d"):
        layer(torch.ones(3))
    assert repr(layer.weight) == "<UninitializedParameter>"
    assert layer.double().weight.dtype == torch.float64 and copy.deepcopy(layer).weight.dtype == torch.float64


def test_a_buffer_becomes_a_plain_tensor():
    buffer = nn.UninitializedBuffer()
    buffer.materialize((2, 3), dtype=torch.float64)
    assert type(buffer) is torch.Tensor and buffer.shape == (2, 3) and buffer.dtype == torch.float64


def test_making_one_warns_of_nothing(recwarn):
    """PyTorch 2.13 no longer warns that lazy modules are new: suites make warnings errors."""
    assert torch.nn.LazyLinear(3)(torch.ones(1, 2)).shape == (1, 3) and not recwarn.list
