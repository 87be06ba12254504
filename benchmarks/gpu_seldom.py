"""Operators that few programs wait for (losses, ranks, bags of embeddings, sequences…) on CUDA: host (enqueue) and device time
of a call in microseconds, ours and PyTorch's, medians, each side in an interpreter of its own, on random data.

    python benchmarks/gpu_seldom.py [--only PATTERN]

A failure on one side is printed in place of its numbers.
"""

from __future__ import annotations

import argparse
import functools
import json
import re
import subprocess
import sys


def with_gradient(torch, f, *leaves):
    """The call and its gradient by the leaves, for the same gradient of ones every time."""
    leaves = [t.detach().requires_grad_() for t in leaves]
    g = []

    def run():
        y = f(*leaves)
        if not g:
            g.append(torch.ones_like(y))
        torch.autograd.grad(y, leaves, g[0])

    return run


def with_gradient_of_weights(torch, layer, x):
    """A recurrent layer and the gradient of its weights."""
    weights, g = list(layer.parameters()), []

    def run():
        y = layer(x)[0]
        if not g:
            g.append(torch.ones_like(y))
        torch.autograd.grad(y, weights, g[0])

    return run


def selections_and_losses(torch):
    """Medians, losses and bags of embeddings."""
    F, both = torch.nn.functional, functools.partial(with_gradient, torch)

    def r(*sizes):
        return torch.randn(*sizes, device="cuda")

    small, whole, x = r(64, 1024), torch.randint(0, 1000, (64, 1024), device="cuda"), r(4096, 4096)
    places = torch.randint(0, 4096, (4096,), device="cuda")
    logits, labels, chance = (
        r(4096, 1000),
        torch.randint(0, 1000, (4096,), device="cuda"),
        torch.rand(4096, 1000, device="cuda") * 0.9 + 0.05,
    )
    log_p = logits.log_softmax(1)
    maps, named = r(8, 21, 128, 128).log_softmax(1), torch.randint(0, 21, (8, 128, 128), device="cuda")
    table, bags = r(32000, 256), torch.randint(0, 32000, (4096, 16), device="cuda")
    small_logits, small_labels = r(64, 1024), torch.randint(0, 1024, (64,), device="cuda")
    pair = torch.rand(64, 1024, device="cuda") + 1
    marks = torch.full((256, 128), -1, dtype=torch.int64, device="cuda")
    scores = r(256, 128)

    return {
        "median 64x1024": lambda: small.median(1),
        "median 4096x4096 dim 1": lambda: x.median(1),
        "median 4096x4096 dim 0": lambda: x.median(0),
        "median 65536 whole": lambda: small.median(),
        "nanmedian 64x1024": lambda: small.nanmedian(1),
        "nanmedian 65536 whole": lambda: small.nanmedian(),
        "kthvalue 64x1024": lambda: small.kthvalue(10),
        "kthvalue 64x1024 bf16": lambda b=small.bfloat16(): b.kthvalue(10),
        "mode 64x1024": lambda: whole.mode(1),
        "take 4096 of 4096x4096": lambda: x.take(places),
        "nll_loss 4096x1000": lambda: F.nll_loss(log_p, labels),
        "nll_loss 4096x1000 fwd+bwd": both(lambda a: F.nll_loss(a, labels), log_p),
        "nll_loss 64x1024 fwd+bwd": both(lambda a: F.nll_loss(a, small_labels), small_logits),
        "nll_loss2d 8x21x128x128 fwd+bwd": both(lambda a: F.nll_loss(a, named), maps),
        "bce 4096x1000": lambda: F.binary_cross_entropy(chance, chance),
        "bce none 4096x1000": lambda: F.binary_cross_entropy(chance, chance, reduction="none"),
        "bce fwd+bwd 4096x1000": both(lambda a: F.binary_cross_entropy(a, chance), chance),
        "bce_with_logits 4096x1000": lambda: F.binary_cross_entropy_with_logits(logits, chance),
        "bce_with_logits 64x1024 fwd+bwd": both(lambda a: F.binary_cross_entropy_with_logits(a, pair - 1), small),
        "bce_with_logits pos_weight": lambda: F.binary_cross_entropy_with_logits(logits, chance, pos_weight=chance[0]),
        "multi_margin_loss 4096x1000": lambda: F.multi_margin_loss(logits, labels),
        "multi_margin_loss fwd+bwd": both(lambda a: F.multi_margin_loss(a, labels), logits),
        "multilabel_margin_loss 256x128": lambda: F.multilabel_margin_loss(scores, marks),
        "multilabel_margin_loss fwd+bwd": both(lambda a: F.multilabel_margin_loss(a, marks), scores),
        "embedding_bag sum": lambda: F.embedding_bag(bags, table, mode="sum"),
        "embedding_bag mean": lambda: F.embedding_bag(bags, table),
        "embedding_bag max": lambda: F.embedding_bag(bags, table, mode="max"),
        "embedding_bag fwd+bwd": both(lambda t: F.embedding_bag(bags, t), table),
        "embedding_bag max fwd+bwd": both(lambda t: F.embedding_bag(bags, t, mode="max"), table),
    }


