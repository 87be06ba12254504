"""Further operators that benchmarks/gpu_eager.py times: convolutions, pools, resampling, attention, losses, lookups and mathematics."""

from __future__ import annotations

from typing import Any

from gpu_cases_backward import Case, backward


def layers(torch: Any) -> dict[str, Case]:
    """name -> call: those below, and those of the other functions of this file."""
    return {
        **images(torch),
        **sequences(torch),
        **selections(torch),
        **mathematics(torch),
        **backward(torch),
    }


def images(torch: Any) -> dict[str, Case]:
    functional = torch.nn.functional
    x = torch.randn(16, 64, 56, 56, device="cuda")
    half, last = x.bfloat16(), x.to(memory_format=torch.channels_last)
    w, depthwise, point = (torch.randn(*s, device="cuda") for s in ((64, 64, 3, 3), (64, 1, 3, 3), (256, 64, 1, 1)))
    b = torch.randn(64, device="cuda")
    strip, line = torch.randn(16, 64, 4096, device="cuda"), torch.randn(64, 64, 3, device="cuda")
    causal = torch.randn(64, 1, 4, device="cuda")
    volume, cube = torch.randn(2, 16, 16, 32, 32, device="cuda"), torch.randn(16, 16, 3, 3, 3, device="cuda")
    mean, var = torch.zeros(64, device="cuda"), torch.ones(64, device="cuda")
    grid = torch.rand(16, 56, 56, 2, device="cuda") * 2 - 1
    wh, bh = w.bfloat16(), b.bfloat16()
    columns = functional.unfold(x, 3, padding=1)
    return {
        "conv2d 16x64x56x56, 3x3": lambda: functional.conv2d(x, w, b, padding=1),
        "conv2d bf16": lambda: functional.conv2d(half, wh, bh, padding=1),
        "conv2d stride 2": lambda: functional.conv2d(x, w, b, 2, 1),
        "conv2d 1x1": lambda: functional.conv2d(x, point),
        "conv2d depthwise": lambda: functional.conv2d(x, depthwise, b, padding=1, groups=64),
        "conv2d 1x3x8x8": lambda: functional.conv2d(x[:1, :64, :8, :8], w, b),
        "conv1d 16x64x4096, 3": lambda: functional.conv1d(strip, line, padding=1),
        "conv1d causal depthwise 4": lambda: functional.conv1d(strip, causal, padding=3, groups=64),
        "conv3d 2x16x16x32x32": lambda: functional.conv3d(volume, cube, padding=1),
        "conv_transpose2d": lambda: functional.conv_transpose2d(x, w, b, 2, 1, 1),
        "max_pool2d": lambda: functional.max_pool2d(x, 3, 2, 1),
        "max_pool2d bf16": lambda: functional.max_pool2d(half, 2),
        "avg_pool2d": lambda: functional.avg_pool2d(x, 3, 2, 1),
        "adaptive_avg_pool2d 1": lambda: functional.adaptive_avg_pool2d(x, 1),
        "adaptive_avg_pool2d 7": lambda: functional.adaptive_avg_pool2d(x, 7),
        "adaptive_max_pool2d 7": lambda: functional.adaptive_max_pool2d(x, 7),
        "max_pool3d": lambda: functional.max_pool3d(volume, 2),
        "avg_pool3d": lambda: functional.avg_pool3d(volume, 2),
        "max_pool1d": lambda: functional.max_pool1d(strip, 2),
        "interpolate nearest": lambda: functional.interpolate(x, scale_factor=2),
        "interpolate bilinear": lambda: functional.interpolate(x, scale_factor=2, mode="bilinear"),
        "interpolate bicubic": lambda: functional.interpolate(x, scale_factor=2, mode="bicubic"),
        "interpolate bilinear antialias": lambda: functional.interpolate(x, (28, 28), mode="bilinear", antialias=True),
        "interpolate trilinear": lambda: functional.interpolate(volume, scale_factor=2, mode="trilinear"),
        "grid_sample": lambda: functional.grid_sample(x, grid, align_corners=False),
        "affine_grid": lambda: functional.affine_grid(x[:, :2, 0, :3], (16, 64, 56, 56), align_corners=False),
        "batch_norm train": lambda: functional.batch_norm(x, mean, var, b, b, True),
        "batch_norm eval": lambda: functional.batch_norm(x, mean, var, b, b),
        "batch_norm train bf16": lambda: functional.batch_norm(half, mean, var, b, b, True),
        "batch_norm eval channels_last": lambda: functional.batch_norm(last, mean, var, b, b),
        "instance_norm": lambda: functional.instance_norm(x),
        "unfold 3x3": lambda: functional.unfold(x, 3, padding=1),
        "fold 3x3": lambda: functional.fold(columns, 56, 3, padding=1),
        "pixel_shuffle": lambda: functional.pixel_shuffle(x, 2),
        "pad reflect": lambda: functional.pad(x, (1, 1, 1, 1), mode="reflect"),
        "pad replicate": lambda: functional.pad(x, (1, 1, 1, 1), mode="replicate"),
        "pad circular": lambda: functional.pad(x, (1, 1, 1, 1), mode="circular"),
        "dropout2d": lambda: functional.dropout2d(x, 0.1),
        "local_response_norm": lambda: functional.local_response_norm(x, 5),
    }


