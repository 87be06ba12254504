"""torch.special, windows, short-time transforms, histograms, losses over sequences, embedding bags."""

from .expressions import pattern


def inputs(torch):
    """The names that the expressions use."""
    x = pattern(torch, 3, 4, seed=1).requires_grad_()
    p = (pattern(torch, 3, 4, seed=2).abs() * 2 + 0.1).requires_grad_()
    q = (pattern(torch, 3, 4, seed=3).abs() * 2 + 0.3).requires_grad_()
    unit = (pattern(torch, 6, seed=4).abs() / 2.2 + 0.02).requires_grad_()
    big = torch.tensor([0.0, 1e-3, 0.7, 5.0, 12.5, 29.0, 31.0, 80.0, float("nan")])
    s = pattern(torch, 2, 20, seed=5).requires_grad_()
    w = (pattern(torch, 6, seed=6).abs() + 0.5).requires_grad_()
    lp = pattern(torch, 6, 2, 4, seed=7).requires_grad_()
    table = pattern(torch, 10, 3, seed=8).requires_grad_()
    v = pattern(torch, 7, seed=9).requires_grad_()
    nan = v.detach().clone()
    nan[2] = float("nan")
    im = pattern(torch, 1, 2, 6, 6, seed=10).requires_grad_()
    return {
        "torch": torch, "S": torch.special, "F": torch.nn.functional, "x": x, "p": p, "q": q, "unit": unit, "big": big,
        "s": s, "w": w, "lp": lp, "table": table, "i": torch.tensor([1, 2, 4, 3, 9, 2]), "o": torch.tensor([0, 2, 2]),
        "v": v, "nan": nan, "n": torch.tensor([0, 1, 2, 5]), "inf": float("inf"), "im": im,
        "labels": torch.tensor([[1, 2, 2], [3, 1, 0]]), "y": torch.tensor([0, 3, 1]),
        "many": torch.tensor([[3, 0, -1, 1], [1, -1, 0, 2], [0, 1, 2, 3]]), "nn": torch.nn,
        "draws": pattern(torch, 1, 2, 2, seed=11).abs() / 2.1,
    }  # fmt: skip


