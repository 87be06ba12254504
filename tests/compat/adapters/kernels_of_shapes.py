"""Kernels that ask for shapes of their blocks."""

import triton
import triton.language as tl


@triton.jit
def sizes(out, x, BLOCK: tl.constexpr):
    rows = tl.load(x + tl.arange(0, BLOCK))
    table = rows[:, None] + rows[None, :]
    tl.static_assert(table.shape[0] == BLOCK)
    tl.static_assert(table.shape == (rows[None, :] + rows[:, None]).shape)
    tl.static_assert(table.shape != rows.shape)
    tl.static_assert(table.type == (table * 2.0).type)
    tl.static_assert(table.type != (table > 0).type)
    flat = tl.reshape(table, (table.numel,))
    tl.store(out + 0, table.numel)
    tl.store(out + 1, flat.shape[0])
    tl.store(out + 2, len(table.shape))
    tl.store(out + 3, tl.zeros(rows.shape, tl.float32).numel)
    tl.store(out + 4, tl.sum(rows).numel)


@triton.jit
def zeros_of(out, SIZE: tl.constexpr):
    tl.store(out, tl.sum(tl.zeros((16,), tl.float32) + 1))
    tl.store(out, tl.sum(tl.zeros((SIZE,), tl.float32) + 1))


@triton.jit
def halves(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    pointers = x + offsets
    tl.static_assert(pointers.type.element_ty == x.type)
    block = tl.load(pointers, mask=offsets < BLOCK // 2, other=7)
    tl.store(out + offsets, tl.where(offsets < 3, block.to(tl.float32), block * 0.5))


@triton.jit
def grows(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, tl.load(x + offsets) + 1)


@triton.jit
def table(x, y, out, ROWS: tl.constexpr, COLUMNS: tl.constexpr, WRONG: tl.constexpr):
    rows, columns = tl.load(x + tl.arange(0, ROWS)), tl.load(y + tl.arange(0, COLUMNS))
    both = rows[:, None] * columns[None, :] + columns - rows[:, None]
    if WRONG:
        both += tl.zeros((ROWS, COLUMNS * 2), tl.float32)
    tl.store(out + tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :], both)


@triton.jit
def rows(counts, out, n, BLOCK: tl.constexpr, OFFSET: tl.constexpr = 1):
    row = tl.program_id(0)
    tl.store(out + row, tl.load(counts + row) * n + OFFSET)


@triton.jit
def methods(x, out, SIZE: tl.constexpr):
    offsets = tl.arange(0, SIZE)
    block = tl.load(x + offsets)
    tl.store(out + offsets, block.sigmoid() + block.sum() + block.max(axis=0) + block.softmax())


@triton.jit
def perhaps(out, bias: tl.constexpr):
    held = tl.tuple([tl.constexpr(None), tl.constexpr(3)])
    total = 1
    if held[0] is not None:
        total += 10
    if held[1] is not None:
        total += 100
    if bias is None:
        total += 1000
    tl.store(out, total)


@triton.jit
def questions(out):
    tl.extra.cuda.gdc_wait()
    tl.store(out, tl.extra.cuda.num_threads())
    tl.store(out + 1, tl.max(tl.full([tl.extra.cuda.num_threads()], 2.0, tl.float32)))
    tl.store(out + 2, tl.extra.cuda.num_warps() + tl.extra.cuda.smid())
    tl.store(out + 3, tl.extra.cuda.globaltimer() > 0)
    tl.extra.cuda.gdc_launch_dependents()


@triton.jit
def first_and_half():
    return 7, 0.5


@triton.jit
def numbers(out):
    first, half = first_and_half()
    tl.store(out, first.to(tl.int64) + half.to(tl.float32))
    tl.store(out + 1, half.to(tl.int32))
