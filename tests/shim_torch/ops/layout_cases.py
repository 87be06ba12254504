"""Strides of results, whether they are views, and arguments that are refused."""

from .expressions import pattern


def inputs(torch):
    """The names that the expressions use."""
    across = pattern(torch, 4, 3, seed=1).t()
    image = pattern(torch, 2, 3, 4, 5, seed=2).to(memory_format=torch.channels_last)
    matrix = pattern(torch, 3, 3, seed=3)
    batch = pattern(torch, 3, 4, seed=4)
    return {
        "torch": torch,
        "F": torch.nn.functional,
        "vmap": torch.func.vmap,
        "jvp": torch.func.jvp,
        "form": lambda t: [tuple(t.shape), t.stride(), t._base is not None],
        "o": across,
        "image": image,
        "part": pattern(torch, 6, 8, seed=5)[::2, ::2],
        "turned": pattern(torch, 2, 3, 4, seed=6).permute(2, 0, 1),
        "mask": across > 0,
        "at": torch.tensor([0]),
        "two": torch.tensor(2.0),
        "definite": matrix @ matrix.mT + 3 * torch.eye(3),
        "matrix": matrix,
        "batch": batch,
        "masks": batch > 0,
        "three": torch.tensor([1.0, 2.0, 3.0]),
        "truth": torch.tensor([True, False]),
        "asks": torch.ones(3).requires_grad_(),
        "new": lambda: torch.ones(4),
    }


CASES = """
[form(t.flip(0)) for t in (o, image, part, turned)]
[form(t.flip(0, 1)) for t in (o, image, part, turned)]
[form(t.rot90(k)) for t in (o, image, turned) for k in (0, 1, 2, 3)]
o.rot90(1), turned.rot90(3), o.flip(1), turned.flip(0, 2)
[form(t.masked_fill(t > 0, 1.0)) for t in (o, image, part, turned)]
form(o[0].masked_fill(mask, 1.0))
[form(t.index_put((at,), two)) for t in (o, image, part, turned)]
[form(t.index_put((at, at), two, True)) for t in (o, image, turned)]
[form(t.index_put((t > 0,), two)) for t in (o, image, turned)]
[t.index_put((t > 0,), two) for t in (o, turned)]
[form(t.put(at, two.view(1))) for t in (o, image, turned)]
[form(torch.stack([image, image], d)) for d in range(5)]
torch.stack([image, image + 1], 1)
torch.stack([image, o])
[form(t.select_scatter(t[0], 0, 0)) for t in (o, image, part)]
[form(t.slice_scatter(t[:1], 0, 0, 1)) for t in (o, part)]
[form(torch.quantile(batch, 0.5)), form(torch.quantile(batch, three[:1] / 4, dim=1, keepdim=True))]
[form(torch.nanquantile(batch, three / 4, dim=0)), form(torch.quantile(batch, 0.5, keepdim=True))]
form(F.max_unpool2d(*F.max_pool2d(batch[None], (1, 2), return_indices=True), (1, 2)))
jvp(torch.linalg.cholesky, (definite,), (matrix,))
jvp(lambda t: torch.linalg.cholesky(t, upper=True), (definite,), (matrix,))
torch.func.hessian(lambda t: torch.linalg.cholesky(t).sum())(definite[:2, :2])
[torch.linspace(-5, 9, n, dtype=torch.int8) for n in (0, 1, 2, 5, 7, 30)]
[torch.linspace(0.5, 9.7, 5, dtype=t) for t in (torch.uint8, torch.int16, torch.int32, torch.int64, torch.float32)]
[torch.linspace(a, b, n, dtype=t) for a, b, n in ((-3, 2.7, 40), (0.1, 3, 9), (0.001, 0.9, 1000)) for t in (torch.float16, torch.bfloat16)]
torch.linspace(-5, 9, 7, dtype=torch.uint8)
torch.linspace(300, 1, 3, dtype=torch.int8)
torch.linspace(-7.9, 7.9, 9, dtype=torch.uint8)
[torch.logspace(0, 2.1, 4, dtype=t) for t in (torch.uint8, torch.int64)]
torch.logspace(1, 1.9, 7, dtype=torch.int32)
[torch.logspace(a, b, n, dtype=t) for a, b, n in ((0.3, 4.71, 13), (-0.3, 0.1, 7), (0.5, 3, 1)) for t in (torch.float16, torch.bfloat16)]
vmap(lambda t: torch.aminmax(t))(batch)
vmap(lambda t: torch.aminmax(t, dim=0, keepdim=True), 1)(batch)
vmap(lambda t: torch.aminmax(t, keepdim=True))(batch)
vmap(lambda t, m, v: t.masked_fill(m, v))(batch, masks, three)
vmap(lambda t, m, v: t.masked_fill(m, v), (None, 0, 0))(batch[0], masks, three)
vmap(lambda t, m, v: t.masked_fill(m, v), (0, None, 0))(batch, masks[0], three)
vmap(lambda t, m, v: t.masked_fill(m, v), (None, None, 0))(batch[0], masks[0], three)
vmap(lambda t, m, v: t.masked_fill_(m, v))(batch.clone(), masks, three)
vmap(torch.searchsorted)(batch.sort()[0], batch)
vmap(lambda t: torch.block_diag(t, t))(batch)
[truth**True, truth**False, truth.clone().pow_(True), torch.pow(truth, False)]
truth**2
truth.pow(torch.tensor(True))
torch._foreach_pow([truth], True)
new().resize_(3, bogus=1)
new().resize_()
new().resize_("x")
new().resize_(2.0)
form(new().resize_(size=(2, 2)))
form(torch.ops.aten.resize_(image.clone(), [1, 2, 2, 2], memory_format=torch.channels_last))
F.soft_margin_loss(three, asks)
torch.ops.aten.to.dtype_layout(batch, layout=torch.sparse_csr)
torch.ops.aten._to_copy(batch, layout=torch.sparse_coo)
repr(torch.nn.Hardshrink()), repr(torch.nn.Softshrink(0.25))
""".strip().splitlines()
