"""The stock liger-kernel wheel over our torch, on the CPU: values and gradients against float64 NumPy."""

from __future__ import annotations

import importlib.util
import math

import numpy as np
import pytest
from numeric import check

import shim_torch as torch
from compat import disable_torch_proxy, enable_torch_proxy

if importlib.util.find_spec("liger_kernel") is None or importlib.util.find_spec("triton") is None:
    pytest.skip("liger-kernel is not installed (make test installs it)", allow_module_level=True)
if torch.cuda.is_available():
    pytest.skip("small shapes for Triton's interpreter; tests/gpu has the others", allow_module_level=True)

_token = enable_torch_proxy({"liger_kernel"})
import liger_kernel.transformers as layers
from liger_kernel.transformers import functional as F


@pytest.fixture(scope="module", autouse=True)
def proxy():
    yield  # enabled above; the library loads some of its modules when an operator is first called
    disable_torch_proxy(_token)


rng = np.random.default_rng(0)


def normal(*shape: int) -> np.ndarray:
    return rng.standard_normal(shape)


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def log_softmax(x: np.ndarray) -> np.ndarray:
    return np.log(softmax(x))


LOW = [("float32", 2e-5), ("bfloat16", 6e-2)]


@pytest.mark.parametrize("dtype, tolerance", LOW)
@pytest.mark.parametrize("offset, casting", [(0.0, "llama"), (1.0, "gemma"), (0.0, "none")])
def test_rms_norm(offset, casting, dtype, tolerance):
    check(
        lambda x, w: F.liger_rms_norm(x, w, 1e-6, offset, casting, False),
        lambda x, w: x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6) * (w + offset),
        normal(2, 3, 8), normal(8), dtype=dtype, tolerance=tolerance,
    )  # fmt: skip


@pytest.mark.parametrize("dtype, tolerance", LOW)
def test_layer_norm(dtype, tolerance):
    def reference(x, w, b):
        centred = x - x.mean(-1, keepdims=True)
        return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * w + b

    check(lambda x, w, b: F.liger_layer_norm(x, w, b, 1e-5), reference, normal(2, 3, 8), normal(8), normal(8),
          dtype=dtype, tolerance=tolerance)  # fmt: skip


@pytest.mark.parametrize("dtype, tolerance", LOW)
def test_group_norm(dtype, tolerance):
    def reference(x, w, b):
        grouped = x.reshape(x.shape[0], 2, -1)
        centred = grouped - grouped.mean(-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5)
        return scaled.reshape(x.shape) * w[:, None] + b[:, None]

    check(lambda x, w, b: F.liger_group_norm(x, w, b, 4, 2, 1e-5), reference, normal(2, 4, 6), normal(4), normal(4),
          dtype=dtype, tolerance=tolerance)  # fmt: skip


@pytest.mark.parametrize("dtype, tolerance", LOW)
def test_swiglu(dtype, tolerance):
    check(F.liger_swiglu, lambda a, b: a / (1 + np.exp(-a)) * b, normal(2, 3, 8), normal(2, 3, 8),
          dtype=dtype, tolerance=tolerance)  # fmt: skip


@pytest.mark.parametrize("dtype, tolerance", LOW)
def test_geglu(dtype, tolerance):
    def reference(a, b):
        return 0.5 * a * (1 + np.tanh(math.sqrt(2 / math.pi) * (a + 0.044715 * a**3))) * b

    check(F.liger_geglu, reference, normal(2, 3, 8), normal(2, 3, 8), dtype=dtype, tolerance=tolerance)


