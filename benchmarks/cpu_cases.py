"""Calls of the wide CPU benchmark (``cpu_wide.py``): pointwise operators, casts, copies, reductions and host overhead.

Every function takes the library under its PyTorch name and returns calls by name. Names that end in a count or in sizes
are large: their time is mostly the kernel's. The others are mostly the way to it.
"""

from __future__ import annotations

from typing import Any

from side_by_side import Cases

DTYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64")


def _of(torch: Any, name: str, n: int) -> Any:
    dtype = getattr(torch, name)
    if dtype == torch.bool:
        return torch.rand(n) > 0.5
    if dtype.is_floating_point or dtype.is_complex:
        return torch.randn(n).to(dtype)
    return torch.randint(1, 100, (n,)).to(dtype)


def dtype_cases(torch: Any) -> Cases:
    """The common pointwise operators in every dtype."""
    found: Cases = {}
    n = 1000000
    for name in DTYPES:
        x, y = _of(torch, name, n), _of(torch, name, n)
        mask = torch.rand(n) > 0.5
        found |= {
            f"add {name} 1e6": lambda x=x, y=y: x + y,
            f"eq {name} 1e6": lambda x=x, y=y: x == y,
            f"where {name} 1e6": lambda x=x, y=y, mask=mask: torch.where(mask, x, y),
            f"sum {name} 1e6": lambda x=x: x.sum(),
            f"to float32 of {name} 1e6": lambda x=x: x.to(torch.float32, copy=True),
            f"copy of {name} 1e6": lambda x=x: x.clone(),
        }
        if name != "bool":
            found[f"mul {name} 1e6"] = lambda x=x, y=y: x * y
            found[f"mul {name} by number 1e6"] = lambda x=x: x * 3
            found[f"div {name} 1e6"] = lambda x=x, y=y: x / y
        if name not in ("bool", "complex64"):
            found[f"lt {name} 1e6"] = lambda x=x, y=y: x < y
            found[f"max {name} 1e6"] = lambda x=x: x.max()
            found[f"maximum {name} 1e6"] = lambda x=x, y=y: torch.maximum(x, y)
            found[f"clamp {name} 1e6"] = lambda x=x: x.clamp(2, 50)
        if name != "float32":
            z = _of(torch, "float32", n).abs()
            found[f"float32 to {name} 1e6"] = lambda z=z, t=getattr(torch, name): z.to(t)
    return found


def pointwise_cases(torch: Any) -> Cases:
    """Single pointwise operators of float32."""
    x, y, z = (torch.randn(1000000) for _ in range(3))
    p = x.abs() + 0.1
    i, j = torch.randint(1, 1000, (1000000,)), torch.randint(1, 50, (1000000,))
    f = torch.nn.functional
    unary = """exp log sqrt rsqrt reciprocal sin cos tan tanh sigmoid relu abs neg sign floor ceil round trunc frac erf erfc expm1 log1p
    log2 log10 exp2 atan asin sinh cosh square isnan isfinite isinf lgamma digamma erfinv logit softplus hardswish hardtanh
    leaky_relu elu selu mish silu gelu celu hardsigmoid softsign logsigmoid tanhshrink relu6 nan_to_num""".split()
    found: Cases = {}
    for name in unary:
        call = getattr(torch, name, None) or getattr(f, name)
        at = p if name in ("log", "sqrt", "rsqrt", "log2", "log10", "lgamma", "digamma", "log1p") else x
        if name in ("erfinv", "logit", "asin"):
            at = torch.rand(1000000) * 0.9 + 0.05
        found[f"{name} 1e6"] = lambda call=call, at=at: call(at)
    return found | _arithmetic(torch, x, y, z, p, i, j) | _masks_and_layouts(torch, x, y, z) | _factories(torch, x, z)


def _arithmetic(torch: Any, x: Any, y: Any, z: Any, p: Any, i: Any, j: Any) -> Cases:
    """Of numbers: ``p`` positive, ``i`` and ``j`` int64."""
    b, c = x > 0, y > 0
    return {
        "add_ 1e6": lambda: x.add_(0.0),
        "add alpha 1e6": lambda: torch.add(x, y, alpha=0.5),
        "mul_ by number 1e6": lambda: y.mul_(1.0),
        "sub 1e6": lambda: x - y,
        "rsub number 1e6": lambda: 1 - x,
        "pow 2 1e6": lambda: x**2,
        "pow 3 1e6": lambda: x**3,
        "pow 0.5 1e6": lambda: p**0.5,
        "pow 2.5 1e6": lambda: p**2.5,
        "pow tensors 1e6": lambda: torch.pow(p, y),
        "atan2 1e6": lambda: torch.atan2(x, y),
        "hypot 1e6": lambda: torch.hypot(x, y),
        "fmod 1e6": lambda: torch.fmod(x, y),
        "remainder 1e6": lambda: torch.remainder(x, y),
        "floor_divide 1e6": lambda: x // y,
        "floor_divide int64 1e6": lambda: i // j,
        "remainder int64 1e6": lambda: i % j,
        "remainder int64 by number 1e6": lambda: i % 7,
        "bitwise_and int64 1e6": lambda: i & j,
        "shift int64 1e6": lambda: i << 2,
        "logical_and 1e6": lambda: b & c,
        "logical_and float 1e6": lambda: torch.logical_and(x, y),
        "logical_not 1e6": lambda: ~b,
        "addcmul 1e6": lambda: torch.addcmul(x, y, z, value=0.5),
        "addcdiv 1e6": lambda: torch.addcdiv(x, y, p, value=0.5),
        "lerp 1e6": lambda: torch.lerp(x, y, 0.3),
        "lerp tensor 1e6": lambda: torch.lerp(x, y, p),
    }


