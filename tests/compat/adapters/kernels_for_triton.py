"""Kernels of the adapter's tests, as users write them; imported with Triton in scope."""

import language_names
import triton
import triton.language as tl
from triton.language import exp2, static_assert
from triton.language import load as load_values
from triton.language.extra import libdevice
from triton.language.extra.cuda import libdevice as cuda_libdevice


@triton.jit
def polynomial(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0)
    y = tl.where(x < 0, -x, x) * x + tl.abs(x)
    tl.store(y_ptr + at, y, mask=at < n)


@triton.jit
def fused(x_ptr, y_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    tl.store(y_ptr + at, tl.fma(x, x, x))


@triton.jit
def dot(a_ptr, b_ptr, c_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)[:, None] * BLOCK + tl.arange(0, BLOCK)[None, :]
    tl.store(c_ptr + at, tl.dot(tl.load(a_ptr + at), tl.load(b_ptr + at)))


@triton.jit
def dot_scaled(
    a_ptr, a_scale_ptr, b_ptr, b_scale_ptr, c_ptr,
    M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, PACK: tl.constexpr, A: tl.constexpr, B: tl.constexpr,
):  # fmt: skip
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K // PACK)
    groups = tl.arange(0, K // 32)
    a = tl.load(a_ptr + m[:, None] * (K // PACK) + k[None, :])
    b = tl.load(b_ptr + n[None, :] * K + tl.arange(0, K)[:, None])
    a_scale = tl.load(a_scale_ptr + m[:, None] * (K // 32) + groups[None, :])
    b_scale = tl.load(b_scale_ptr + n[:, None] * (K // 32) + groups[None, :])
    if B == "bf16":
        c = tl.dot_scaled(a, a_scale, A, b, None, B)
    else:
        c = tl.dot_scaled(a, a_scale, A, b, b_scale, B)
    tl.store(c_ptr + m[:, None] * N + n[None, :], c)


@triton.jit
def cast(x_ptr, y_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at).to(y_ptr.dtype.element_ty))


@triton.jit
def cast_toward_zero(x_ptr, y_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at).to(y_ptr.dtype.element_ty, fp_downcast_rounding="rtz"))


@triton.jit
def add_all(x_ptr, y_ptr, old_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    old = tl.atomic_add(y_ptr + at * 0, tl.load(x_ptr + at, mask=at < n), mask=at < n)
    tl.store(old_ptr + at, old, mask=at < n)


@triton.jit
def scalars(y_ptr, eps, flag, start, stop):
    total = eps.to(tl.float64)
    for i in range(start, stop):
        total += i.to(tl.float64) * 10
    for j in tl.static_range(2):
        total += j * 1000
    typed: tl.float32 = 0.5
    total += typed.to(tl.float64)
    tl.store(y_ptr, total)
    tl.store(y_ptr + 1, flag.to(tl.float64))


@triton.jit
def wide_loop(y_ptr, start, stop, factor):
    for i in range(start, stop):
        tl.store(y_ptr, i * factor)


@triton.jit
def tanh(x_ptr, y_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(y_ptr + at, libdevice.tanh(tl.load(x_ptr + at)))


@triton.jit
def cuda_rsqrt(x_ptr, y_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(y_ptr + at, cuda_libdevice.rsqrt(tl.load(x_ptr + at)))


@triton.jit
def copy_tile(source, target, BLOCK: tl.constexpr):
    row = tl.program_id(0) * BLOCK
    target.store([row, 0], source.load([row, 0]))


@triton.autotune(
    configs=[triton.Config({"BLOCK": 32}), triton.Config({"BLOCK": 64})], key=["n"], restore_value=["y_ptr"]
)
@triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
@triton.jit
def tuned_add(x_ptr, y_ptr, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = None if EVEN else at < n
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=mask) + tl.load(y_ptr + at, mask=mask), mask=mask)


cast_to = tl.cast


@triton.jit
def bound_names(x_ptr, y_ptr, BLOCK: tl.constexpr):
    static_assert(BLOCK == 16)
    at = tl.arange(0, BLOCK)
    x = cast_to(load_values(x_ptr + at), tl.float64)
    tl.store(y_ptr + at, exp2(x) + language_names.root(x) + language_names.largest(x))


@triton.jit
def scalar_conditions(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    for step in tl.static_range(2):
        mask = (step < n) & (at >= 2)
        tl.store(y_ptr + step * BLOCK + at, tl.load(x_ptr + at, mask=mask, other=-1.0), mask=(n > 1) & (at != 7))
    tl.store(y_ptr, tl.sum(((n > 1) & (at < 3)).to(tl.int32), 0))
