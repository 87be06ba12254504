"""How results of factorizations, solutions and transforms lie in memory, on the CPU."""

from .expressions import pattern


def inputs(torch):
    """The names that the expressions use."""
    a, batch = pattern(torch, 3, 3, seed=1), pattern(torch, 2, 3, 3, seed=2)
    return {
        "a": a, "batch": batch, "spd": a @ a.mT + torch.eye(3) * 3, "t": pattern(torch, 4, 2, seed=3),
        "b": pattern(torch, 3, 2, seed=4), "v": pattern(torch, 2, 3, seed=5), "x": pattern(torch, 2, 3, 4, seed=6),
        "z": torch.complex(pattern(torch, 2, 3, 4, seed=7), pattern(torch, 2, 3, 4, seed=8)),
        "tau": pattern(torch, 2, seed=9), "L": torch.linalg, "torch": torch, "fft": torch.fft,
        "strides": lambda ts: [t.stride() for t in ts],
    }  # fmt: skip


_LINALG = """
L.inv(a).stride()
L.inv(batch).stride()
L.solve(a, b).stride()
L.solve(a, b.mT, left=False).stride()
L.solve(batch, v).stride()
L.cholesky(spd).stride()
L.cholesky(spd, upper=True).stride()
strides(L.eigh(spd))
strides(L.qr(t))
strides(L.qr(t, mode='complete'))
strides(L.svd(t))
strides(L.svd(t, full_matrices=False))
strides(L.lu_factor(t))
strides(L.lu(a))
strides(L.ldl_factor(spd))
L.lu_solve(*L.lu_factor(a), b).stride()
L.ldl_solve(*L.ldl_factor(spd), b).stride()
L.solve_triangular(a, b, upper=True).stride()
L.lstsq(t, t).solution.stride()
L.lstsq(a, b).solution.stride()
L.householder_product(t, tau).stride()
L.tensorinv(batch.repeat(3, 1, 1)[:6].reshape(2, 3, 6) + torch.eye(6).reshape(2, 3, 6)).stride()
L.inv(a.to('meta')).stride()
L.cholesky_ex(spd.to('meta'))[0].stride()
""".strip().splitlines()
_FFT = [
    f"fft.{f}(x, dim={d}).stride()" for f in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft") for d in (0, 1, 2)
] + [
    f"fft.{f}({x}, dim={d}).stride()"
    for f in ("fftn", "ifftn", "rfftn", "irfftn")
    for x in ("x", "x.transpose(0, 2)")
    for d in ((0, 1), (1, 0), (0, 2), (0, 1, 2))
]
_MORE = """
fft.fft2(z.transpose(0, 1)).stride()
fft.irfft2(z, dim=(0, 1)).stride()
fft.fft(x.to('meta'), dim=0).stride()
torch.stft(x.reshape(2, 12), 4, window=torch.ones(4), return_complex=True).stride()
fft.fft(z, dim=1)
fft.irfftn(z, dim=(2, 0))
fft.rfftn(x.transpose(0, 2), dim=(1, 0))
L.pinv(batch, rtol=torch.tensor([0.0, 0.5])).shape
L.pinv(a, rtol=torch.tensor([[0.0], [0.9]]))
L.pinv(a.to('meta'), rtol=torch.tensor([[0.0], [0.9]]).to('meta')).shape
L.matrix_power(torch.tensor([[1, 2], [3, 4]]), 5)
L.matrix_power(torch.tensor([[1, 2], [3, 4]]), -1)
L.vecdot(torch.arange(3), torch.arange(3))
L.vander(torch.tensor([True, False]))
L.vander(torch.tensor([1.0, 2.0]).half())
L.householder_product(torch.ones(2, 2, dtype=torch.int64), torch.ones(1, dtype=torch.int64))
fft.fft(x, out=torch.empty(0, dtype=torch.int64))
fft.irfft2(x, out=torch.empty(0, dtype=torch.int64))
fft.rfft2(x, out=torch.empty(0, dtype=torch.int64))
L.inv_ex(a, out=(torch.empty(0, dtype=torch.int64), torch.empty(0, dtype=torch.int32)))
L.lu_factor(a, out=(torch.empty(0, dtype=torch.int64), torch.empty(0, dtype=torch.int32)))
L.matrix_power(a, 2, out=torch.empty(0, dtype=torch.int64))
""".strip().splitlines()
_OPERATORS = """L.cholesky({}) L.det({}) L.eig({}) L.eigvals({}) L.eigh({}) L.eigvalsh({}) L.svd({}) L.svdvals({}) L.qr({}) L.inv({})
L.solve({},{}) L.lu({}) L.lu_factor({}) L.ldl_factor({}) L.lstsq({},{}) L.matrix_rank({}) L.pinv({}) L.slogdet({}) L.cond({})
L.solve_triangular({},{},upper=True) L.lu_solve({},torch.ones(3,dtype=torch.int32),{})""".split()
_DTYPES = [o.format(*[f"spd.{cast}()"] * 2) for o in _OPERATORS for cast in ("half", "long")]
CASES = _LINALG + _FFT + _MORE + _DTYPES
