"""Dtypes that PyTorch's CPU kernels refuse, masked reductions, polynomials, gradients through complex numbers."""

from .expressions import pattern


def inputs(torch):
    """The names that the expressions use."""
    import importlib

    x = pattern(torch, 2, 3, 4, seed=1)
    z = torch.complex(pattern(torch, 3, seed=2), pattern(torch, 3, seed=3)).requires_grad_()
    y = torch.complex(pattern(torch, 3, seed=4), pattern(torch, 3, seed=5)).requires_grad_()
    image = torch.complex(pattern(torch, 1, 2, 6, seed=6), pattern(torch, 1, 2, 6, seed=7)).requires_grad_()
    w = torch.complex(pattern(torch, 2, 2, 3, seed=8), pattern(torch, 2, 2, 3, seed=9)).requires_grad_()

    def second(f, *leaves):
        """The gradient's gradient, weighted and summed."""
        (g, *_) = torch.autograd.grad(torch.view_as_real(f()).pow(2).sum(), leaves, create_graph=True)
        parts = torch.view_as_real(g) if g.is_complex() else g
        return torch.autograd.grad((parts * torch.arange(parts.numel()).reshape(parts.shape).cos()).sum(), leaves)

    return {
        "x": x, "long": (x * 3).long(), "bool": x > 0, "half": x.half(), "complex": torch.complex(x, x), "z": z, "y": y,
        "image": image, "w": w, "k": torch.tensor([[True, False, True], [False, False, False]]), "second": second,
        "m": pattern(torch, 2, 3, seed=10), "i": torch.tensor([[1, 2, 3], [4, 5, 6]]), "torch": torch,
        "F": torch.nn.functional, "S": torch.special, "M": importlib.import_module(torch.__spec__.name + ".masked"),
        "far": torch.tensor([-500.0, -1.5, -1.0, -0.5, 0.0, 0.3, 1.0, 2.0, 500.0, float("inf")]),
        "degrees": torch.tensor([[-1.0], [0.0], [1.0], [2.0], [9.0], [40.0], [600.0], [1e20]]),
        "image2": pattern(torch, 1, 2, 3, 3, seed=11).requires_grad_(),
        "w2": pattern(torch, 2, 2, 2, 2, seed=12).requires_grad_(),
    }  # fmt: skip


