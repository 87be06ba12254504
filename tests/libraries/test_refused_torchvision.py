"""transformers and Liger's suites import a torchvision where it lies: one of PyTorch's C++ ABI does not stop them."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys

import pytest

CODE = """
from compat import enable_torch_proxy
enable_torch_proxy()
import torch, transformers, torchvision
from transformers import LlamaConfig, LlamaForCausalLM
from torchvision.transforms import v2
size = dict(hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=2)
model = LlamaForCausalLM(LlamaConfig(vocab_size=32, **size))
assert model(torch.arange(4)[None]).logits.shape == (1, 4, 32)
picture = torch.arange(3 * 8 * 8, dtype=torch.uint8).reshape(3, 8, 8)
flipped = v2.RandomHorizontalFlip(1.0)(picture)
assert torch.equal(flipped, picture.flip(-1))
try:
    torchvision.ops.nms(torch.rand(3, 4), torch.rand(3), 0.5)
except RuntimeError as error:
    assert "Couldn't load custom C++ ops" in str(error), error
else:
    raise AssertionError("torchvision's operators are there")
"""


def test_torchvision_of_the_cpp_abi_beside_transformers():
    try:
        found = importlib.metadata.version("torchvision"), importlib.metadata.version("transformers")
    except importlib.metadata.PackageNotFoundError as error:
        pytest.skip(f"{error.name} is not installed")
    if int(found[0].split(".")[1]) > 26:
        pytest.skip(f"torchvision {found[0]} has the stable ABI")
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
