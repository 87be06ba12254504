"""The stock transformers wheel over our torch, on the CPU: a small Llama, its gradients, its files, and Liger's kernels in it."""

from __future__ import annotations

import importlib.util
import sys

import numpy as np
import pytest

import shim_torch as torch
from compat import disable_torch_proxy, enable_torch_proxy

if any(importlib.util.find_spec(n) is None for n in ("transformers", "safetensors")):
    pytest.skip("transformers is not installed", allow_module_level=True)


@pytest.fixture(scope="module", autouse=True)
def proxy():
    token = enable_torch_proxy({"transformers", "safetensors", "liger_kernel"})
    yield
    disable_torch_proxy(token)


@pytest.fixture
def llama():
    from transformers import LlamaConfig, LlamaForCausalLM

    def build():
        torch.manual_seed(0)
        config = LlamaConfig(
            vocab_size=64,
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=1,
            num_attention_heads=4,
            num_key_value_heads=2,
        )
        return LlamaForCausalLM(config)

    return build


IDS = torch.arange(8).reshape(1, 8)


def _loss(model):
    result = model(input_ids=IDS, labels=IDS)
    result.loss.backward()
    return result


def test_loss_is_the_cross_entropy_of_the_logits(llama):
    model = llama()
    result = _loss(model)
    logits = result.logits[0, :-1].detach().double().numpy()
    shifted = logits - logits.max(1, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(1, keepdims=True))
    expected = -log_p[np.arange(7), IDS[0, 1:].numpy()].mean()
    assert result.loss.item() == pytest.approx(expected, rel=1e-5)
    assert all(p.grad is not None for p in model.parameters())


def test_gradient_against_differences(llama):
    model = llama().double()
    _loss(model)
    weight = model.model.layers[0].mlp.up_proj.weight
    row, column = divmod(int(weight.grad.abs().argmax()), weight.shape[1])
    step, losses = 1e-2, []  # norms and the loss are computed in float32
    with torch.no_grad():
        for change in (step, -2 * step):
            weight[row, column] += change
            losses.append(model(input_ids=IDS, labels=IDS).loss.item())
    expected = (losses[0] - losses[1]) / (2 * step)
    assert weight.grad[row, column].item() == pytest.approx(expected, rel=5e-3)


def test_generate_is_greedy(llama):
    model = llama().eval()
    found = model.generate(IDS, max_new_tokens=3, do_sample=False)[0].tolist()
    expected = IDS[0].tolist()
    for _ in range(3):
        expected.append(model(input_ids=torch.tensor([expected])).logits[0, -1].argmax().item())
    assert found == expected


def test_save_and_load(llama, tmp_path):
    model = llama().eval()
    model.save_pretrained(tmp_path)
    again = type(model).from_pretrained(tmp_path).eval()
    for mine, other in zip(model.parameters(), again.parameters(), strict=True):
        np.testing.assert_array_equal(mine.detach().numpy(), other.detach().numpy())


def test_with_liger_kernels(llama):
    if importlib.util.find_spec("liger_kernel") is None or importlib.util.find_spec("triton") is None:
        pytest.skip("liger-kernel is not installed")
    plain = llama()
    expected = _loss(plain)
    from liger_kernel.transformers import apply_liger_kernel_to_llama

    module = sys.modules["transformers.models.llama.modeling_llama"]
    before = dict(vars(module))
    forward = module.LlamaForCausalLM.forward
    try:
        apply_liger_kernel_to_llama()
        model = llama()
        assert type(model.model.layers[0].mlp).__name__ == "LigerSwiGLUMLP"
        found = _loss(model)
    finally:
        vars(module).update(before)
        module.LlamaForCausalLM.forward = forward
    assert found.loss.item() == pytest.approx(expected.loss.item(), rel=1e-5)
    for mine, other in zip(model.parameters(), plain.parameters(), strict=True):
        np.testing.assert_allclose(mine.grad.numpy(), other.grad.numpy(), rtol=1e-3, atol=1e-5)
