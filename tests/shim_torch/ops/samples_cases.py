"""What PyTorch's own sample inputs showed to differ: memory order, dtypes of whole numbers, masks, refusals."""

from .expressions import pattern


def inputs(torch):
    """The names that the expressions use."""
    x = pattern(torch, 3, 4, seed=1).requires_grad_()
    cube = pattern(torch, 2, 3, 4, seed=2)
    turned = pattern(torch, 4, 2, 3, seed=3).permute(1, 2, 0)
    b1, b2 = pattern(torch, 2, 3, 5, seed=4), pattern(torch, 2, 5, 4, seed=5)
    z = torch.complex(pattern(torch, 3, seed=6), pattern(torch, 3, seed=7)).requires_grad_()
    w = torch.complex(pattern(torch, 3, seed=8), pattern(torch, 3, seed=9)).requires_grad_()
    mask = torch.tensor([[True, False, True, True], [False] * 4, [True] * 4])
    some = torch.tensor([True, False, True])
    i = torch.arange(12).reshape(3, 4)
    zero = torch.tensor(0.0).requires_grad_()
    f, n = torch.empty(0), torch.empty(0, dtype=torch.int64)
    none = torch.zeros(0, dtype=torch.uint8)
    number = torch.tensor(2.5).requires_grad_()
    masked = torch.masked
    xs, wide = x.detach(), torch.empty(0, dtype=torch.float64)
    return locals()