def sequences(torch: Any) -> dict[str, Case]:
    functional = torch.nn.functional
    q, k, v = (torch.randn(4, 16, 1024, 64, device="cuda").bfloat16() for _ in range(3))
    short = [t[:, :, :128].contiguous() for t in (q, k, v)]
    full = [t.float() for t in (q, k, v)]
    mask = torch.rand(1024, 1024, device="cuda") > 0.1
    rows = torch.randn(64, 1024, 256, device="cuda")
    cell, lstm = torch.nn.LSTMCell(256, 256).cuda(), torch.nn.LSTM(256, 256, batch_first=True).cuda()
    gru = torch.nn.GRU(256, 256).cuda()
    layer = torch.nn.TransformerEncoderLayer(256, 8, batch_first=True).cuda().eval()
    attention = torch.nn.MultiheadAttention(256, 8, batch_first=True).cuda()
    table, bags = torch.randn(32000, 256, device="cuda"), torch.randint(0, 32000, (4096, 16), device="cuda")
    logits = torch.randn(4096, 1000, device="cuda")
    labels, soft = torch.randint(0, 1000, (4096,), device="cuda"), torch.rand(4096, 1000, device="cuda")
    frames = torch.randn(50, 32, 40, device="cuda").log_softmax(-1)
    said = torch.randint(1, 40, (32, 20), device="cuda")
    lengths, words = torch.full((32,), 50, device="cuda"), torch.full((32,), 20, device="cuda")
    sdpa = functional.scaled_dot_product_attention
    scores = torch.randn(4, 16, 1024, 1024, device="cuda").bfloat16()
    return {
        "sdpa 4x16x1024x64 bf16": lambda: sdpa(q, k, v),
        "sdpa causal bf16": lambda: sdpa(q, k, v, is_causal=True),
        "sdpa mask bf16": lambda: sdpa(q, k, v, mask),
        "sdpa 4x16x128x64 bf16": lambda: sdpa(*short),
        "sdpa float32": lambda: sdpa(*full),
        "MultiheadAttention": lambda: attention(rows[:8], rows[:8], rows[:8], need_weights=False),
        "TransformerEncoderLayer eval": lambda: layer(rows[:8]),
        "LSTMCell": lambda: cell(rows[:, 0]),
        "LSTM 64 steps of 64": lambda: lstm(rows[:, :64]),
        "GRU 64 steps of 64": lambda: gru(rows[:, :64].transpose(0, 1)),
        "embedding_bag sum": lambda: functional.embedding_bag(bags, table, mode="sum"),
        "embedding_bag mean": lambda: functional.embedding_bag(bags, table),
        "cross_entropy smoothed": lambda: functional.cross_entropy(logits, labels, label_smoothing=0.1),
        "cross_entropy of probabilities": lambda: functional.cross_entropy(logits, soft),
        "nll_loss": lambda: functional.nll_loss(logits, labels),
        "bce": lambda: functional.binary_cross_entropy(soft, soft),
        "huber_loss": lambda: functional.huber_loss(logits, soft),
        "ctc_loss": lambda: functional.ctc_loss(frames, said, lengths, words),
        "multi_margin_loss": lambda: functional.multi_margin_loss(logits, labels),
        "triplet_margin_loss": lambda: functional.triplet_margin_loss(logits, soft, logits + 1),
        "cosine_embedding_loss": lambda: functional.cosine_embedding_loss(logits, soft, labels.clamp(max=1) * 2 - 1),
        "softmax 4096x1000, dim 0": lambda: logits.softmax(0),
        "log_softmax 4096x1000, dim 0": lambda: logits.log_softmax(0),
        "softmax attention mask bf16": lambda: scores.masked_fill(mask, -1e4).softmax(-1, dtype=torch.float32),
        "gumbel_softmax": lambda: functional.gumbel_softmax(logits),
        "multinomial 4096x1000": lambda: torch.multinomial(soft, 1),
        "multinomial 64x1000, 5 different": lambda: torch.multinomial(soft[:64], 5),
        "randperm 16384": lambda: torch.randperm(16384, device="cuda"),
        "bernoulli": lambda: torch.bernoulli(soft),
        "exponential_": lambda: logits.clone().exponential_(),
    }


