"""weight_norm, spectral_norm, fused batch normalisation and files' names."""

from __future__ import annotations

import numpy as np
import pytest

import shim_torch as torch
from shim_torch.nn.utils import parametrizations

pytestmark = [pytest.mark.usefixtures("device"), pytest.mark.devices("cpu", "cuda")]


def test_weight_norm():
    layer = torch.nn.Linear(3, 2)
    before = layer.weight.detach().cpu().numpy().copy()
    parametrizations.weight_norm(layer)
    np.testing.assert_allclose(layer.weight.detach().cpu().numpy(), before, rtol=1e-6)
    length = layer.parametrizations.weight.original0
    np.testing.assert_allclose(length.detach().cpu().numpy(), np.linalg.norm(before, axis=1, keepdims=True), rtol=1e-6)
    with torch.no_grad():
        length.fill_(2.0)
    np.testing.assert_allclose(np.linalg.norm(layer.weight.detach().cpu().numpy(), axis=1), [2.0, 2.0], rtol=1e-6)
    old = {"weight_g": torch.ones(2, 1), "weight_v": torch.eye(2, 3), "bias": torch.zeros(2)}
    layer.load_state_dict(old)
    np.testing.assert_allclose(layer.weight.detach().cpu().numpy(), np.eye(2, 3), rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_spectral_norm(dtype):
    torch.manual_seed(0)
    layer = torch.nn.Linear(4, 3, dtype=getattr(torch, dtype))
    before = layer.weight.detach().cpu().numpy().copy()
    parametrizations.spectral_norm(layer, n_power_iterations=50)
    _ = layer.weight
    found = layer.eval().weight.detach().cpu().numpy()
    np.testing.assert_allclose(found, before / np.linalg.norm(before, 2), rtol=1e-4)
    layer(torch.ones(1, 4, dtype=layer.bias.dtype)).sum().abs().backward()
    assert layer.parametrizations.weight.original.grad is not None


def test_fused_batch_norm():
    torch.manual_seed(0)
    conv, bn = torch.nn.Conv2d(2, 3, 2), torch.nn.BatchNorm2d(3)
    bn(conv(torch.randn(4, 2, 5, 5)))
    conv.eval()
    bn.eval()
    x = torch.randn(2, 2, 4, 4)
    fused = torch.nn.utils.fuse_conv_bn_eval(conv, bn)
    np.testing.assert_allclose(
        fused(x).detach().cpu().numpy(), bn(conv(x)).detach().cpu().numpy(), rtol=1e-4, atol=1e-5
    )


def test_files_have_pytorchs_names():
    from shim_torch_proxy import modules

    for name in (
        "torch.optim.adamw",
        "torch.distributions.normal",
        "torch.nn.modules.batchnorm",
        "torch.nn.utils.stateless",
    ):
        assert modules.get(name)
    assert torch.optim.adamw.AdamW is torch.optim.AdamW
    assert "Python" in torch.utils.collect_env.get_pretty_env_info()
    with pytest.raises(TypeError, match="does not support mutation"):
        torch.fx.immutable_collections.immutable_list([1]).append(2)


@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5), (2, 4, 3)])
@pytest.mark.parametrize("how", ["matrix_exp", "cayley", "householder"])
@pytest.mark.parametrize("trivial", [True, False])
def test_orthogonal_matrices(shape, how, trivial):
    module = torch.nn.Module()
    module.register_parameter("weight", torch.nn.Parameter(torch.randn(shape, dtype=torch.float64)))
    parametrizations.orthogonal(module, orthogonal_map=how, use_trivialization=trivial)
    q = module.weight
    q = q.mT if shape[-2] < shape[-1] else q
    torch.testing.assert_close(q.mT @ q, torch.eye(q.shape[-1], dtype=torch.float64).expand(*q.shape[:-2], -1, -1))
    module.weight.sum().backward()
    assert module.parametrizations.weight.original.grad is not None


def test_a_parameter_stays_the_same_object():
    layer = torch.nn.Linear(3, 3)
    before = layer.weight
    parametrizations.orthogonal(layer)
    assert layer.parametrizations.weight.original is before
    torch.nn.utils.parametrize.remove_parametrizations(layer, "weight")
    assert layer.weight is before and isinstance(layer.weight, torch.nn.Parameter)
    with pytest.raises(ValueError, match="orthogonal_map has to be one of"):
        parametrizations.orthogonal(layer, orthogonal_map="qr")


def test_the_old_functional_call_names_the_new_one():
    from shim_torch.nn.utils.stateless import functional_call

    with pytest.warns(FutureWarning, match="Please use `torch.func.functional_call` instead"):
        y = functional_call(torch.nn.Linear(2, 1), {"weight": torch.ones(1, 2), "bias": torch.zeros(1)}, torch.ones(2))
    assert y.item() == 2