def _masks_and_layouts(torch: Any, x: Any, y: Any, z: Any) -> Cases:
    """Choices by a mask, and operands that are broadcast or strided."""
    f, b = torch.nn.functional, x > 0
    return {
        "clamp min tensor 1e6": lambda: torch.clamp(x, min=y),
        "masked_fill 1e6": lambda: x.masked_fill(b, 0.0),
        "masked_fill_ 1e6": lambda: z.masked_fill_(b, 0.0),
        "where number 1e6": lambda: torch.where(b, x, 0.0),
        "gt number 1e6": lambda: x > 0.5,
        "isclose 1e6": lambda: torch.isclose(x, y),
        "allclose 1e6": lambda: torch.allclose(x, x),
        "equal 1e6": lambda: torch.equal(x, x),
        "dropout 1e6": lambda: f.dropout(x, 0.1),
        "add row 1000x1000": lambda: x.view(1000, 1000) + y[:1000],
        "add column 1000x1000": lambda: x.view(1000, 1000) + y[:1000, None],
        "add transposed 1000x1000": lambda: x.view(1000, 1000) + y.view(1000, 1000).t(),
        "mul channels 8x64x44x44": lambda: x[: 8 * 64 * 44 * 44].view(8, 64, 44, 44) * y[:64].view(1, 64, 1, 1),
        "add every second 500000": lambda: x[::2] + y[::2],
        "outer sum 1000x1000": lambda: y[:1000, None] + x[None, :1000],
    }


def _factories(torch: Any, x: Any, z: Any) -> Cases:
    """Tensors of one number or in a row, and triangles."""
    return {
        "linspace 1e6": lambda: torch.linspace(0, 1, 1000000),
        "arange 1e6": lambda: torch.arange(1000000),
        "arange float 1e6": lambda: torch.arange(0, 1e6, 1.0),
        "zeros 1e6": lambda: torch.zeros(1000000),
        "ones 1e6": lambda: torch.ones(1000000),
        "full int64 1e6": lambda: torch.full((1000000,), 7),
        "fill_ 1e6": lambda: z.fill_(0.5),
        "zero_ 1e6": lambda: z.zero_(),
        "eye 1000": lambda: torch.eye(1000),
        "tril 1000x1000": lambda: x.view(1000, 1000).tril(),
        "triu 1000x1000": lambda: x.view(1000, 1000).triu(1),
    }


def copy_cases(torch: Any) -> Cases:
    """Moves of memory."""
    m = torch.randn(1000, 1000)
    t4 = torch.randn(16, 64, 32, 32)
    q = torch.randn(8, 128, 12, 64)
    half = m.to(torch.bfloat16)
    rows, parts = [m[i * 100 : (i + 1) * 100] for i in range(10)], list(m.chunk(4, 1))
    target, row = torch.empty(1000, 1000), torch.randn(1000)
    return {
        "transposed copy 1000x1000": lambda: m.t().contiguous(),
        "transposed copy bfloat16 1000x1000": lambda: half.t().contiguous(),
        "permuted copy 8x128x12x64": lambda: q.transpose(1, 2).contiguous(),
        "to channels_last 16x64x32x32": lambda: t4.contiguous(memory_format=torch.channels_last),
        "expanded copy 1000x1000": lambda: row.expand(1000, 1000).contiguous(),
        "expanded columns copy 1000x1000": lambda: row[:, None].expand(1000, 1000).contiguous(),
        "every second copy 500000": lambda: m.view(-1)[::2].contiguous(),
        "columns copy 1000x500": lambda: m[:, :500].contiguous(),
        "copy_ 1e6": lambda: target.copy_(m),
        "copy_ row 1000x1000": lambda: target.copy_(row),
        "copy_ cast 1e6": lambda: target.copy_(half),
        "copy_ transposed 1000x1000": lambda: target.copy_(m.t()),
        "cat rows 10 of 100x1000": lambda: torch.cat(rows),
        "cat columns 4 of 1000x250": lambda: torch.cat(parts, 1),
        "stack 10 of 100x1000": lambda: torch.stack(rows),
        "stack last 4 of 1000x1000": lambda: torch.stack([m, m, m, m], -1),
        "repeat 4x1": lambda: m[:250].repeat(4, 1),
        "repeat_interleave 1000x250": lambda: m[:, :250].repeat_interleave(4, 1),
        "tile 1000x1000": lambda: row.tile(1000, 1),
        "flip 1000x1000": lambda: m.flip(1),
        "flip rows 1000x1000": lambda: m.flip(0),
        "roll 1000x1000": lambda: m.roll(7, 1),
        "pad 1000x1000": lambda: torch.nn.functional.pad(m, (1, 1)),
        "reflect pad 16x64x32x32": lambda: torch.nn.functional.pad(t4, (1, 1, 1, 1), mode="reflect"),
        "unfold copy 1000x1000": lambda: m.unfold(1, 4, 2).contiguous(),
        "pixel_shuffle 16x64x32x32": lambda: torch.nn.functional.pixel_shuffle(t4, 2),
        "diagonal 1000x1000": lambda: m.diagonal().contiguous(),
        "tolist 1000": lambda: row.tolist(),
        "numpy 1e6": lambda: m.numpy(),
        "half() 1e6": lambda: m.half(),
        "float() of float32 1e6": lambda: m.float(),
        "double() 1e6": lambda: m.double(),
        "long() 1e6": lambda: m.long(),
    }