def orders(torch: Any) -> dict[str, Case]:
    """Orders, extremes and reductions."""
    x = torch.randn(4096, 4096, device="cuda")
    half, small, whole = (
        x.bfloat16(),
        torch.randn(64, 1024, device="cuda"),
        torch.randint(0, 1000, (64, 1024), device="cuda"),
    )
    return {
        "median 64x1024, dim 1": lambda: small.median(1),
        "median 4096x4096, whole": lambda: x.median(),
        "nanmedian 64x1024": lambda: small.nanmedian(1),
        "mode 64x1024": lambda: whole.mode(1),
        "kthvalue 64x1024": lambda: small.kthvalue(10),
        "quantile 64x1024": lambda: small.quantile(0.5, 1),
        "argmax 4096x4096, dim 0": lambda: x.argmax(0),
        "max 4096x4096, dim 0": lambda: x.max(0),
        "sort 4096x4096, dim 0": lambda: x.sort(0),
        "argsort bf16 4096x4096": lambda: half.argsort(-1),
        "topk 5, dim 0": lambda: x.topk(5, 0),
        "amin and amax": lambda: x.aminmax(),
        "std 4096x4096, dim 0": lambda: x.std(0),
        "std_mean 4096x4096, whole": lambda: torch.std_mean(x),
        "var bf16 4096x4096, dim 1": lambda: half.var(1),
        "sum bf16 whole": lambda: half.sum(),
        "nansum": lambda: x.nansum(1),
        "count_nonzero": lambda: x.count_nonzero(),
        "allclose": lambda: torch.allclose(x, x),
        "equal": lambda: torch.equal(x, x),
        "cummin 64x1024": lambda: small.cummin(1),
        "diff": lambda: x.diff(),
        "renorm": lambda: small.renorm(2, 0, 1.0),
    }


def rows_and_products(torch: Any) -> dict[str, Case]:
    """Rows by index, distances, products and small joins."""
    functional = torch.nn.functional
    x = torch.randn(4096, 4096, device="cuda")
    half, small = x.bfloat16(), torch.randn(64, 1024, device="cuda")
    rows = torch.randint(0, 4096, (4096,), device="cuda")
    points, others = torch.randn(4, 1024, 64, device="cuda"), torch.randn(4, 1024, 64, device="cuda")
    places = torch.randint(0, 4096, (4096, 64), device="cuda")
    parts = [torch.randn(64, 64, device="cuda") for _ in range(8)]
    return {
        "index_add 4096 rows bf16": lambda: half.index_add(0, rows, half),
        "scatter_add 4096x64 bf16": lambda: half.scatter_add(1, places, half[:, :64]),
        "x[rows, cols]": lambda: x[rows, rows],
        "x[rows] = y": lambda: x.__setitem__(rows, half.float()),
        "index_put accumulate": lambda: x.index_put((rows,), x, accumulate=True),
        "take": lambda: x.take(rows),
        "take_along_dim": lambda: torch.take_along_dim(x, places, 1),
        "cdist 4x1024x64": lambda: torch.cdist(points, others),
        "cdist p 1": lambda: torch.cdist(points, others, 1.0),
        "pairwise_distance": lambda: functional.pairwise_distance(points, others),
        "pdist": lambda: functional.pdist(points[0]),
        "einsum bij,bkj->bik": lambda: torch.einsum("bij,bkj->bik", points, others),
        "bmm 4x1024x64": lambda: torch.bmm(points, others.transpose(1, 2)),
        "baddbmm": lambda: torch.baddbmm(points, points[:, :, :64] @ points[:, :64, :64], points[:, :64, :64]),
        "addmm 64": lambda: torch.addmm(parts[0], parts[1], parts[2]),
        "mv 4096": lambda: x @ x[0],
        "dot 2^24": lambda: torch.dot(x.view(-1), x.view(-1)),
        "addr": lambda: torch.addr(x, x[0], x[1]),
        "kron": lambda: torch.kron(parts[0], parts[1]),
        "block_diag": lambda: torch.block_diag(*parts),
        "trace": lambda: x.trace(),
        "diag_embed": lambda: torch.diag_embed(small),
        "roll 64x1024": lambda: small.roll(1, 0),
        "rot90": lambda: torch.rot90(x),
        "tensor_split + cat": lambda: torch.cat(x.chunk(8, 1), 0),
        "vstack of 8": lambda: torch.vstack(parts),
        "cartesian_prod": lambda: torch.cartesian_prod(small[0], small[1]),
        "repeat_interleave by counts": lambda: x.repeat_interleave(rows % 3, 0),
        "bucketize": lambda: torch.bucketize(small, small[0].sort().values),
        "tensordot": lambda: torch.tensordot(points, others, ([1, 2], [1, 2])),
        "to float64": lambda: x.double(),
        "to int64": lambda: x.long(),
        "to cpu 64x1024": lambda: small.cpu(),
        "item": lambda: small[0, 0].item(),
        "complex mul": lambda: torch.view_as_complex(x.view(4096, 2048, 2)) * 2j,
        "polar": lambda: torch.polar(x, x),
        "tril_ + masked": lambda: x.tril().masked_select(x > 2),
        "zeros + fill": lambda: torch.zeros(4096, 4096, device="cuda").fill_(2.0),
    }


