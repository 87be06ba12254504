"""Pointwise operators that are one kernel on CUDA against the CPU's: dtypes, strides, broadcasting, NaN, infinities, in place, gradients."""

import math

import pytest

import shim_torch as torch

pytestmark = pytest.mark.usefixtures("on_our_kernels")

F = torch.nn.functional
FLOATS = [torch.float32, torch.float16, torch.bfloat16, torch.float64]
TOLERANCE = {torch.float64: 1e-11, torch.float32: 2e-5, torch.float16: 2e-3, torch.bfloat16: 1.6e-2}
UNARY = {
    "leaky_relu": lambda x: F.leaky_relu(x, 0.2),
    "elu": lambda x: F.elu(x, 0.7),
    "selu": F.selu,
    "celu": lambda x: F.celu(x, 0.5),
    "softplus": lambda x: F.softplus(x, 2, 3),
    "logsigmoid": F.logsigmoid,
    "mish": F.mish,
    "hardswish": F.hardswish,
    "hardsigmoid": F.hardsigmoid,
    "hardtanh": lambda x: F.hardtanh(x, -0.5, 1.5),
    "relu6": F.relu6,
    "hardshrink": lambda x: F.hardshrink(x, 0.4),
    "softshrink": lambda x: F.softshrink(x, 0.4),
    "threshold": lambda x: F.threshold(x, 0.1, 7.0),
    "nan_to_num": lambda x: torch.nan_to_num(x, 1.0, 2.0, -3.0),
    "asinh": torch.asinh,
}
BINARY = {
    "lerp": lambda x, y: x.lerp(y, 0.3),
    "lerp far": lambda x, y: x.lerp(y, 0.8),
    "lerp tensor": lambda x, y: x.lerp(y, y),
    "addcmul": lambda x, y: torch.addcmul(x, y, x, value=0.5),
    "addcdiv": lambda x, y: torch.addcdiv(x, x, y.abs() + 1, value=-2),
    "logaddexp": torch.logaddexp,
    "logaddexp2": torch.logaddexp2,
    "xlogy": lambda x, y: torch.xlogy(x, y.abs()),
    "copysign": torch.copysign,
}


def close(got, want):
    tolerance = TOLERANCE[want.dtype]
    assert got.dtype == want.dtype and got.shape == want.shape
    torch.testing.assert_close(got.detach().cpu(), want.detach(), rtol=tolerance, atol=tolerance, equal_nan=True)


def values(*shape, dtype):
    x = (torch.randn(*shape, dtype=torch.float64) * 2).to(dtype)
    x.view(-1)[:5] = torch.tensor([0.0, -0.0, math.nan, math.inf, -math.inf])
    return x


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", UNARY)
def test_of_one_tensor(name, dtype):
    x = values(13, 24, dtype=dtype)
    for t in (x, x.t(), x[:, ::3], x[:, 1:], x[1], x[:0]):
        close(
            UNARY[name](
                t.cuda() if t.is_contiguous() else x.cuda().as_strided(t.shape, t.stride(), t.storage_offset())
            ),
            UNARY[name](t),
        )


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", BINARY)
def test_of_two_tensors(name, dtype):
    x, y = values(13, 24, dtype=dtype), values(13, 24, dtype=dtype).flip(0).contiguous()
    for a, b in ((x, y), (x, y[0]), (x, y[:, :1]), (x[:, 2:9], y[:, 2:9])):
        close(BINARY[name](a.cuda(), b.cuda()), BINARY[name](a, b))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_in_place(dtype):
    x, y = values(8, 32, dtype=dtype), values(8, 32, dtype=dtype)
    for f in (
        lambda a, b: a.lerp_(b, 0.25),
        lambda a, b: a.addcmul_(b, a, value=0.5),
        lambda a, b: a.addcdiv_(b, b + 3),
        lambda a, b: F.leaky_relu_(a),
        lambda a, b: F.elu_(a),
        lambda a, b: F.hardtanh_(a),
        lambda a, b: a[:, 1:].addcmul_(a[:, :-1], b[:, 1:]),
        lambda a, b: a.lerp_(b[0], 0.75),
        lambda a, b: torch.nan_to_num_(a),
    ):
        there, here = x.cuda(), x.clone()
        version = there._version
        f(there, y.cuda())
        f(here, y)
        close(there, here)
        assert there._version > version


@pytest.mark.parametrize("name", [*UNARY, *BINARY])
def test_gradients(name):
    def run(device):
        torch.manual_seed(1)
        x = (torch.randn(6, 10, dtype=torch.float64) + 0.05).to(device).requires_grad_()
        y = (torch.randn(6, 10, dtype=torch.float64).abs() + 0.5).to(device).requires_grad_()
        out = UNARY[name](x) if name in UNARY else BINARY[name](x, y)
        out.backward(torch.arange(60.0, dtype=torch.float64).reshape(6, 10).to(device))
        return x.grad, y.grad

    for got, want in zip(run("cuda"), run("cpu"), strict=True):
        if want is not None:
            close(got, want)
