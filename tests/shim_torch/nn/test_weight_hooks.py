"""Weights that hooks make: pruning, the old weight_norm and spectral_norm."""

import pytest

import shim_torch as torch
from shim_torch.nn.utils import prune, remove_spectral_norm, remove_weight_norm, spectral_norm, weight_norm

pytestmark = [pytest.mark.usefixtures("device"), pytest.mark.devices("cpu", "cuda")]

nn = torch.nn


def test_l1_pruning_drops_the_smallest_and_a_second_pass_goes_on():
    layer = nn.Linear(3, 2)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([[1.0, -0.1, 3.0], [0.5, -4.0, 0.2]]))
    prune.l1_unstructured(layer, "weight", amount=2)
    assert layer.weight_mask.tolist() == [[1, 0, 1], [1, 1, 0]]
    prune.l1_unstructured(layer, "weight", amount=0.25)  # of the four that are left
    assert layer.weight.tolist() == [[1, 0, 3], [0, -4, 0]]
    assert [type(m).__name__ for m in next(iter(layer._forward_pre_hooks.values()))] == ["L1Unstructured"] * 2
    layer(torch.ones(1, 3)).sum().backward()
    assert layer.weight_orig.grad.tolist() == [[1, 0, 1], [0, 1, 0]]
    prune.remove(layer, "weight")
    assert isinstance(layer.weight, nn.Parameter) and not prune.is_pruned(layer)
    assert layer.weight.tolist() == [[1, 0, 3], [0, -4, 0]]


def test_structured_and_global_pruning():
    layer = nn.Linear(3, 2)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([[1.0, 1.0, 3.0], [1.0, -4.0, 0.2]]))
    prune.ln_structured(layer, "weight", amount=1, n=2, dim=1)
    assert layer.weight_mask.tolist() == [[0, 1, 1], [0, 1, 1]]
    first, second = nn.Linear(2, 1, bias=False), nn.Linear(2, 1, bias=False)
    with torch.no_grad():
        first.weight.copy_(torch.tensor([[5.0, 0.1]]))
        second.weight.copy_(torch.tensor([[0.2, 7.0]]))
    prune.global_unstructured([(first, "weight"), (second, "weight")], prune.L1Unstructured, amount=0.5)
    assert first.weight.tolist() == [[5, 0]] and second.weight.tolist() == [[0, 7]]
    with pytest.raises(ValueError, match="Structured pruning can only be applied to multidimensional tensors"):
        prune.random_structured(layer, "bias", amount=1, dim=0)
    with pytest.raises(ValueError, match="amount=7 should be smaller than the number of parameters to prune=6"):
        prune.random_unstructured(nn.Linear(3, 2), "weight", amount=7)


def test_old_weight_norm_keeps_the_weight_and_learns_length_and_direction():
    layer = nn.Linear(3, 2)
    before = layer.weight.detach().clone()
    with pytest.warns(FutureWarning, match="weight_norm` is deprecated"):
        weight_norm(layer)
    assert sorted(n for n, _ in layer.named_parameters()) == ["bias", "weight_g", "weight_v"]
    torch.testing.assert_close(layer.weight.detach(), before)
    with torch.no_grad():
        layer.weight_g.mul_(2)
    x = torch.ones(1, 3)
    torch.testing.assert_close(layer(x), nn.functional.linear(x, 2 * before, layer.bias))
    layer(x).sum().backward()
    assert layer.weight_g.grad.shape == (2, 1) and layer.weight_v.grad.shape == (2, 3)
    remove_weight_norm(layer)
    torch.testing.assert_close(layer.weight.detach(), 2 * before)


def test_old_spectral_norm_brings_the_norm_to_one():
    layer = spectral_norm(nn.Linear(4, 3), n_power_iterations=50)
    layer(torch.ones(1, 4))
    torch.testing.assert_close(
        torch.linalg.matrix_norm(layer.weight.detach(), 2), torch.tensor(1.0), rtol=1e-4, atol=1e-5
    )
    state = layer.state_dict()
    assert {"weight_orig", "weight_u", "weight_v", "bias"} == set(state)
    assert state._metadata[""]["spectral_norm"] == {"weight.version": 1}
    old = {k: v.clone() for k, v in state.items() if k != "weight_v"} | {"weight": layer.weight.detach().clone()}
    again = spectral_norm(nn.Linear(4, 3))
    again.load_state_dict(old)
    again.eval()
    x = torch.randn(2, 4)
    torch.testing.assert_close(again(x), layer.eval()(x), rtol=1e-4, atol=1e-5)
    remove_spectral_norm(layer)
    assert isinstance(layer.weight, nn.Parameter) and not layer._forward_pre_hooks
    with pytest.raises(ValueError, match="spectral_norm of 'weight' not found"):
        remove_spectral_norm(layer)