def selections(torch: Any) -> dict[str, Case]:
    return {**orders(torch), **rows_and_products(torch)}


def mathematics(torch: Any) -> dict[str, Case]:
    x, y = torch.rand(4096, 4096, device="cuda"), torch.rand(4096, 4096, device="cuda")
    half, whole, wide = x.bfloat16(), torch.randint(1, 100, (4096, 4096), device="cuda"), x.double()
    wave, small = torch.randn(64, 16384, device="cuda"), torch.rand(64, 1024, device="cuda")
    matrix = torch.randn(8, 128, 128, device="cuda")
    definite = matrix @ matrix.mT + 128 * torch.eye(128, device="cuda")
    window = torch.hann_window(1024, device="cuda")
    found = {
        f"{name} 4096x4096": (lambda f=f: f(x))
        for name in ("digamma", "lgamma", "erfinv", "i0", "sinc", "logit", "deg2rad", "signbit", "isclose", "heaviside")
        for f in [
            (lambda a, g=getattr(torch, name): g(a, y)) if name in ("isclose", "heaviside") else getattr(torch, name)
        ]
    }
    return {
        **found,
        "special.ndtr": lambda: torch.special.ndtr(x),
        "special.i0e": lambda: torch.special.i0e(x),
        "special.bessel_j0": lambda: torch.special.bessel_j0(x),
        "special.zeta": lambda: torch.special.zeta(x + 1.5, y + 1),
        "igamma 64x1024": lambda: torch.igamma(small + 1, small + 1),
        "polygamma 64x1024": lambda: torch.polygamma(1, small),
        "nextafter": lambda: torch.nextafter(x, y),
        "pow tensor": lambda: x**y,
        "pow 3": lambda: x**3,
        "float // float": lambda: x // y,
        "int % int": lambda: whole % 7,
        "int // int": lambda: whole // 7,
        "int / int": lambda: whole / 7,
        "gcd": lambda: torch.gcd(whole, whole.flip(0)),
        "x > y bf16": lambda: half > 0.5,
        "bitwise and of masks": lambda: (x > 0.5) & (y > 0.5),
        "exp float64": lambda: wide.exp(),
        "tanh bf16": lambda: half.tanh(),
        "sin cos": lambda: x.sin() + x.cos(),
        "frexp": lambda: torch.frexp(small),
        "fft 64x16384": lambda: torch.fft.fft(wave),
        "rfft 64x16384": lambda: torch.fft.rfft(wave),
        "irfft": lambda: torch.fft.irfft(torch.fft.rfft(wave)),
        "fft2 8x128x128": lambda: torch.fft.fft2(matrix),
        "stft": lambda: torch.stft(wave, 1024, 256, window=window, return_complex=True),
        "cholesky 8x128": lambda: torch.linalg.cholesky(definite),
        "solve 8x128": lambda: torch.linalg.solve(definite, matrix),
        "inv 8x128": lambda: torch.linalg.inv(definite),
        "det 8x128": lambda: torch.linalg.det(definite),
        "qr 8x128": lambda: torch.linalg.qr(matrix),
        "svd 8x128": lambda: torch.linalg.svd(matrix),
        "eigh 8x128": lambda: torch.linalg.eigh(definite),
        "matrix_exp 8x128": lambda: torch.matrix_exp(matrix / 128),
        "cross": lambda: torch.linalg.cross(x[:, :3], y[:, :3]),
        "matrix_norm": lambda: torch.linalg.matrix_norm(matrix),
        "normal_": lambda: small.clone().normal_(),
        "vander 1024": lambda: torch.vander(small[0], 8),
        "trapezoid": lambda: torch.trapezoid(x),
        "corrcoef": lambda: torch.corrcoef(small),
        "bincount of 4096": lambda: torch.bincount(whole[0], minlength=100),
    }