# Which operands order an elementwise result in memory.
_ORDER = [
    f"{call}.stride()"
    for call in (
        "torch.atan2(turned, cube)",
        "torch.atan2(cube, turned)",
        "torch.hypot(turned, cube)",
        "torch.copysign(turned, cube)",
        "torch.logaddexp(turned, cube)",
        "torch.xlogy(turned, cube)",
        "torch.heaviside(turned, cube)",
        "torch.nextafter(turned, cube)",
        "torch.polar(turned, cube)",
        "torch.complex(turned, cube)",
        "torch.clamp_max(turned, cube)",
        "torch.gcd(turned.long(), cube.long())",
        "torch.polygamma(1, turned)",
        "torch.nan_to_num(turned)",
        "torch.round(turned, decimals=1)",
        "torch.frexp(turned).mantissa",
        "torch.frexp(turned).exponent",
        "torch.where(turned > 0, cube, turned[:1])",
        "torch.where(cube > 0, turned, cube)",
        "torch.i0(turned[:, ::2])",
    )
]
_TEXT = """
torch.addbmm(i, i[None], torch.ones(1, 4, 4, dtype=torch.int64), beta=0.6, alpha=1.7)
torch.addbmm(mask, mask[None], mask.new_ones(1, 4, 4))
torch.take_along_dim(x, torch.tensor([[-1, 0], [1, -4], [2, 2]]), 1)
torch.take_along_dim(x, torch.tensor([-1, -12, 3]))
torch.take_along_dim(x, torch.tensor([[4]]), 1)
torch.gather(x[0], 0, none)
torch.tensor(3, dtype=torch.uint8).index_add(0, torch.tensor([0]), torch.tensor(1, dtype=torch.uint8), alpha=-1)
zero.prod(0)
zero.prod(0, keepdim=True)
torch.lerp(z, w, z.detach())
torch.lerp(z, w, 0.3 + 0.4j)
torch.tensordot(i.int()[:1, :1], i.int(), dims=((0, 1), (0, 1)))
torch.searchsorted(torch.zeros(0, 0), torch.zeros(0, 0), out_int32=True)
torch.arange(0.0, -8.000001, -4.0, dtype=torch.int64)
torch.arange(0.1, -7.9, -4.0, dtype=torch.int64)
torch.arange(0.5, 6.9, 1.5, dtype=torch.int64)
torch.arange(0.5, 6.9, 1.5, dtype=torch.int32)
torch.arange(0.5, 6.9, 1.5, dtype=torch.uint8)
torch.add(some, torch.tensor([True, True, False]), alpha=False)
torch.div(some, some, rounding_mode='floor')
torch.div(some, some, rounding_mode='trunc')
torch.cat([])
torch.unbind(number)
torch.hsplit(x, 0)
torch.vsplit(x, 0)
torch.round(i, decimals=2)
torch.combinations(x[0, :1])
torch.combinations(x[0], 3)
torch.lu(x.detach()[:, :3])
torch.lu(x.detach()[:, :3], get_infos=True)
type(torch.lu(x.detach()[:, :3], get_infos=True)).__name__
x.detach()[:, :3].lu()
x.hash_tensor()
x.masked_fill(mask, number)
x.index_fill(1, torch.tensor([0, 2]), number)
x.detach().masked_fill(mask, torch.tensor([1.0]))
masked.logaddexp(x[0], x[1], input_mask=mask[0])
masked.std(x, 1, correction=0, mask=mask)
masked.var(x, None, correction=2)
masked.var(i, 0)
masked.var(x, 1, True, correction=1)
masked.std(x, 1, True)
masked.prod(i.int(), 1, mask=mask)
masked.prod(zero)
masked.cumsum(i.int(), 1, mask=mask)
masked.cumprod(i.to(torch.uint8), 0, mask=mask)
masked.norm(x, -float('inf'), 1, mask=mask)
masked.logsumexp(i, 1, mask=mask)
masked.amax(mask, 1, mask=mask)
masked.amin(mask, 1, mask=mask)
masked.argmin(mask, 1, mask=mask)
masked.mean(i, 1)
torch.eq(2, i)
torch.pow(2, 3)
torch.pow(2, i)
torch.xlogy(2, 3)
torch.rsub(2, i)
torch.bitwise_and(2, 3)
torch.bitwise_and(2, i)
torch.copysign(2, x)
torch.where(True, 2, 3)
torch.isin(2, 3)
torch.add(2, 3)
torch.lerp(i, i, 0.5)
torch.lerp(x, x * 2, 0.25)
torch.mm(mask, mask.T)
torch.dot(some, some)
torch.trace(mask)
torch.softmax(z, 0)
torch.log_softmax(z, 0)
torch.unique(z.detach())
torch.polygamma(1, z)
torch.cdist(x.half(), x.half())
torch.dist(i, i)
torch.var_mean(i)
torch.std_mean(i)
torch.gradient(i[0].to(torch.uint8))
torch.gradient(x, spacing=[0.1], dim=(1, 0))
torch.trapezoid(mask, mask)
torch.round(i, decimals=0)
torch.scatter(x[None], 0, i[:2, :2], x[:2])
torch.scatter(x, 0, i[:2, :2] * 0, x[None])
torch.scatter(x, 0, i[:1].repeat(1, 2) * 0, 1.0)
torch.scatter_add(x, 1, i * 0, x[:2])
torch.scatter(x, 0, x, 1.0)
torch.scatter(torch.tensor(2.0), 0, torch.tensor(0), 3.0, reduce='multiply')
torch.linspace(x[0], x[1], 3)
torch.empty_permuted((2, 3), (1, 2))
torch.empty_permuted((2, 3), (1, 1))
torch.multinomial(torch.tensor([-1.0, 1.0]), 2, True)
torch.multinomial(torch.tensor([float('inf'), 1.0]), 2, True)
torch.roll(number, 0, 0)
torch.masked_fill(i, mask, z[0].detach())
torch.arange(0, 4, 0.5, dtype=torch.int64)
torch.rot90(cube).stride()
torch.rot90(cube, 2, (0, 2)).stride()
torch.unravel_index(i, (3, 4))[1].stride()
torch.unravel_index(i, (3, 4))
torch.unique(cube, dim=-1).stride()
torch.geqrf(cube)[0].stride()
torch.add(mask, mask, alpha=False)
torch.cat([xs, xs], out=n)
torch.hstack([xs, xs], out=n)
torch.where(mask, xs, xs, out=wide)
torch.diag(xs[0], out=wide)
torch.diag(xs[0], out=n)
torch.sort(xs, out=(wide, n))
torch.max(xs, 1, out=(wide, n))
torch.min(xs, 1, out=(f, n))
torch.unsqueeze_copy(xs, 0, out=wide)
torch.permute_copy(xs, (1, 0), out=n)
torch.multinomial(xs.abs(), 1, out=f)
torch.linspace(number.detach(), 3, 4, dtype=torch.float64, out=f)
torch.square(x, out=f)
torch.hstack([x, x], out=f)
torch.alias_copy(xs, out=torch.zeros(3, 4, requires_grad=True))
torch.softmax(xs, 0, out=torch.zeros(3, 4, requires_grad=True))
torch.qr(xs, out=(wide, wide))
xs.lu(get_infos=True).__class__.__name__
turned.float(memory_format=torch.contiguous_format).stride()
turned[:, ::2].float(memory_format=torch.contiguous_format).stride()
torch.ops.aten._batch_norm_with_update(cube, None, None, torch.zeros(3), torch.ones(3), 0.1, 1e-5)
type(torch.ops.aten.split(xs, 1)).__name__
type(torch.split(xs, 1)).__name__
type(xs.split([1, 2])).__name__
type(torch.ops.aten.aminmax(xs)).__name__
type(torch.ops.aten.unbind(xs)).__name__
torch.ops.aten.einsum('ij,kj->ik', [xs, xs])
torch.ops.aten.block_diag([xs[0], xs[1]])
torch.ops.aten.meshgrid([xs[0], xs[1]])
torch.ops.aten.cartesian_prod([xs[0], xs[1]])
torch.ops.aten.mT(x)
torch.ops.aten.size(xs)
torch.ops.aten.is_complex(z)
torch.ops.aten.uniform(xs, 1.0, 1.0)
torch.ops.aten.unique_consecutive(i[0] // 2)
torch.ops.aten.nll_loss(xs, i[0, :3])
torch.ops.aten.hardshrink_backward(xs, xs * 2, 0.5)
torch.ops.aten.huber_loss_backward(number.detach(), xs, xs * 2, 1, 0.5)
torch.ops.aten.smooth_l1_loss_backward(xs, xs, xs * 2, 0, 0.5)
torch.ops.aten.reflection_pad1d_backward(torch.ones(1, 3, 7), xs[None], [2, 1])
torch.ops.aten.avg_pool2d_backward(torch.ones(2, 2, 3), cube, [2, 2], [1, 1], [0, 0], False, True, None)
torch.ops.aten._adaptive_avg_pool2d_backward(torch.ones(2, 2, 2), cube)
torch.ops.aten.max_pool2d_with_indices_backward(torch.ones(2, 1, 2), cube, [2, 2], [2, 2], [0, 0], [1, 1], False, torch.tensor([[[0, 7]], [[1, 6]]]))
torch.ops.aten.unfold_backward(torch.ones(3, 2), [4], 0, 2, 1)
torch.ops.aten.embedding_backward(xs, i[0, :3], 4, 1, False, False)
torch.ops.aten.trace_backward(number.detach(), [3, 4])
torch.equal(xs.to('meta'), xs.to('meta'))
torch.nonzero(xs.to('meta'))
xs.to('meta').unique()
xs.to('meta').unique_consecutive(dim=0)
torch.bincount(i.reshape(-1).to('meta'))
torch.masked_select(xs.to('meta'), mask.to('meta'))
torch.repeat_interleave(xs.to('meta'), i[0].to('meta'), 1)
torch.repeat_interleave(xs.to('meta'), i[0].to('meta'), 1, output_size=6).shape
torch.index_put(xs.to('meta'), (mask.to('meta'),), xs[0, :1].to('meta')).shape
torch.index_put(xs.to('meta'), (some.to('meta'),), xs[0].to('meta')).shape
torch.linspace(number.detach().to('meta'), 3, 4, device='meta').shape
torch.linalg.matrix_exp(xs[:, :3].to('meta')).shape
torch.nanmedian(xs.to('meta')).shape
torch.multinomial(xs.to('meta'), 2).shape
torch.segment_reduce(xs.to('meta'), 'max', lengths=torch.tensor([1, 2]).to('meta'), unsafe=True).shape
"""
CASES = _ORDER + [line for line in _TEXT.splitlines() if line]
