"""Stock Liger-Kernel operators, forward and backward, against the same formulas in float64.

Prints each operator's largest error over its results and gradients, and the time of forward and backward.
"""

from compat import enable_torch_proxy

enable_torch_proxy(scope={"__main__", "liger_kernel"})

import torch
import torch.nn.functional as F
import triton
from liger_kernel.transformers import functional as liger

DEVICE = triton.runtime.driver.active.get_active_torch_device()
ROWS, WIDTH, VOCABULARY = (4096, 2048, 16384) if DEVICE.type == "cuda" else (16, 96, 160)


def rms_norm(x, w):
    """x / sqrt(mean(x^2) + 1e-6) * w over the last dim."""
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * w


def layer_norm(x, w, b):
    """(x - mean) / sqrt(variance + 1e-5) * w + b over the last dim."""
    centred = x - x.mean(-1, keepdim=True)
    return centred * torch.rsqrt(centred.pow(2).mean(-1, keepdim=True) + 1e-5) * w + b


def gelu(x):
    """GELU by its approximation with tanh."""
    return 0.5 * x * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (x + 0.044715 * x**3)))


def cross_entropy(logits, target):
    """The mean negative log-likelihood of ``target`` (N,) under ``logits`` (N, classes)."""
    return (torch.logsumexp(logits, -1) - logits.gather(-1, target[:, None])[:, 0]).mean()


def row(name, function, reference, *inputs):
    """Runs both sides on the same numbers, and prints the row."""
    ours = [x.detach().requires_grad_() for x in inputs]
    exact = [x.detach().double().requires_grad_() for x in inputs]
    result, expected = function(*(x.clone() for x in ours)), reference(*exact)
    weights = torch.randn(expected.shape, device=DEVICE)
    result.backward(weights.clone())  # Liger writes its gradients over the given ones
    expected.backward(weights.double())
    pairs = [(result, expected), *((x.grad, y.grad) for x, y in zip(ours, exact))]
    error = max((a.double() - b).abs().max().item() for a, b in pairs)
    call = lambda: function(*(x.clone() for x in ours)).backward(weights.clone())
    time = triton.testing.do_bench(call, warmup=1, rep=20)
    print(f"{name:28} {'x'.join(map(str, inputs[0].shape)):>18} {error:12.2e} {time:10.3f}")
    assert error < 1e-3


def main() -> None:
    """Prints a line for each Liger operation: its largest error and its time."""
    torch.manual_seed(0)
    print(
        f"{'Liger, forward+backward':28} {'shape':>18} {'max error':>12} {'ms':>10}   ({torch.__name__} {torch.__version__}, {DEVICE})"
    )

    def normal(*shape):
        return torch.randn(*shape, device=DEVICE)

    x, y, w, b = normal(ROWS, WIDTH), normal(ROWS, WIDTH), normal(WIDTH), normal(WIDTH)
    row("RMSNorm", lambda x, w: liger.liger_rms_norm(x, w, 1e-6), rms_norm, x, w)
    row("LayerNorm", lambda x, w, b: liger.liger_layer_norm(x, w, b, 1e-5), layer_norm, x, w, b)
    row("SwiGLU", liger.liger_swiglu, lambda a, b: a * torch.sigmoid(a) * b, x, y)
    row("GEGLU", liger.liger_geglu, lambda a, b: gelu(a) * b, x, y)
    target = torch.randint(0, VOCABULARY, (ROWS,), device=DEVICE)
    row("CrossEntropy", lambda x: liger.liger_cross_entropy(x, target), lambda x: cross_entropy(x, target),
        normal(ROWS, VOCABULARY))  # fmt: skip
    row("FusedLinearCrossEntropy", lambda x, w: liger.liger_fused_linear_cross_entropy(x, w, target),
        lambda x, w: cross_entropy(x @ w.t(), target), x, normal(VOCABULARY, WIDTH) / WIDTH**0.5)  # fmt: skip
    logp, q = F.log_softmax(normal(ROWS, WIDTH), -1), F.softmax(normal(ROWS, WIDTH), -1)
    row("KLDiv", lambda x: liger.liger_kl_div(x, q, reduction="batchmean"),
        lambda x: (q.double() * (q.double().log() - x)).sum() / ROWS, logp)  # fmt: skip


if __name__ == "__main__":
    main()
