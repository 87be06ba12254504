"""Convolution, norm by running statistics and activation in a compiled function: two kernels."""

import pytest

import shim_torch as torch

pytestmark = pytest.mark.devices("cpu", "cuda")


def network(dtype, affine, layout):
    torch.manual_seed(0)
    norm = torch.nn.BatchNorm2d(6, affine=affine)
    if affine:
        torch.nn.init.normal_(norm.weight), torch.nn.init.normal_(norm.bias)
    norm.running_mean.normal_(), norm.running_var.uniform_(0.2, 3)
    layers = torch.nn.Sequential(torch.nn.Conv2d(3, 6, 3), norm, torch.nn.ReLU())
    return layers.eval().to(dtype).to(memory_format=layout)


@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_a_layer_is_two_kernels(dtype, affine, layout):
    layers = network(dtype, affine, layout)
    compiled = torch.compile(lambda x: layers(x))
    with torch.no_grad():
        for seed in range(4):
            torch.manual_seed(seed)
            x = torch.randn(2, 3, 9, 8, dtype=dtype).to(memory_format=layout)
            expected, found = layers(x), compiled(x)
            assert found.stride() == expected.stride()
            torch.testing.assert_close(found, expected)
            layers[1].running_mean.add_(0.5)  # no constant of the program
    (program,) = [s for s in compiled._shim_compiled.source.split("def ") if s]
    assert "fused_channel_norm_relu" in program and "channel_norm.default" not in program
