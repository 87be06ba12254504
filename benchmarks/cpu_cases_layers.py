"""Calls of the wide CPU benchmark: indexing, sorting, layers, losses, products and random numbers, backward too."""

from __future__ import annotations

from typing import Any

from side_by_side import Cases


def index_cases(torch: Any) -> Cases:
    """Indexing, scattering, sorting and searching."""
    x = torch.randn(1000000)
    m = x.view(1000, 1000)
    rows, cols = torch.randint(0, 1000, (1000,)), torch.randint(0, 1000, (1000, 1000))
    far, mask, whole = torch.randint(0, 1000000, (100000,)), x > 0, torch.randint(0, 1000, (1000000,))
    out, table = torch.zeros(1000, 1000), torch.randn(1000, 64)
    tokens, zero, ordered = torch.randint(0, 1000, (32, 128)), torch.zeros(1000000), torch.arange(1000000) / 1e6
    return {
        "index_select rows 1000x1000": lambda: m.index_select(0, rows),
        "index_select columns 1000x1000": lambda: m.index_select(1, rows),
        "x[index] rows 1000x1000": lambda: m[rows],
        "x[:, index] 1000x1000": lambda: m[:, rows],
        "x[i, j] 1000": lambda: m[rows, rows],
        "x[far] 100000": lambda: x[far],
        "take 100000": lambda: torch.take(x, far),
        "x[mask] 1e6": lambda: x[mask],
        "masked_select 1e6": lambda: torch.masked_select(x, mask),
        "x[mask] = number 1e6": lambda: zero.__setitem__(mask, 1.0),
        "x[index] = rows 1000x1000": lambda: out.__setitem__(rows, m),
        "index_put accumulate 100000": lambda: zero.index_put_((far,), x[:100000], accumulate=True),
        "gather rows 1000x1000": lambda: m.gather(1, cols),
        "gather columns 1000x1000": lambda: m.gather(0, cols),
        "scatter rows 1000x1000": lambda: out.scatter(1, cols, m),
        "scatter_add_ rows 1000x1000": lambda: out.scatter_add_(1, cols, m),
        "scatter_add_ columns 1000x1000": lambda: out.scatter_add_(0, cols, m),
        "scatter_reduce amax 1000x1000": lambda: out.scatter_reduce(1, cols, m, "amax"),
        "index_add_ 1000x1000": lambda: out.index_add_(0, rows, m),
        "index_copy 1000x1000": lambda: out.index_copy(0, rows, m),
        "index_fill 1000x1000": lambda: out.index_fill(0, rows, 1.0),
        "embedding 32x128x64": lambda: torch.nn.functional.embedding(tokens, table),
        "one_hot 32x128x1000": lambda: torch.nn.functional.one_hot(tokens, 1000),
        "nonzero 1e6": lambda: mask.nonzero(),
        "unique 1e6 of 1000": lambda: torch.unique(whole),
        "unique_consecutive 1e6": lambda: torch.unique_consecutive(whole),
        "sort 100000": lambda: x[:100000].sort(),
        "sort rows 1000x1000": lambda: m.sort(1),
        "argsort int64 100000": lambda: far.argsort(),
        "topk 10 rows 1000x1000": lambda: m.topk(10, 1),
        "topk 100 of 1e6": lambda: x.topk(100),
        "kthvalue rows 1000x1000": lambda: m.kthvalue(50, 1),
        "searchsorted 100000": lambda: torch.searchsorted(ordered, x[:100000]),
        "isin 10000": lambda: torch.isin(far[:10000], rows),
    }


