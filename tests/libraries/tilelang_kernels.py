"""Kernels in TileLang, whose functions are read as sources: softmax and RMS norm of rows, a tuned product with ReLU."""

import tilelang
from tilelang import language as T

ROWS, COLUMNS, BLOCK, SIZE = 256, 512, 4, 256


@T.prim_func
def softmax(x: T.Tensor((ROWS, COLUMNS), "float16"), y: T.Tensor((ROWS, COLUMNS), "float16")):
    with T.Kernel(T.ceildiv(ROWS, BLOCK), threads=128) as row:
        part = T.alloc_fragment((BLOCK, COLUMNS), "float32")
        top = T.alloc_fragment((BLOCK,), "float32")
        total = T.alloc_fragment((BLOCK,), "float32")
        T.copy(x[row * BLOCK, 0], part)
        T.reduce_max(part, top, dim=1)
        for i, j in T.Parallel(BLOCK, COLUMNS):
            part[i, j] = T.exp(part[i, j] - top[i])
        T.reduce_sum(part, total, dim=1)
        for i, j in T.Parallel(BLOCK, COLUMNS):
            part[i, j] = part[i, j] / total[i]
        T.copy(part, y[row * BLOCK, 0])


@T.prim_func
def norm(
    x: T.Tensor((ROWS, COLUMNS), "float16"), w: T.Tensor((COLUMNS,), "float16"), y: T.Tensor((ROWS, COLUMNS), "float16")
):
    with T.Kernel(T.ceildiv(ROWS, BLOCK), threads=128) as row:
        part = T.alloc_fragment((BLOCK, COLUMNS), "float32")
        squares = T.alloc_fragment((BLOCK, COLUMNS), "float32")
        total = T.alloc_fragment((BLOCK,), "float32")
        T.copy(x[row * BLOCK, 0], part)
        for i, j in T.Parallel(BLOCK, COLUMNS):
            squares[i, j] = part[i, j] * part[i, j]
        T.reduce_sum(squares, total, dim=1)
        for i, j in T.Parallel(BLOCK, COLUMNS):
            part[i, j] = part[i, j] * T.rsqrt(total[i] / COLUMNS + 1e-6) * w[j]
        T.copy(part, y[row * BLOCK, 0])


def product(block):
    """ReLU of a product, in blocks of that many rows and columns."""

    @T.prim_func
    def kernel(
        a: T.Tensor((SIZE, SIZE), "float16"), b: T.Tensor((SIZE, SIZE), "float16"), c: T.Tensor((SIZE, SIZE), "float16")
    ):
        with T.Kernel(SIZE // block, SIZE // block, threads=128) as (column, row):
            a_shared = T.alloc_shared((block, 32), "float16")
            b_shared = T.alloc_shared((32, block), "float16")
            total = T.alloc_fragment((block, block), "float32")
            T.clear(total)
            for k in T.Pipelined(SIZE // 32, num_stages=2):
                T.copy(a[row * block, k * 32], a_shared)
                T.copy(b[k * 32, column * block], b_shared)
                T.gemm(a_shared, b_shared, total)
            for i, j in T.Parallel(block, block):
                total[i, j] = T.max(total[i, j], 0)
            T.copy(total, c[row * block, column * block])

    return kernel


@tilelang.autotune(configs=[{"block": 64}, {"block": 128}], warmup=3, rep=10)
@tilelang.jit(out_idx=[2])
def tuned(block=64):
    return product(block)