def grids_and_recurrence(torch):
    """Functions, grids, recurrent layers and attention."""
    F, both = torch.nn.functional, functools.partial(with_gradient, torch)
    trained = functools.partial(with_gradient_of_weights, torch)

    def r(*sizes):
        return torch.randn(*sizes, device="cuda")

    small, x = r(64, 1024), r(4096, 4096)
    pair = torch.rand(64, 1024, device="cuda") + 1
    image, grid = r(16, 64, 56, 56), torch.rand(16, 56, 56, 2, device="cuda") * 2 - 1
    frames = r(128, 32, 64).log_softmax(2)
    said = torch.randint(1, 64, (32, 20), device="cuda")
    lengths, words = torch.full((32,), 128), torch.full((32,), 20)
    points = r(4096, 4096)
    strip, depth = r(16, 64, 4096), r(64, 1, 4)
    lstm, seq = torch.nn.LSTM(64, 128).cuda(), r(64, 64, 64)
    gru = torch.nn.GRU(64, 128).cuda()
    deep, words_in = torch.nn.LSTM(256, 512, 2, dropout=0.2).cuda(), r(100, 32, 256)
    both_ways = torch.nn.GRU(64, 64, bidirectional=True).cuda()
    query, key, value = (r(4, 8, 1024, 64).bfloat16() for _ in range(3))
    wide_strip, wide_depth = r(4, 2048, 2048).bfloat16(), r(2048, 1, 4).bfloat16()

    return {
        "linalg.cross 4096x3": lambda: torch.linalg.cross(points[:, :3], x[:, :3]),
        "std_mean 4096x4096 whole": lambda: torch.std_mean(x),
        "var 2^24 whole": lambda: x.var(),
        "polar 4096x4096": lambda: torch.polar(x, points),
        "diag_embed 64x1024": lambda: torch.diag_embed(small),
        "igamma 64x1024": lambda: torch.igamma(pair, pair),
        "igamma 4096x4096": lambda e=x.abs() + 0.1, f=points.abs(): torch.igamma(e, f),
        "igammac 64x1024 double": lambda e=pair.double(): torch.special.gammaincc(e, e),
        "grid_sample fwd": lambda: F.grid_sample(image, grid, align_corners=False),
        "grid_sample fwd+bwd": both(lambda a, b: F.grid_sample(a, b, align_corners=False), image, grid),
        "grid_sample bf16 fwd+bwd": both(
            lambda a, b: F.grid_sample(a, b, align_corners=False), image.bfloat16(), grid.bfloat16()
        ),
        "ctc_loss 128x32x64": lambda: F.ctc_loss(frames, said, lengths, words),
        "ctc_loss fwd+bwd": both(lambda a: F.ctc_loss(a, said, lengths, words), frames),
        "conv1d causal depthwise fwd+bwd": both(lambda a, b: F.conv1d(a, b, padding=3, groups=64), strip, depth),
        "cumsum 2^24": lambda f=x.reshape(-1): f.cumsum(0),
        "meshgrid + stack 1024": lambda a=r(1024): torch.stack(torch.meshgrid(a, a, indexing="ij")),
        "mish 64x1024": lambda: F.mish(small),
        "elu 64x1024": lambda: F.elu(small),
        "LSTM 64 steps": lambda: lstm(seq),
        "GRU 64 steps": lambda: gru(seq),
        "LSTM 64 steps fwd+bwd": trained(lstm, seq),
        "GRU 64 steps fwd+bwd": trained(gru, seq),
        "GRU two directions fwd+bwd": trained(both_ways, seq),
        "LSTM 2 layers, 100 steps, dropout fwd+bwd": trained(deep, words_in),
        "attention bf16 dropout fwd": lambda: F.scaled_dot_product_attention(query, key, value, dropout_p=0.1),
        "attention bf16 dropout fwd+bwd": both(
            lambda a, b, c: F.scaled_dot_product_attention(a, b, c, dropout_p=0.1), query, key, value
        ),
        "conv1d depthwise bf16 4x2048x2048 fwd+bwd": both(
            lambda a, b: F.conv1d(a, b, padding=3, groups=2048), wide_strip, wide_depth
        ),
    }


def cases(torch):
    return {**selections_and_losses(torch), **grids_and_recurrence(torch)}


def worker(side, only):
    import gpu_eager

    torch = gpu_eager.load(side)
    clock, results = gpu_eager.Clock(torch, False), {}
    for name, call in cases(torch).items():
        if not re.search(only, name):
            continue
        try:
            with torch.no_grad() if "bwd" not in name else torch.enable_grad():
                results[name] = gpu_eager.measured(clock, call, True)
        except Exception as error:
            results[name] = f"{type(error).__name__}: {error}"[:300]
    print(json.dumps({"device": torch.cuda.get_device_name(0), "version": torch.__version__, "results": results}))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--worker", help=argparse.SUPPRESS)
    p.add_argument("--only", default="", help="a pattern of the names to run")
    a = p.parse_args()
    if a.worker:
        return worker(a.worker, a.only)
    found = []
    for side in ("ours", "peer"):
        done = subprocess.run(
            [sys.executable, __file__, "--worker", side, "--only", a.only], capture_output=True, text=True
        )
        sys.stderr.write(done.stderr[-1500:])
        found.append(
            json.loads(done.stdout.strip().splitlines()[-1])
            if done.returncode == 0
            else {"results": {}, "version": "failed", "device": ""}
        )
    print(found[0]["device"], "ours", found[0]["version"], "peer", found[1]["version"])
    print(f"{'':40s}{'host':>10s}{'PyTorch':>10s}{'ratio':>8s}{'device':>12s}{'PyTorch':>10s}{'ratio':>8s}")
    for name in found[0]["results"] or found[1]["results"]:
        ours, peer = (f["results"].get(name, "no result") for f in found)
        if isinstance(ours, str) or isinstance(peer, str):
            print(
                f"{name:40s} ours: {ours if isinstance(ours, str) else round(ours[1], 2)}; PyTorch: {peer if isinstance(peer, str) else round(peer[1], 2)}"
            )
            continue
        print(
            f"{name:40s}{ours[0]:10.2f}{peer[0]:10.2f}{ours[0] / peer[0]:8.2f}{ours[1]:12.2f}{peer[1]:10.2f}{ours[1] / peer[1]:8.2f}"
        )


if __name__ == "__main__":
    sys.exit(main())