def loss_and_norm_cases(torch: Any) -> Cases:
    """Losses and normalisations."""
    f = torch.nn.functional
    m, w, row = torch.randn(512, 1024), torch.randn(1024), torch.randn(1024)
    logits, target = torch.randn(512, 1000), torch.randint(0, 1000, (512,))
    im = torch.randn(8, 16, 32, 32)
    mean, var, g = torch.zeros(16), torch.ones(16), torch.ones(16)
    return {
        "softmax 512x1024": lambda: m.softmax(1),
        "softmax columns 512x1024": lambda: m.softmax(0),
        "log_softmax 512x1024": lambda: m.log_softmax(1),
        "softmax 20000x8": lambda: m[:160].view(-1, 8).softmax(1),
        "cross_entropy 512x1000": lambda: f.cross_entropy(logits, target),
        "cross_entropy smoothed 512x1000": lambda: f.cross_entropy(logits, target, label_smoothing=0.1),
        "nll_loss 512x1000": lambda: f.nll_loss(logits, target),
        "mse_loss 512x1024": lambda: f.mse_loss(m, w.expand(512, 1024)),
        "l1_loss 512x1000": lambda: f.l1_loss(logits, logits),
        "smooth_l1_loss 512x1000": lambda: f.smooth_l1_loss(logits, logits),
        "bce_with_logits 512x1000": lambda: f.binary_cross_entropy_with_logits(logits, logits.sigmoid()),
        "kl_div 512x1000": lambda: f.kl_div(logits, logits, log_target=True),
        "layer_norm 512x1024": lambda: f.layer_norm(m, (1024,), w, row),
        "rms_norm 512x1024": lambda: f.rms_norm(m, (1024,), w),
        "group_norm 8x16x32x32": lambda: f.group_norm(im, 4, g, mean),
        "instance_norm 8x16x32x32": lambda: f.instance_norm(im),
        "batch_norm train 8x16x32x32": lambda: f.batch_norm(im, mean, var, g, mean, True),
        "batch_norm eval 8x16x32x32": lambda: f.batch_norm(im, mean, var, g, mean, False),
        "normalize 512x1024": lambda: f.normalize(m, dim=1),
        "cosine_similarity 512x1024": lambda: f.cosine_similarity(m, m, dim=1),
        "glu 512x1024": lambda: f.glu(m),
        "prelu 8x16x32x32": lambda: f.prelu(im, g),
    }


def window_cases(torch: Any) -> Cases:
    """Convolutions, pooling and what else looks at windows."""
    f = torch.nn.functional
    im, k3, k1 = torch.randn(8, 16, 32, 32), torch.randn(32, 16, 3, 3), torch.randn(32, 16, 1, 1)
    dw, seq, k = torch.randn(16, 1, 3, 3), torch.randn(8, 16, 256), torch.randn(32, 16, 3)
    return {
        "conv2d 3x3 8x16x32x32": lambda: f.conv2d(im, k3, padding=1),
        "conv2d 1x1 8x16x32x32": lambda: f.conv2d(im, k1),
        "conv2d stride 2 8x16x32x32": lambda: f.conv2d(im, k3, stride=2),
        "conv2d depthwise 8x16x32x32": lambda: f.conv2d(im, dw, padding=1, groups=16),
        "conv1d 8x16x256": lambda: f.conv1d(seq, k, padding=1),
        "conv_transpose2d 8x16x32x32": lambda: f.conv_transpose2d(im, k3.transpose(0, 1), stride=2),
        "max_pool2d 8x16x32x32": lambda: f.max_pool2d(im, 2),
        "max_pool2d 3 2 8x16x32x32": lambda: f.max_pool2d(im, 3, 2, 1),
        "avg_pool2d 8x16x32x32": lambda: f.avg_pool2d(im, 2),
        "adaptive_avg_pool2d 8x16x32x32": lambda: f.adaptive_avg_pool2d(im, 1),
        "adaptive_avg_pool2d 4 8x16x32x32": lambda: f.adaptive_avg_pool2d(im, 4),
        "interpolate nearest 8x16x32x32": lambda: f.interpolate(im, scale_factor=2),
        "interpolate bilinear 8x16x32x32": lambda: f.interpolate(im, scale_factor=2, mode="bilinear"),
        "unfold 8x16x32x32": lambda: f.unfold(im, 3),
        "grid_sample 8x16x32x32": lambda: f.grid_sample(im, im[:, :2].permute(0, 2, 3, 1), align_corners=False),
    }