def reduction_cases(torch: Any) -> Cases:
    """Reductions, running joins and statistics."""
    x = torch.randn(1000000)
    m = x.view(1000, 1000)
    t4 = torch.randn(16, 64, 32, 32)
    tall, b, i = torch.randn(100000, 10), x > 0, torch.randint(0, 100, (1000, 1000))
    half = m.to(torch.bfloat16)
    wide = torch.randn(10, 100000)
    found: Cases = {}
    for name in ("sum", "mean", "amax", "argmax", "prod", "std", "logsumexp", "norm"):
        call = getattr(torch, name)
        for label, at, dim in (
            ("rows 1000x1000", m, 1),
            ("columns 1000x1000", m, 0),
            ("rows 100000x10", tall, 1),
            ("columns 100000x10", tall, 0),
            ("rows 10x100000", wide, 1),
        ):
            found[f"{name} {label}"] = lambda call=call, at=at, dim=dim: call(at, dim=dim)
    tokens = torch.randn(8, 128, 512)
    for name in ("sum", "mean", "amax", "argmax", "std", "logsumexp", "norm", "softmax"):
        found[f"{name} over tokens 8x128x512"] = lambda call=getattr(torch, name): call(tokens, dim=1)
    return found | {
        "sum bfloat16 rows 1000x1000": lambda: half.sum(1),
        "sum bfloat16 columns 1000x1000": lambda: half.sum(0),
        "sum middle 16x64x32x32": lambda: t4.sum((0, 2, 3)),
        "mean last two 16x64x32x32": lambda: t4.mean((2, 3)),
        "sum transposed 1000x1000": lambda: m.t().sum(1),
        "sum bool 1e6": lambda: b.sum(),
        "sum int64 rows 1000x1000": lambda: i.sum(1),
        "any 1e6": lambda: b.any(),
        "all rows 1000x1000": lambda: b.view(1000, 1000).all(1),
        "any float 1e6": lambda: x.any(),
        "count_nonzero 1e6": lambda: torch.count_nonzero(b),
        "max rows 1000x1000": lambda: m.max(1),
        "min columns 1000x1000": lambda: m.min(0),
        "argmax 1e6": lambda: x.argmax(),
        "aminmax 1e6": lambda: x.aminmax(),
        "var 1e6": lambda: x.var(),
        "var_mean rows 1000x1000": lambda: torch.var_mean(m, 1),
        "norm 1 1e6": lambda: x.norm(1),
        "norm inf 1e6": lambda: x.norm(float("inf")),
        "vector_norm rows 1000x1000": lambda: torch.linalg.vector_norm(m, dim=1),
        "cumsum 1e6": lambda: x.cumsum(0),
        "cumsum rows 1000x1000": lambda: m.cumsum(1),
        "cumsum columns 1000x1000": lambda: m.cumsum(0),
        "cumsum int64 rows 1000x1000": lambda: i.cumsum(1),
        "cumprod rows 1000x1000": lambda: m.cumprod(1),
        "cummax rows 1000x1000": lambda: m.cummax(1),
        "logcumsumexp rows 100x1000": lambda: m[:100].logcumsumexp(1),
        "median rows 1000x1000": lambda: m.median(1),
        "nansum 1e6": lambda: x.nansum(),
        "trace 1000x1000": lambda: m.trace(),
        "bincount 1e6": lambda: torch.bincount(i.view(-1)),
        "histc 1e6": lambda: torch.histc(x, 100, -3, 3),
        "cdist 300x300x16": lambda: torch.cdist(m[:300, :16], m[300:600, :16]),
    }