_UNARY = [
    f"S.{name}({x})"
    for name in (
        "i0 i0e i1 i1e bessel_j0 bessel_j1 bessel_y0 bessel_y1 modified_bessel_i0 modified_bessel_i1 modified_bessel_k0 "
        "modified_bessel_k1 scaled_modified_bessel_k0 scaled_modified_bessel_k1 spherical_bessel_j0 erfcx ndtr log_ndtr entr "
        "digamma psi gammaln erf erfc expit expm1 exp2 log1p sinc"
    ).split()
    for x in (
        ["p.detach()" if "bessel" in name else "p", "big.double()"]
        if "bessel" in name or name in ("psi", "gammaln", "digamma", "entr", "log1p")
        else ["x", "big.double()"]
    )
]
_POLYNOMIALS = [
    f"S.{name}(x.detach(), {n})"
    for name in (
        "chebyshev_polynomial_t chebyshev_polynomial_u chebyshev_polynomial_v chebyshev_polynomial_w hermite_polynomial_h "
        "hermite_polynomial_he laguerre_polynomial_l legendre_polynomial_p shifted_chebyshev_polynomial_t"
    ).split()
    for n in ("n", "3")
]
_WINDOWS = [
    f"torch.{name}_window({rest})"
    for name in ("hann", "hamming", "blackman", "bartlett", "kaiser")
    for rest in ("7", "6, False", "1", "0", "5, dtype=torch.float64", "-1", "4, dtype=torch.long")
]
_REST = """
S.ndtri(unit)
S.ndtri(torch.tensor([0.0, 1.0, 1e-10, 0.5, -1.0], dtype=torch.float64))
S.erfinv(unit)
S.logit(unit)
S.logit(unit, 0.2)
S.polygamma(1, p)
S.polygamma(3, p)
S.polygamma(0, p)
torch.polygamma(2, p.double())
p.polygamma(1)
S.polygamma(-1, p)
torch.mvlgamma(p + 2, 3)
S.multigammaln(p + 1, 2)
S.zeta(p + 1.1, q.detach())
S.zeta(torch.tensor(3.0), q)
S.gammainc(p.detach(), q)
S.gammaincc(p.detach(), q)
torch.igamma(torch.tensor([1.0, 0.0, 2.0, inf, 30.0]), torch.tensor([0.0, 2.0, inf, 1.0, 25.0]))
torch.igammac(p.detach() * 10, q * 10)
S.xlog1py(x, p)
S.xlog1py(x, 2.0)
S.xlogy(x, p)
S.logsumexp(x, 1)
S.softmax(x, 0)
S.log_softmax(x, -1)
S.round(x, decimals=1)
torch.i0(x)
S.i0(torch.arange(4))
torch.hamming_window(6, True, 0.3)
torch.hamming_window(6, False, 0.3, 0.6)
torch.kaiser_window(6, False, 5.0)
torch.stft(s, 6, return_complex=True)
torch.stft(s, 8, 3, 6, window=w, return_complex=True)
torch.stft(s[0], 5, center=False, normalized=True, return_complex=True)
torch.stft(s, 6, onesided=False, return_complex=False)
torch.stft(s, 6, pad_mode='constant', return_complex=True)
s.stft(6, 2, return_complex=True).abs()
torch.istft(torch.stft(s, 6, 2, window=w, return_complex=True), 6, 2, window=w)
torch.istft(torch.stft(s, 6, return_complex=True), 6, length=17)
torch.istft(torch.stft(s[0], 8, 2, 6, window=w, return_complex=True), 8, 2, 6, window=w)
torch.stft(s, 6)
torch.stft(s, 40, return_complex=True)
torch.stft(s, 6, hop_length=0, return_complex=True)
torch.stft(s, 6, window=w[:4], return_complex=True)
torch.histogram(v.detach(), 4)
torch.histogram(v.detach(), 3, range=(-1.0, 1.0), density=True)
torch.histogram(v.detach(), torch.tensor([-2.0, -0.5, 0.0, 2.0]), weight=v.detach().abs())
torch.histogramdd(x.detach()[:, :2], [2, 3])
torch.histogramdd(x.detach()[:, :2], 2, range=[-2.0, 2.0, -1.0, 1.0])
torch.histogram(v.long(), 3)
torch.histogram(v.detach(), 0)
torch.histogram(v.detach(), 3, range=(1.0, 0.0))
torch.nanquantile(nan, 0.4)
torch.nanquantile(nan, torch.tensor([0.0, 0.3, 1.0]), interpolation='nearest')
torch.nanquantile(x, 0.6, dim=1, keepdim=True)
torch.nanquantile(x, torch.tensor([0.2, 0.8]), dim=0, interpolation='midpoint')
torch.gradient(x)
torch.gradient(x, dim=1, edge_order=2)
torch.gradient(x, spacing=2.0)
torch.gradient(v, spacing=(torch.tensor([0.0, 1.0, 1.5, 3.0, 4.0, 4.5, 6.0]),))
torch.gradient(v, spacing=(torch.tensor([0.0, 1.0, 1.5, 3.0, 4.0, 4.5, 6.0]),), edge_order=2)
torch.gradient(x, spacing=[1.0, 2.0], dim=[0, 1])
torch.gradient(x, dim=5)
torch.gradient(x[:1], dim=0)
torch.frexp(x)
torch.frexp(torch.tensor([1.0, 0.0, -3.5, 100.0]))
torch.frexp(torch.ones(2).long())
torch.polar(p, x)
torch.polar(p, x.double())
torch.poisson(torch.zeros(3))
torch.poisson(-torch.ones(2))
torch.binomial(torch.tensor([5.0, 3.0]), torch.tensor([1.0, 0.0]))
torch.segment_reduce(x, 'sum', lengths=torch.tensor([1, 2]))
torch.segment_reduce(x, 'mean', lengths=torch.tensor([0, 3]), initial=1.0)
torch.segment_reduce(v, 'max', offsets=torch.tensor([0, 2, 7]))
torch.segment_reduce(v, 'foo', lengths=torch.tensor([7]))
F.ctc_loss(lp.log_softmax(2), labels, (6, 5), (3, 2))
F.ctc_loss(lp.log_softmax(2), labels, (6, 5), (3, 2), reduction='none')
F.ctc_loss(lp, labels, (6, 4), (2, 1), reduction='sum')
F.ctc_loss(lp.log_softmax(2), torch.tensor([1, 2, 2, 3, 1]), torch.tensor([6, 5]), torch.tensor([3, 2]))
F.ctc_loss(lp[:, 0].log_softmax(1), labels[0], (6,), (3,))
F.ctc_loss(lp.log_softmax(2), labels, (3, 5), (3, 2), zero_infinity=True)
F.ctc_loss(lp.detach().log_softmax(2), labels, (3, 5), (3, 2), reduction='none')
F.ctc_loss(lp.log_softmax(2), labels, (6, 5), (3, 2), blank=3)
F.ctc_loss(lp, labels, (6,), (3, 2))
F.ctc_loss(lp, labels, (7, 5), (3, 2))
F.multi_margin_loss(x, y)
F.multi_margin_loss(x, y, 2, 0.5, unit[:4].detach(), reduction='none')
F.multi_margin_loss(x[0], y[0])
F.multi_margin_loss(x, y[:2])
F.multi_margin_loss(x, y + 7)
F.multi_margin_loss(x, y, p=3)
F.multilabel_margin_loss(x, many)
F.multilabel_margin_loss(x[0], many[0], reduction='sum')
F.multilabel_margin_loss(x, many.float())
F.multilabel_margin_loss(x, many[:, :3])
F.multilabel_soft_margin_loss(x, (many > 0).float())
F.triplet_margin_with_distance_loss(x, p, q, swap=True)
F.triplet_margin_with_distance_loss(x, p, q, distance_function=lambda a, b: (a - b).abs().sum(1), margin=2.0, reduction='none')
F.embedding_bag(i, table, o)
F.embedding_bag(i, table, o, mode='sum', per_sample_weights=unit)
F.embedding_bag(i, table, o, mode='max')
F.embedding_bag(i.reshape(2, 3), table, mode='mean', padding_idx=2)
F.embedding_bag(i, table, torch.tensor([0, 2, 6]), mode='sum', include_last_offset=True)
torch.embedding_bag(table.detach(), i, o, mode=2)[0]
torch.embedding_bag(table.detach(), i, o, mode=1)[:3]
nn.EmbeddingBag.from_pretrained(table.detach(), mode='sum')(i, o)
F.embedding_bag(i, table)
F.embedding_bag(i, table, o, mode='foo')
F.embedding_bag(i.reshape(2, 3), table, o)
F.embedding_bag(i, table, o + 1)
F.embedding_bag(i, table, o, per_sample_weights=unit)
F.embedding_bag(i, table, o.reshape(1, 3))
F.embedding_bag(i.float(), table, o)
torch.rrelu(x, 0.1, 0.3, False)
F.rrelu(x)
torch.selu(x)
torch.celu(x, 0.7)
torch.alpha_dropout(x, 0.5, False)
torch.feature_dropout(x, 0.0, True)
F.alpha_dropout(x, 1.0, True)
F.fractional_max_pool2d(im, 2, (3, 2), _random_samples=draws, return_indices=True)
F.fractional_max_pool2d(im[0], (2, 3), output_ratio=(0.5, 0.5), _random_samples=draws)
"""
CASES = [*_UNARY, *_POLYNOMIALS, *_WINDOWS, *_REST.strip().splitlines()]