_ONE = """F.elu({}) F.selu({}) F.celu({}) F.gelu({}) F.silu({}) F.mish({}) F.softplus({}) F.logsigmoid({}) F.hardsigmoid({})
F.hardswish({}) F.hardshrink({}) F.softshrink({}) F.leaky_relu({}) F.glu({}) F.threshold({},0,1) F.relu6({}) F.hardtanh({})
F.layer_norm({},(4,)) F.group_norm({},3) F.instance_norm({}) F.rms_norm({},(4,)) F.avg_pool1d({},2) F.adaptive_max_pool1d({},2)
F.softmax({},-1) F.softmax({},0) F.log_softmax({},-1) F.softmin({},1)
S.entr({}) S.i0e({}) S.i1({}) S.i1e({}) S.ndtr({}) S.airy_ai({}) S.bessel_j0({}) S.erfcx({}) S.log_ndtr({}) S.ndtri({})
S.modified_bessel_i0({}) S.spherical_bessel_j0({}) S.zeta({},{}) S.chebyshev_polynomial_t({},{}) S.legendre_polynomial_p({},{})
F.mse_loss({},{}) F.huber_loss({},{}) F.smooth_l1_loss({},{}) F.soft_margin_loss({},{}) F.kl_div({},{})
F.binary_cross_entropy({},{}) F.binary_cross_entropy_with_logits({},{}) F.pad({},(1,1),'reflect') F.pad({},(1,1),'replicate')
torch.lerp({},{},{}) torch.addcmul({},{},{}) F.linear({},{}[0])""".split()
_REFUSED = [
    e.replace("{}", d)
    for e in _ONE
    for d in ("long", "bool", "complex", "half")
    if (d != "half" or e.startswith("S.") and e[2:6] not in ("entr", "i0e(", "i1({", "i1e(", "ndtr"))
    and (d != "bool" or not e.startswith("S."))
]
_MASKED = [
    f"M.{f}({d}, {'2, 1' if f == 'normalize' else '2.0, 1' if f == 'norm' else '1'}, mask={mask})"
    for f in "sum prod amax amin argmax argmin mean var std logsumexp softmax log_softmax softmin cumsum cumprod median norm normalize".split()
    for d in ("i.int()", "m > 0", "m")
    for mask in ("None", "k")
]
_POLYNOMIALS = [
    f"S.{n}(far, degrees)"
    for n in [f"{s}chebyshev_polynomial_{k}" for s in ("", "shifted_") for k in "tuvw"]
    + ["hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l"]
] + ["S.legendre_polynomial_p(far, degrees[:6])"]
_REST = """
M.logaddexp(m, m * 2, input_mask=k)
M.logaddexp(m, m * 2, input_mask=k, other_mask=k)
M.std(m, 1, correction=0)
M.std(m, 1, True, correction=0)
M.var(m, correction=2, mask=k)
M.median(i, 1, mask=torch.tensor([[True, False, True], [False, False, True]]))
M.norm(m, float('-inf'), 1, mask=k)
torch.add(z, y, alpha=3 + 4j)
torch.sub(z, y, alpha=3 + 4j)
torch.addcmul(z, y, z, value=1 - 2j)
torch.addcdiv(z, y, z, value=1 - 2j)
torch.lerp(z, y, 0.5 + 1j)
torch.lerp(z, y, z)
torch._foreach_add([z], [y], alpha=3 + 4j)
torch._foreach_mul([z, y], z[0].detach())
torch._foreach_mm([m, m], [m.t(), m.t()])
torch._foreach_clamp_max([complex], [complex])
torch._foreach_clamp_max([bool], 1)
torch._foreach_mul([x.to('meta')], x[0, 0, 0].to('meta'))[0].shape
F.conv1d(image, w)
second(lambda: F.conv1d(image, w, padding=1), image, w)
second(lambda: F.conv_transpose1d(image, w, stride=2, output_padding=1), image, w)
torch.autograd.grad(torch.autograd.grad(F.conv_transpose2d(image2, w2, stride=2, padding=(0, 1), output_padding=(1, 1), dilation=2).pow(2).sum(), w2, create_graph=True)[0].pow(2).sum(), [image2, w2])
torch.ops.aten._safe_softmax(torch.tensor([[1.0, float('-inf')], [float('-inf'), float('-inf')]], requires_grad=True), -1)
F.multi_margin_loss(m.to('meta'), i[0, :2].to('meta')).shape
F.kl_div(m[0], m[1].abs(), reduction='batchmean')
F.kl_div(m, m.abs(), reduction='batchmean')
S.bessel_j0(far)
S.bessel_y1(far)
S.i1(far)
S.modified_bessel_i0(far)
F.hardshrink(torch.tensor([float('nan'), 0.1, -2.0]))
F.softshrink(torch.tensor([float('nan'), 0.1, -2.0]))
torch._foreach_abs_([complex])
torch.linalg.pinv(m, atol=torch.full((), 1j))
torch.linalg.matrix_rank(m, rtol=torch.full((), 1j))
torch.linalg.lu_solve(m[:, :2], torch.zeros(2, dtype=torch.int32), m)
torch.ormqr(torch.ones(1, 2, 2), torch.ones(1, 2), torch.ones(2, 2, 2))
torch.fft.fftfreq(4, out=torch.empty(2))
torch.fft.rfftfreq(4, 0.5, out=torch.empty(3, dtype=torch.float64))
torch.istft(torch.stft(x[0, 0].repeat(5), 4, return_complex=True, window=torch.ones(4)), 4, length=30, window=torch.ones(4))
F.one_hot(long.clamp(min=0).to('meta'), 7).shape
torch.einsum(torch.ones(5, 6, 1), [30, 0, 1], torch.ones(3, 6), [3, 0]).shape
""".strip().splitlines()
CASES = _REFUSED + _MASKED + _POLYNOMIALS + _REST
