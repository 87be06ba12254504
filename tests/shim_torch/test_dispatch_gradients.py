"""What ``__torch_dispatch__`` sees of backward: PyTorch's own backward operators, with the gradients of the plain formulas."""

from __future__ import annotations

import pytest

import shim_torch as torch
import shim_torch.nn.functional as F
from shim_torch.fx.experimental.proxy_tensor import make_fx
from shim_torch.testing import assert_close
from shim_torch.utils._python_dispatch import TorchDispatchMode


class Log(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.calls: list[str] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.calls.append(str(func).removeprefix("aten."))
        return func(*args, **(kwargs or {}))


def ramp(*shape: int, low: float = -2.0, high: float = 2.0) -> torch.Tensor:
    count = 1
    for n in shape:
        count *= n
    return (torch.linspace(low, high, count).reshape(shape) + 0.013).requires_grad_()


TARGETS, ZEROS, PART = torch.tensor([2, 0, 1]), torch.zeros(5), torch.full((5,), 0.3)

# name -> inputs, the function, what PyTorch 2.13 shows of forward and backward (without the detach of each leaf's gradient)
CASES = {
    "gelu": ([ramp(3, 4)], F.gelu, "gelu.default | gelu_backward.default"),
    "relu": ([ramp(3, 4)], F.relu, "relu.default detach.default | detach.default threshold_backward.default"),
    "sigmoid": ([ramp(5)], torch.sigmoid, "sigmoid.default detach.default | detach.default sigmoid_backward.default"),
    "tanh": ([ramp(5)], torch.tanh, "tanh.default detach.default | detach.default tanh_backward.default"),
    "silu": ([ramp(5)], F.silu, "silu.default | silu_backward.default"),
    "mish": ([ramp(5)], F.mish, "mish.default | mish_backward.default"),
    "elu": ([ramp(5)], F.elu, "elu.default | elu_backward.default"),
    "leaky_relu": ([ramp(5)], F.leaky_relu, "leaky_relu.default | leaky_relu_backward.default"),
    "hardtanh": ([ramp(5)], F.hardtanh, "hardtanh.default | hardtanh_backward.default"),
    "hardswish": ([ramp(5)], F.hardswish, "hardswish.default | hardswish_backward.default"),
    "softplus": ([ramp(5)], F.softplus, "softplus.default | softplus_backward.default"),
    "softshrink": ([ramp(5)], F.softshrink, "softshrink.default | softshrink_backward.default"),
    "logsigmoid": ([ramp(5)], F.logsigmoid, "log_sigmoid_forward.default | log_sigmoid_backward.default"),
    "glu": ([ramp(3, 4)], F.glu, "glu.default | glu_backward.default"),
    "softmax": ([ramp(3, 4)], lambda x: F.softmax(x, -1),
                "_softmax.default detach.default | detach.default _softmax_backward_data.default"),
    "log_softmax": ([ramp(3, 4)], lambda x: F.log_softmax(x, -1),
                    "_log_softmax.default detach.default | detach.default _log_softmax_backward_data.default"),
    "cross_entropy": ([ramp(3, 4)], lambda x: F.cross_entropy(x, TARGETS),
                      "_log_softmax.default detach.default nll_loss_forward.default | "
                      "nll_loss_backward.default detach.default _log_softmax_backward_data.default"),
    "mse_loss": ([ramp(5)], lambda x: F.mse_loss(x, PART), "mse_loss.default | mse_loss_backward.default"),
    "huber_loss": ([ramp(5)], lambda x: F.huber_loss(x, ZEROS), "huber_loss.default | huber_loss_backward.default"),
    "bce": ([ramp(5, low=0.1, high=0.9)], lambda x: F.binary_cross_entropy(x, PART),
            "binary_cross_entropy.default | binary_cross_entropy_backward.default"),
    "layer_norm": ([ramp(3, 4), ramp(4), ramp(4)], lambda x, w, b: F.layer_norm(x, (4,), w, b),
                   "native_layer_norm.default | native_layer_norm_backward.default"),
    "group_norm": ([ramp(2, 4, 3), ramp(4), ramp(4)], lambda x, w, b: F.group_norm(x, 2, w, b),
                   "native_group_norm.default detach.default detach.default | "
                   "detach.default detach.default native_group_norm_backward.default"),
    "max_pool2d": ([ramp(1, 2, 4, 4)], lambda x: F.max_pool2d(x, 2),
                   "max_pool2d_with_indices.default | max_pool2d_with_indices_backward.default"),
    "avg_pool2d": ([ramp(1, 2, 4, 4)], lambda x: F.avg_pool2d(x, 2), "avg_pool2d.default | avg_pool2d_backward.default"),
    "adaptive": ([ramp(1, 2, 4, 4)], lambda x: F.adaptive_avg_pool2d(x, 2),
                 "_adaptive_avg_pool2d.default | _adaptive_avg_pool2d_backward.default"),
    "pad": ([ramp(1, 3, 4)], lambda x: torch.ops.aten.reflection_pad1d(x, (1, 1)),
            "reflection_pad1d.default | reflection_pad1d_backward.default"),
    "upsample": ([ramp(1, 2, 3, 3)], lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"),
                 "upsample_bilinear2d.vec | upsample_bilinear2d_backward.default"),
    "grid_sample": ([ramp(1, 1, 4, 4), ramp(1, 3, 3, 2, low=-0.8, high=0.7)], lambda x, at: F.grid_sample(x, at, align_corners=False),
                    "grid_sampler_2d.default | grid_sampler_2d_backward.default"),
    "mean": ([ramp(3, 4)], lambda x: x.mean(1), "mean.dim | unsqueeze.default expand.default div.Scalar"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_mode_sees_pytorchs_backward_operators(name):
    inputs, function, shown = CASES[name]
    plain = torch.autograd.grad(function(*inputs).sum(), inputs)
    with Log() as log:
        y = function(*inputs)
        log.calls.append("|")
        found = torch.autograd.grad(y, inputs, torch.ones(y.shape))
    calls = [c for c in log.calls if c not in ("ones.default", "ones_like.default")]
    wanted = shown.split()
    if wanted[0].startswith("upsample"):  # which overload depends on how sizes are given
        calls[0] = wanted[0]
    assert calls == wanted
    for a, b in zip(found, plain, strict=True):
        assert_close(a, b)


def test_only_wanted_gradients_are_asked_for():
    masks = []

    class Masks(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            if func is torch.ops.aten.native_layer_norm_backward.default:
                masks.append(args[-1])
            return func(*args, **(kwargs or {}))

    with Masks():
        F.layer_norm(torch.ones(2, 4), (4,), ramp(4), torch.zeros(4)).sum().backward()
    assert masks == [[False, True, False]]


def test_graphs_have_them_and_second_gradients_are_there():
    def first(x):
        return torch.autograd.grad(F.gelu(x).sum(), x)[0]

    x = ramp(4)
    graph = make_fx(first)(x)
    assert torch.ops.aten.gelu_backward.default in [n.target for n in graph.graph.nodes]
    assert_close(graph(x), first(x))

    def second(x):
        (g,) = torch.autograd.grad(F.softmax(x, 0)[0], x, create_graph=True)
        return torch.autograd.grad(g.square().sum(), x)[0]

    plain = second(x)
    with Log():
        assert_close(second(x), plain)


def test_gradients_are_in_pytorchs_order():
    a, b = ramp(2, 3), ramp(3, 2)
    with Log() as log:
        bias = ramp(2)
        torch.autograd.grad(torch.addmm(bias, a, b), (a, b, bias), torch.ones(2, 2))
    assert log.calls[-2].startswith("sum")
    assert [c for c in log.calls if c[:2] in ("t.", "mm")] == ["t.default", "mm.default", "t.default", "mm.default"]
