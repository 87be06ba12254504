"""OpenAI's triton_kernels beside plain operators: a product, and a mixture of experts as gpt-oss has it, on any device."""

from __future__ import annotations

import contextlib
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import shim_torch as torch


def _folders() -> Iterator[Path]:
    """Where a package of that name lies, ready to be a path: installed by itself, then as vLLM's wheel brings it.

    PyPI has another one of that name, which has no products.
    """
    for package, inside in (("triton_kernels", ".."), ("vllm", "third_party")):
        spec = importlib.util.find_spec(package)
        if spec is not None and spec.origin:
            yield Path(spec.origin).parent / inside


def _imported() -> list[str]:
    return [name for name in sys.modules if name.split(".")[0] == "triton_kernels"]


@contextlib.contextmanager
def triton_kernels() -> Iterator[Any]:
    """Its ``matmul_ogs`` module; another package of that name that was imported before is there again afterwards."""
    folder = next((f for f in _folders() if (f / "triton_kernels" / "matmul_ogs.py").exists()), None)
    if folder is None:
        pytest.skip("OpenAI's triton_kernels is not installed (the vLLM wheel brings it)")
    before = {name: sys.modules.pop(name) for name in _imported()}
    sys.path.insert(0, str(folder))
    try:
        yield importlib.import_module("triton_kernels.matmul_ogs")
    finally:
        sys.path.remove(str(folder))
        for name in _imported():
            del sys.modules[name]
        sys.modules.update(before)


def _close(found: torch.Tensor, right: torch.Tensor, tolerance: float) -> None:
    assert found.shape == right.shape
    assert ((found.double().cpu() - right).norm() / right.norm()).item() < tolerance


def check_product(library: Any, device: str, dtype: torch.dtype, tolerance: float) -> None:
    torch.manual_seed(0)
    a, b = (torch.randn(*shape, device=device, dtype=dtype) for shape in ((40, 64), (64, 48)))
    bias = torch.randn(48, device=device)
    out = library.matmul_ogs(a, b, bias)
    assert out.dtype == dtype
    _close(out, a.cpu().double() @ b.cpu().double() + bias.cpu().double(), tolerance)
    batch = [torch.randn(*shape, device=device, dtype=dtype) for shape in ((3, 20, 32), (3, 32, 16))]
    _close(library.matmul_ogs(*batch, None), batch[0].cpu().double() @ batch[1].cpu().double(), tolerance)


def check_mixture(library: Any, device: str, dtype: torch.dtype, tolerance: float) -> None:
    """Each token through two of eight experts, with gpt-oss' activation between an expert's two products."""
    from triton_kernels.routing import routing
    from triton_kernels.swiglu import swiglu_fn

    torch.manual_seed(1)
    tokens, experts, chosen, width, hidden, slope, limit = 20, 8, 2, 32, 32, 1.702, 7.0
    x, first, second = (
        torch.randn(*shape, device=device).div(scale).to(dtype)
        for shape, scale in (((tokens, width), 1), ((experts, width, 2 * hidden), 3), ((experts, hidden, width), 6))
    )
    biases = [torch.randn(experts, n, device=device) for n in (2 * hidden, width)]
    logits = torch.randn(tokens, experts, device=device)
    data, gather, scatter = routing(logits, chosen)
    activation = library.FusedActivation(library.FnSpecs("swiglu", swiglu_fn, ("alpha", "limit")), (slope, limit), 2)
    inner = library.matmul_ogs(x, first, biases[0], data, gather_indx=gather, fused_activation=activation)
    out = library.matmul_ogs(inner, second, biases[1], data, scatter_indx=scatter, gammas=data.gate_scal)
    assert out.dtype == dtype

    x, first, second, *biases, logits = (t.cpu().double() for t in (x, first, second, *biases, logits))
    gates = torch.einsum("tw,ewh->teh", x, first) + biases[0]
    gate, up = gates[..., ::2].clamp(max=limit), gates[..., 1::2].clamp(-limit, limit)
    each = torch.einsum("teh,ehw->tew", gate * (slope * gate).sigmoid() * (up + 1), second) + biases[1]
    values, ids = logits.topk(chosen)
    parts = each.gather(1, ids[..., None].expand(-1, -1, width)) * values.softmax(-1)[..., None]
    _close(out, parts.sum(1), tolerance)
    counts = torch.bincount(ids.flatten(), minlength=experts)
    assert data.expt_hist.cpu().tolist() == counts.tolist()
