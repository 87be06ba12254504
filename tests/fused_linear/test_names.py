"""Paddle's and InfiniTrain's names: their defaults, and the same values as ours."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import shim_torch as torch
import shim_torch_linear
from shim_torch_linear import infinitrain, paddle

F = torch.nn.functional


def random(seed, *shape):
    return torch.from_numpy(np.random.default_rng(seed).standard_normal(shape))


def close(got, want):
    np.testing.assert_allclose(got.detach().numpy(), want.detach().numpy(), rtol=1e-12, atol=1e-13)


def test_paddle():
    x, y, b = random(0, 4, 5), random(1, 5, 7).requires_grad_(), random(2, 7)
    z = x @ y + b
    close(paddle.linear_v2(x, y, b), z)
    close(paddle.linear_v2(x, y.t(), b, transpose_weight=True), z)
    close(paddle.fused_linear_activation(x, y, b), z)
    close(paddle.fused_linear_activation(x, y, b, activation="gelu"), F.gelu(z, approximate="tanh"))
    for trans_x in (False, True):
        for trans_y in (False, True):
            out, reserve = paddle.fused_gemm_epilogue(
                x.t() if trans_x else x, y.t() if trans_y else y, b, trans_x, trans_y, "relu"
            )
            close(out, z.relu())
            assert reserve.data_ptr() == out.data_ptr()
    out, reserve = paddle.fused_gemm_epilogue(x, y, b)
    close(out, z)
    assert reserve is None
    out, reserve = paddle.fused_gemm_epilogue(x, y, b, activation="gelu")
    close(out, F.gelu(z, approximate="tanh"))
    close(reserve, z)
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        paddle.linear_v2(x, y.t(), b)


def test_defaults():
    def defaults(function):
        return {k: p.default for k, p in inspect.signature(function).parameters.items() if p.default is not p.empty}

    assert defaults(paddle.fused_gemm_epilogue) == {"trans_x": False, "trans_y": False, "activation": "none"}
    assert defaults(paddle.fused_linear_activation) == {"trans_x": False, "trans_y": False, "activation": None}
    assert defaults(paddle.linear_v2) == {"transpose_weight": False}
    assert defaults(shim_torch_linear.fused_linear)["trans_y"] is True


def test_infinitrain():
    x, w, b, g = random(0, 4, 5), random(1, 7, 5), random(2, 7), random(3, 4, 7)
    tensors = [t.requires_grad_() for t in (x, w, b)]
    dx, dw, db = torch.autograd.grad(F.linear(*tensors), tensors, g)
    with torch.no_grad():
        close(infinitrain.LinearBackwardInput(w, g), dx)
        close(infinitrain.LinearBackwardInput(w.t(), g, transpose=False), dx)
        close(infinitrain.LinearBackwardWeight(x, g), dw)
        close(infinitrain.LinearBackwardWeight(x, g, transpose=False), dw.t())
        close(infinitrain.LinearBackwardBias(g), db)
        close(infinitrain.MatmulBackwardInput(w.t(), g), dx)
        close(infinitrain.MatmulBackwardOther(x, g), dw.t())


def test_every_public_name_is_documented():
    for name in shim_torch_linear.__all__:
        assert hasattr(shim_torch_linear, name)
        value = getattr(shim_torch_linear, name)
        assert not callable(value) or (value.__doc__ and value.__module__.startswith("shim_torch_linear."))