def product_cases(torch: Any) -> Cases:
    """Products, attention, recurrent layers, linear algebra and transforms."""
    f = torch.nn.functional
    m, w, row = torch.randn(512, 1024), torch.randn(1024), torch.randn(1024)
    logits = torch.randn(512, 1000)
    q, kk, v = (torch.randn(2, 8, 128, 64) for _ in range(3))
    a, b, c = torch.randn(256, 512), torch.randn(512, 256), torch.randn(256)
    ba, bb = torch.randn(16, 64, 64), torch.randn(16, 64, 64)
    half, other_half = a.to(torch.bfloat16), b.to(torch.bfloat16)
    lstm, gru = torch.nn.LSTM(32, 64, batch_first=True), torch.nn.GRU(32, 64, batch_first=True)
    steps = torch.randn(8, 20, 32)
    mha, tokens = torch.nn.MultiheadAttention(64, 4, batch_first=True), torch.randn(8, 32, 64)
    return {
        "sdpa 2x8x128x64": lambda: f.scaled_dot_product_attention(q, kk, v),
        "sdpa causal 2x8x128x64": lambda: f.scaled_dot_product_attention(q, kk, v, is_causal=True),
        "matmul 256x512x256": lambda: a @ b,
        "matmul transposed 256x512x256": lambda: a @ a.t(),
        "matmul bfloat16 256x512x256": lambda: half @ other_half,
        "matmul vector 256x512": lambda: a @ w[:512],
        "dot 1024": lambda: w.dot(row),
        "bmm 16x64x64x64": lambda: torch.bmm(ba, bb),
        "bmm 1000x4x4x4": lambda: torch.bmm(m[:16].view(-1, 4, 4)[:1000], m[:16].view(-1, 4, 4)[:1000]),
        "batched matmul 2x8x128x64": lambda: q @ kk.transpose(-1, -2),
        "linear 256x512x256": lambda: f.linear(a, b.t(), c),
        "addmm 256x512x256": lambda: torch.addmm(c, a, b),
        "baddbmm 16x64x64x64": lambda: torch.baddbmm(ba, ba, bb),
        "einsum bhqd,bhkd->bhqk": lambda: torch.einsum("bhqd,bhkd->bhqk", q, kk),
        "einsum ij,jk->ik": lambda: torch.einsum("ij,jk->ik", a, b),
        "outer 1024": lambda: torch.outer(w, row),
        "lstm 8x20x32": lambda: lstm(steps),
        "gru 8x20x32": lambda: gru(steps),
        "multihead attention 8x32x64": lambda: mha(tokens, tokens, tokens),
        "linalg.solve 64": lambda: torch.linalg.solve(ba, bb),
        "linalg.inv 64": lambda: torch.linalg.inv(ba),
        "linalg.qr 64": lambda: torch.linalg.qr(ba[0]),
        "linalg.svd 64": lambda: torch.linalg.svd(ba[0]),
        "linalg.eigh 64": lambda: torch.linalg.eigh(ba[0] + ba[0].t()),
        "fft 1000x1000": lambda: torch.fft.fft(logits),
        "rfft 512x1024": lambda: torch.fft.rfft(m),
    }


def layer_cases(torch: Any) -> Cases:
    """Layers and losses forward."""
    return {**loss_and_norm_cases(torch), **window_cases(torch), **product_cases(torch)}


def random_cases(torch: Any) -> Cases:
    """Random numbers."""
    p, m = torch.rand(1000, 100), torch.empty(1000000)
    half = torch.full((1000000,), 0.5)
    return {
        "rand 10": lambda: torch.rand(10),
        "randn 10": lambda: torch.randn(10),
        "rand 1e6": lambda: torch.rand(1000000),
        "randn 1e6": lambda: torch.randn(1000000),
        "randint 1e6": lambda: torch.randint(0, 100, (1000000,)),
        "randperm 1000": lambda: torch.randperm(1000),
        "randperm 100000": lambda: torch.randperm(100000),
        "bernoulli 1e6": lambda: torch.bernoulli(half),
        "bernoulli_ 1e6": lambda: m.bernoulli_(0.3),
        "uniform_ 1e6": lambda: m.uniform_(-1, 1),
        "normal_ 1e6": lambda: m.normal_(),
        "exponential_ 1e6": lambda: m.exponential_(),
        "multinomial 1000x100": lambda: torch.multinomial(p, 1),
        "multinomial 10 1000x100": lambda: torch.multinomial(p, 10),
        "randn_like 1000": lambda: torch.randn_like(p[:, 0]),
        "randn bfloat16 1e6": lambda: torch.randn(1000000, dtype=torch.bfloat16),
    }
