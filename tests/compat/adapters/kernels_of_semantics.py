"""Kernels whose results NumPy alone gets wrong; imported with Triton in scope."""

import triton
import triton.language as tl


@triton.jit
def binary(x_ptr, y_ptr, out_ptr, OP: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x, y = tl.load(x_ptr + at), tl.load(y_ptr + at)
    if OP == "+":
        out = x + y
    elif OP == "-":
        out = x - y
    elif OP == "*":
        out = x * y
    elif OP == "<":
        out = x < y
    elif OP == "max":
        out = tl.maximum(x, y)
    elif OP == "min":
        out = tl.minimum(x, y)
    elif OP == "max nan":
        out = tl.maximum(x, y, propagate_nan=tl.PropagateNan.ALL)
    elif OP == "clamp":
        out = tl.clamp(x, 0.0, 1.0)
    elif OP == "umulhi":
        out = tl.umulhi(x, y)
    elif OP == "fma":
        out = tl.fma(x, y, -1.0 + 0 * x)
    elif OP == "//":
        out = x // y
    elif OP == "%":
        out = x % y
    tl.store(out_ptr + at, out.to(out_ptr.dtype.element_ty))


@triton.jit
def parity(x_ptr, y_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    both = (tl.load(x_ptr + at) > 0) + (tl.load(y_ptr + at) > 0)
    tl.store(out_ptr + at, both.to(tl.int32))


@triton.jit
def constant(out_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.full((BLOCK,), 1.5, tl.bfloat16))


@triton.jit
def cast(x_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at).to(out_ptr.dtype.element_ty))


@triton.jit
def extremes(x_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr):
    m = tl.arange(0, M)
    x = tl.load(x_ptr + m[:, None] * N + tl.arange(0, N)[None, :])
    tl.store(out_ptr + m, tl.max(x, 1))
    tl.store(out_ptr + M + m, tl.min(x, 1))
    tl.store(out_ptr + 2 * M + m, tl.argmax(x, 1).to(tl.float32))
    tl.store(out_ptr + 3 * M + m, tl.argmin(x, 1).to(tl.float32))


@triton.jit
def affine(a_scale, a_shift, b_scale, b_shift):
    return a_scale * b_scale, a_shift * b_scale + b_shift


@triton.jit
def scan(x_ptr, y_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr, REVERSE: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    scale, shift = tl.associative_scan((tl.load(x_ptr + at), tl.load(y_ptr + at)), AXIS, affine, reverse=REVERSE)
    tl.store(out_ptr + at, scale)
    tl.store(out_ptr + M * N + at, shift)


@triton.jit
def larger(a, i, b, j):
    first = (a > b) | ((a == b) & (i < j))
    return tl.where(first, a, b), tl.where(first, i, j)


@triton.jit
def reduce(x_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr, KEEP: tl.constexpr):
    m, n = tl.arange(0, M), tl.arange(0, N)
    x = tl.load(x_ptr + m[:, None] * N + n[None, :])
    index = tl.broadcast_to(n[None, :], (M, N))
    value, place = tl.reduce((x, index), 1, larger, keep_dims=KEEP)
    tl.store(out_ptr + m, tl.reshape(value, (M,)))
    tl.store(out_ptr + M + m, tl.reshape(place, (M,)).to(tl.float32))


@triton.jit
def reduce_all(x_ptr, out_ptr, N: tl.constexpr):
    n = tl.arange(0, N)
    value, place = tl.reduce((tl.load(x_ptr + n), n), 0, larger)
    tl.store(out_ptr, value)
    tl.store(out_ptr + 1, place.to(tl.float32))


@triton.jit
def sort(x_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr, DESCENDING: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + at)
    tl.store(out_ptr + at, tl.sort(x, descending=DESCENDING))
    tl.store(out_ptr + M * N + at, tl.flip(x, 1))


@triton.jit
def descriptor_add(x_ptr, out_ptr, rows, M: tl.constexpr, N: tl.constexpr):
    source = tl.make_tensor_descriptor(x_ptr, [rows, N], [N, 1], [M, N])
    target = tl.make_tensor_descriptor(out_ptr, [rows, N], [N, 1], [M, N])
    target.atomic_add([2, 0], source.load([0, 0]))


@triton.jit
def atomics(x_ptr, out_ptr, old_ptr, OP: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    if OP == "exchange":
        old = tl.atomic_xchg(out_ptr + at, x)
    elif OP == "min":
        old = tl.atomic_min(out_ptr + at, x)
    else:
        old = tl.atomic_max(out_ptr + at, x)
    tl.store(old_ptr + at, old)


@triton.jit
def places(out_ptr, COLUMNS: tl.constexpr):
    row, column = tl.program_id(0), tl.program_id(1)
    tl.store(out_ptr + row * COLUMNS + column, row * 10 + column)


@triton.jit
def random(seed, out_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    a, b, c, d = tl.randint4x(seed, at)
    tl.store(out_ptr + at, a)
    tl.store(out_ptr + BLOCK + at, b)
    tl.store(out_ptr + 2 * BLOCK + at, c)
    tl.store(out_ptr + 3 * BLOCK + at, d)


@triton.jit
def assembly(x_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    y = tl.inline_asm_elementwise("add.f32 $0, $1, $1;", "=f,f", [x], dtype=tl.float32, is_pure=True, pack=1)
    tl.store(out_ptr + at, y)


@triton.jit
def collatz(x, y):
    if x > y:
        return x
    return y * 2


@triton.jit
def both(x, y):
    return x + y, x * y


@triton.jit
def mapped(x_ptr, y_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x, y = tl.load(x_ptr + at), tl.load(y_ptr + at)
    total, product = tl.map_elementwise(both, x, y)
    tl.store(out_ptr + at, tl.map_elementwise(collatz, x, y))
    tl.store(out_ptr + BLOCK + at, total)
    tl.store(out_ptr + 2 * BLOCK + at, product)


@triton.jit
def asserts(x_ptr):
    tl.device_assert(tl.load(x_ptr) > 5, "x is too small")


@triton.jit
def logical(x_ptr, y_ptr, out_ptr, n, OP: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x, y = tl.load(x_ptr + at) != 0, tl.load(y_ptr + at) != 0
    if OP == "and":
        out = x and y
    elif OP == "or":
        out = x or y
    elif OP == "not":
        out = not x
    elif OP == "constants":
        out = BLOCK > 1 and x and y
    elif OP == "scalars":
        out = (n > 1 and n < 3) and x
    elif OP == "never":
        out = n > 5 and tl.load(x_ptr + 1000000000) > 0
    tl.store(out_ptr + at, tl.zeros([BLOCK], tl.int32) + out.to(tl.int32))


@triton.jit
def largest(dtype: tl.constexpr):
    kind = dtype.value
    if kind.is_floating():
        return float("inf")
    return 2 ** (kind.int_bitwidth - 1) - 1


@triton.jit
def filled_with_largest(out_ptr, BLOCK: tl.constexpr):
    dtype: tl.constexpr = out_ptr.dtype.element_ty
    tl.store(out_ptr + tl.arange(0, BLOCK.value), tl.full([BLOCK], largest(dtype), dtype))


@triton.jit
def holds_for_both(a, b):
    return a and b


@triton.jit
def all_of_rows(x_ptr, out_ptr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    rows = tl.arange(0, ROWS)
    x = tl.load(x_ptr + rows[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :])
    tl.store(out_ptr + rows, tl.reduce(x != 0, axis=1, combine_fn=holds_for_both).to(tl.int32))


@triton.jit
def nearer_to_zero(a, b):
    if tl.abs(a) < tl.abs(b):
        return a
    return b


@triton.jit
def nearest_to_zero(x_ptr, out_ptr, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, BLOCK))
    tl.store(out_ptr, tl.reduce(x, axis=0, combine_fn=nearer_to_zero))
    tl.store(out_ptr + 1 + tl.arange(0, BLOCK), tl.associative_scan(x, 0, nearer_to_zero))