def test_rope():
    heads, kv_heads, length, width = 4, 2, 5, 8
    angle = np.outer(np.arange(length), 1 / 100 ** (np.arange(0, width, 2) / width))
    angle = np.concatenate([angle, angle], -1)
    cos, sin = (torch.tensor(f(angle)).float()[None] for f in (np.cos, np.sin))

    def rotate(x):
        turned = np.concatenate([-x[..., width // 2 :], x[..., : width // 2]], -1)
        return x * np.cos(angle) + turned * np.sin(angle)

    check(
        lambda q, k: F.liger_rope(q, k, cos, sin),
        lambda q, k: (rotate(q), rotate(k)),
        normal(2, heads, length, width), normal(2, kv_heads, length, width),
    )  # fmt: skip


TARGET = [3, 0, -100, 6, 2]


def cross_entropy(logits, reduction="mean", smoothing=0.0, softcap=None, z=0.0):
    if softcap is not None:
        logits = softcap * np.tanh(logits / softcap)
    kept = [row for row, label in enumerate(TARGET) if label != -100]
    logp = log_softmax(logits)[kept]
    losses = -(1 - smoothing) * logp[np.arange(len(kept)), [TARGET[row] for row in kept]] - smoothing * logp.mean(-1)
    losses = losses + z * np.log(np.exp(logits[kept]).sum(-1)) ** 2
    if reduction == "none":
        whole = np.zeros(len(TARGET))
        whole[kept] = losses
        return whole
    return np.asarray(losses.mean() if reduction == "mean" else losses.sum())


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"reduction": "sum"},
        {"smoothing": 0.1},
        {"softcap": 3.0},
        {"z": 1e-2},
        {"smoothing": 0.2, "softcap": 5.0, "z": 1e-3},
    ],
    ids=str,
)
def test_cross_entropy(options):
    given = {"reduction": options.get("reduction", "mean"), "label_smoothing": options.get("smoothing", 0.0),
             "softcap": options.get("softcap"), "lse_square_scale": options.get("z", 0.0)}  # fmt: skip
    target = torch.tensor(TARGET)
    check(lambda x: F.liger_cross_entropy(x, target, **given), lambda x: cross_entropy(x, **options), normal(5, 9))


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("options", [{}, {"reduction": "sum", "smoothing": 0.1}, {"softcap": 4.0}], ids=str)
def test_fused_linear_cross_entropy(options, bias):
    given = {"reduction": options.get("reduction", "mean"), "label_smoothing": options.get("smoothing", 0.0),
             "softcap": options.get("softcap")}  # fmt: skip
    target = torch.tensor(TARGET)
    inputs = [normal(5, 6), normal(9, 6)] + ([normal(9)] if bias else [])
    check(
        lambda x, w, b=None: F.liger_fused_linear_cross_entropy(x, w, target, b, **given),
        lambda x, w, b=0.0: cross_entropy(x @ w.T + b, **options),
        *inputs,
    )


@pytest.mark.parametrize("log_target", [False, True])
@pytest.mark.parametrize("reduction", ["batchmean", "sum", "mean"])
def test_kl_div(reduction, log_target):
    truth = softmax(normal(4, 7))
    given = torch.tensor(np.log(truth) if log_target else truth).float()
    count = {"batchmean": 4, "sum": 1, "mean": 28}[reduction]
    check(
        lambda x: F.liger_kl_div(x, given, reduction=reduction, log_target=log_target),
        lambda x: np.asarray((truth * (np.log(truth) - x)).sum() / count),
        log_softmax(normal(4, 7)),
    )


@pytest.mark.parametrize("beta", [0.0, 0.1, 0.5, 1.0])
def test_jsd(beta):
    teacher = log_softmax(normal(4, 7))

    def reference(student):
        p, q = np.exp(teacher), np.exp(student)
        if beta == 0.0:
            return np.asarray((p * (teacher - student)).sum() / 4)
        if beta == 1.0:
            return np.asarray((q * (student - teacher)).sum() / 4)
        mixed = np.log(beta * p + (1 - beta) * q)
        return np.asarray((beta * p * (teacher - mixed) + (1 - beta) * q * (student - mixed)).sum() / 4)

    check(lambda x: F.liger_jsd(x, torch.tensor(teacher).float(), None, beta), reference, log_softmax(normal(4, 7)))


@pytest.mark.parametrize("reduction", ["batchmean", "sum", "mean", "none"])
def test_tvd(reduction):
    q = softmax(normal(4, 7))

    def reference(p):
        distance = 0.5 * np.abs(p - q)
        return {"batchmean": distance.sum() / 4, "sum": distance.sum(), "mean": distance.mean(), "none": distance}[
            reduction
        ] + np.zeros(())

    check(lambda p: F.liger_tvd(p, torch.tensor(q).float(), None, reduction), reference, softmax(normal(4, 7)))


def test_modules_train_one_step():
    torch.manual_seed(0)
    norm, loss = layers.LigerRMSNorm(8), layers.LigerFusedLinearCrossEntropyLoss()
    head = torch.nn.Linear(8, 9, bias=False)
    x, target = torch.randn(5, 8), torch.tensor(TARGET)
    parameters = [*norm.parameters(), *head.parameters()]
    optimizer = torch.optim.SGD(parameters, lr=0.1)
    losses = []
    for _ in range(3):
        optimizer.zero_grad()
        value = loss(head.weight, norm(x), target)
        value.backward()
        optimizer.step()
        losses.append(value.item())
    assert losses[2] < losses[1] < losses[0]
    assert isinstance(norm, torch.nn.Module)
    assert set(norm.state_dict()) == {"weight"}
