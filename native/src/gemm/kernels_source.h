#pragma once
// CUDA C++ of the kernels that surround matrix products, for NVRTC. -DTYPE chooses the dtype: 0 float32, 1 float16,
// 2 bfloat16, 3 float64. Sums are in float32 (float64) in a fixed order; no float atomics.

namespace shim::gemm {

// Types, and 16 bytes at a time; the head of both programs.
inline const char* const kTypesSource = R"cuda(
#if TYPE == 0
typedef float T; typedef float A;
__device__ inline A get(T v) { return v; }
__device__ inline T put(A v) { return v; }
#elif TYPE == 1
typedef unsigned short T; typedef float A;
__device__ inline A get(T v) { float f; asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(v)); return f; }
__device__ inline T put(A v) { T h; asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(v)); return h; }
#elif TYPE == 2
typedef unsigned short T; typedef float A;
__device__ inline A get(T v) { return __uint_as_float((unsigned)v << 16); }
__device__ inline T put(A v) { T h; asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(h) : "f"(v)); return h; }
#else
typedef double T; typedef double A;
__device__ inline A get(T v) { return v; }
__device__ inline T put(A v) { return v; }
#endif

enum { VEC = 16 / sizeof(T), LANES = 32, GROUPS = 8 };
struct alignas(16) Pack { T v[VEC]; };

// Rounded to T, two at a time where there is an instruction for it.
#if TYPE == 2
__device__ inline unsigned put_two(A low, A high) { unsigned r; asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low)); return r; }
#elif TYPE == 1 && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
__device__ inline unsigned put_two(A low, A high) { unsigned r; asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low)); return r; }
#else
__device__ inline unsigned put_two(A low, A high) { return (unsigned)put(low) | (unsigned)put(high) << 16; }
#endif

__device__ inline Pack rounded(const A (&v)[VEC]) {
#if TYPE == 1 || TYPE == 2
  struct alignas(16) Words { unsigned w[4]; } r;
#pragma unroll
  for (int i = 0; i < 4; ++i) r.w[i] = put_two(v[2 * i], v[2 * i + 1]);
  return *reinterpret_cast<Pack*>(&r);
#else
  Pack r;
#pragma unroll
  for (int i = 0; i < VEC; ++i) r.v[i] = put(v[i]);
  return r;
#endif
}

// 16-bit values stay two to a register, however they were loaded. LAST: nobody reads them soon again, and the cache may drop them
// first, instead of writing out what others left there.
template <bool LAST = false>
__device__ inline Pack load(const T* p, int left, bool wide) {
#if TYPE == 1 || TYPE == 2
  uint4 r = {0, 0, 0, 0};
  if (wide) {
    r = LAST ? __ldcs(reinterpret_cast<const uint4*>(p)) : *reinterpret_cast<const uint4*>(p);
  } else {
    unsigned w[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) w[i] = (2 * i < left ? p[2 * i] : 0u) | (2 * i + 1 < left ? p[2 * i + 1] : 0u) << 16;
    r = {w[0], w[1], w[2], w[3]};
  }
  return *reinterpret_cast<Pack*>(&r);
#else
  Pack r;
  if (wide) return *reinterpret_cast<const Pack*>(p);
#pragma unroll
  for (int i = 0; i < VEC; ++i) r.v[i] = i < left ? p[i] : T(0);
  return r;
#endif
}

__device__ inline void store(T* p, const Pack& r, int left, bool wide) {
  if (wide) { *reinterpret_cast<Pack*>(p) = r; return; }
#pragma unroll
  for (int i = 0; i < VEC; ++i) if (i < left) p[i] = r.v[i];
}

#if TYPE == 3
typedef double2 Wide;
__device__ inline void add(A (&to)[2], Wide v) { to[0] += v.x; to[1] += v.y; }
__device__ inline Wide wide_of(const A (&v)[2]) { return Wide{v[0], v[1]}; }
#else
typedef float4 Wide;
__device__ inline void add(A (&to)[4], Wide v) { to[0] += v.x; to[1] += v.y; to[2] += v.z; to[3] += v.w; }
__device__ inline Wide wide_of(const A (&v)[4]) { return Wide{v[0], v[1], v[2], v[3]}; }
#endif
enum { WIDE = sizeof(Wide) / sizeof(A) };

// The same totals of several blocks, added in the order of the blocks by the one that comes last; true for that one. The
// counter is left at zero for the next launch.
template <int COUNT>
__device__ inline bool add_shares(A (&total)[COUNT][WIDE], Wide* partial, unsigned* counter, int share, int shares) {
  __shared__ bool last;
  if (shares == 1) return true;
  const int flat = threadIdx.y * LANES + threadIdx.x;
#pragma unroll
  for (int q = 0; q < COUNT; ++q) partial[(share * COUNT + q) * (GROUPS * LANES) + flat] = wide_of(total[q]);
  __threadfence();
  __syncthreads();
  if (flat == 0) last = atomicAdd(counter, 1u) == unsigned(shares) - 1;
  __syncthreads();
  if (!last) return false;
  __threadfence();
#pragma unroll
  for (int q = 0; q < COUNT; ++q) {
#pragma unroll
    for (int i = 0; i < WIDE; ++i) total[q][i] = A(0);
#pragma unroll 8
    for (int s = 0; s < shares; ++s) add(total[q], __ldcg(partial + (s * COUNT + q) * (GROUPS * LANES) + flat));
  }
  if (flat == 0) *counter = 0;
  return true;
}
)cuda";

// Column sums and activations.
inline const char* const kKernelsSource = R"cuda(
enum Mode { SUM = 0, RELU = 1, GELU = 2, GELU_TANH = 3 };
__device__ inline float erf_of(float x) { return erff(x); }
__device__ inline double erf_of(double x) { return erf(x); }
__device__ inline float exp_of(float x) { return expf(x); }
__device__ inline double exp_of(double x) { return exp(x); }
__device__ inline float tanh_of(float x) { return tanhf(x); }
__device__ inline double tanh_of(double x) { return tanh(x); }

// What is rounded to 16 bits afterwards may have an error of a few last bits of float32, and is made of the device's own
// reciprocal and power of two.
#if TYPE == 1 || TYPE == 2
__device__ inline A inverse(A x) { A r; asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x)); return r; }
__device__ inline A power_of_two(A x) { A r; asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x)); return r; }

// 0.5 (1 + tanh(u)), u = 0.798 (z + 0.0447 z^3): 1 / (1 + exp(-2 u)).
__device__ inline A tanh_gate(A z) {
  const A a = A(-2 * 1.4426950408889634 * 0.79788456080286535588);
  return inverse(A(1) + power_of_two(z * (a + a * A(0.044715) * z * z)));
}

// The normal distribution's function at z, and exp(-z^2 / 2): 0.5 erfc(|z| / sqrt 2) is that exponential times a polynomial of
// 1 / (1 + 0.31 |z|), fitted to a relative error of 5e-6.
__device__ inline A normal(A z, A* bell) {
  const A x = fabsf(z), t = inverse(A(1) + A(0.31) * x);
  *bell = power_of_two(A(-0.72134752044448170) * z * z);
  A p = A(-0.07392886238745726);
  p = A(0.1804486432268635) + p * t;
  p = A(0.01574804428400724) + p * t;
  p = A(0.13342694616179313) + p * t;
  p = A(0.12044235470073786) + p * t;
  p = A(0.12386055501063381) + p * t;
  const A tail = p * t * *bell;
  return z < A(0) ? tail : A(1) - tail;
}
#else
__device__ inline A tanh_gate(A z) { return A(0.5) * (A(1) + tanh_of(A(0.79788456080286535588) * (z + A(0.044715) * z * z * z))); }
__device__ inline A normal(A z, A* bell) {
  *bell = exp_of(A(-0.5) * z * z);
  return A(0.5) * (A(1) + erf_of(z * A(0.70710678118654752440)));
}
#endif

template <int MODE> __device__ inline A act(A z) {
  if (MODE == RELU) return z <= A(0) ? A(0) : z;                 // NaN stays
  if (MODE == GELU) {
    A bell;
    return z * normal(z, &bell);
  }
  return z * tanh_gate(z);
}

// dy * act'(z); for relu `z` is the activation's result.
template <int MODE> __device__ inline A slope(A g, A z) {
  if (MODE == SUM) return g;
  if (MODE == RELU) return z <= A(0) ? A(0) : g;
  if (MODE == GELU) {
    A bell;
    const A cdf = normal(z, &bell);
    return g * (cdf + z * bell * A(0.39894228040143267794));
  }
  const A c = A(0.79788456080286535588), k = A(0.044715);
#if TYPE == 1 || TYPE == 2
  const A t = tanh_gate(z);
  return g * (t + (t - t * t) * z * (A(2) * c + A(6) * c * k * z * z));
#else
  const A h = tanh_of(c * (z + k * z * z * z)), t = A(0.5) * (A(1) + h), bell = A(0.5) * (A(1) - h * h);
  return g * (t + z * bell * c * (A(1) + A(3) * k * z * z));
#endif
}

// With a launch that may begin before the kernel ahead of it has ended: waits for that one and for what it wrote.
__device__ inline void wait_for_inputs() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// dz = dy * act'(kept) (not for SUM), db = column sums of it, or of dy (db may be null). Blocks of 32 x 8 threads; blockIdx.x
// takes 32 * VEC columns, blockIdx.y a share of the rows. With several shares the block that comes last adds the partial sums
// in order and leaves its counter at zero for the next launch.
template <int MODE>
__device__ inline void columns(const T* dy, long long ld_dy, const T* kept, long long ld_kept, T* dz, long long ld_dz, T* db, A* partial,
                               unsigned* counters, long long rows, int cols, int wide) {
  enum { TILE = LANES * VEC, BATCH = MODE == SUM ? 8 : sizeof(T) == 8 ? 2 : 4, PACKS = TILE / WIDE, PARTS = LANES * GROUPS / PACKS };
  __shared__ A tile[GROUPS][TILE + 1];
  __shared__ bool last;
  const int lane = threadIdx.x, group = threadIdx.y, first = (blockIdx.x * LANES + lane) * VEC, left = cols - first;
  const bool whole = wide && left >= VEC;
  A sum[VEC];
#pragma unroll
  for (int i = 0; i < VEC; ++i) sum[i] = A(0);
  const long long share = (rows + gridDim.y - 1) / gridDim.y, begin = blockIdx.y * share, end = begin + share < rows ? begin + share : rows;
  const long long row = begin + group;
  const int count = left > 0 && row < end ? int((end - row + GROUPS - 1) / GROUPS) : 0;
  const T *from = dy + row * ld_dy + first, *beside = kept + row * ld_kept + first;
  T* to = dz + row * ld_dz + first;
  Pack g[BATCH], z[BATCH];
  for (int i = 0; i < count; i += BATCH) {      // many loads under way before the first is used
#pragma unroll
    for (int q = 0; q < BATCH; ++q) {
      g[q] = load<MODE != SUM>(from, left, whole);
      if (MODE != SUM) z[q] = load<true>(beside, left, whole);
      if (i + q + 1 >= count) continue;         // past the last row it is read again, and not used
      from += GROUPS * ld_dy;
      beside += GROUPS * ld_kept;
    }
#pragma unroll
    for (int q = 0; q < BATCH; ++q) {
      if (i + q >= count) break;
      A v[VEC];
#pragma unroll
      for (int j = 0; j < VEC; ++j) {
        v[j] = MODE == SUM ? get(g[q].v[j]) : slope<MODE>(get(g[q].v[j]), get(z[q].v[j]));
        sum[j] += v[j];
      }
      if (MODE == SUM) continue;
      store(to, rounded(v), left, whole);
      to += GROUPS * ld_dz;
    }
  }
  const int flat = group * LANES + lane, column = blockIdx.x * TILE + flat;
  const bool mine = flat < TILE && column < cols;
  A* own = partial + (long long)blockIdx.x * gridDim.y * TILE;
  A total = A(0);
  if (!db) return;
#pragma unroll
  for (int j = 0; j < VEC; ++j) tile[group][lane * VEC + j] = sum[j];
  __syncthreads();
  if (mine)
    for (int g = 0; g < GROUPS; ++g) total += tile[g][flat];
  if (gridDim.y == 1) {
    if (mine) db[column] = put(total);
    return;
  }
  if (flat < TILE) own[blockIdx.y * TILE + flat] = total;
  __syncthreads();
  if (flat == 0) {                              // its fences are those of the whole block, which it met before and meets after
    __threadfence();
    last = atomicAdd(counters + blockIdx.x, 1u) == gridDim.y - 1;
    __threadfence();
  }
  __syncthreads();
  if (!last) return;
  const int part = flat / PACKS, pack = flat % PACKS;         // several threads a column, each every PARTS-th share
  A some[WIDE];
#pragma unroll
  for (int i = 0; i < WIDE; ++i) some[i] = A(0);
#pragma unroll 8
  for (int s = part; s < int(gridDim.y); s += PARTS) add(some, __ldcg(reinterpret_cast<const Wide*>(own + s * TILE) + pack));
#pragma unroll
  for (int i = 0; i < WIDE; ++i) tile[part][pack * WIDE + i] = some[i];
  __syncthreads();
  if (mine) {
    total = A(0);
    for (int g = 0; g < PARTS; ++g) total += tile[g][flat];
    db[column] = put(total);
  }
  if (flat == 0) counters[blockIdx.x] = 0;
}

template <int MODE> __device__ inline Pack activated(const Pack& z) {
  A v[VEC];
#pragma unroll
  for (int k = 0; k < VEC; ++k) v[k] = act<MODE>(get(z.v[k]));
  return rounded(v);
}

// Where rows lie one after the other they are taken as one; several loads are under way at a time.
template <int MODE>
__device__ inline void activate(const T* z, long long ld_z, T* y, long long ld_y, long long rows, int cols, int wide) {
  enum { BATCH = 4 };
  const bool flat = ld_z == cols && ld_y == cols && cols % VEC == 0 && wide;
  const int packs = (cols + VEC - 1) / VEC;
  const long long all = rows * packs, step = (long long)gridDim.x * blockDim.x;
  long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  for (; flat && i + (BATCH - 1) * step < all; i += BATCH * step) {
    Pack p[BATCH];
#pragma unroll
    for (int q = 0; q < BATCH; ++q) p[q] = *reinterpret_cast<const Pack*>(z + (i + q * step) * VEC);
#pragma unroll
    for (int q = 0; q < BATCH; ++q) *reinterpret_cast<Pack*>(y + (i + q * step) * VEC) = activated<MODE>(p[q]);
  }
  for (; i < all; i += step) {
    const long long row = flat ? 0 : i / packs;
    const long long first = (i - row * packs) * VEC;
    const int left = flat ? VEC : cols - int(first);
    const bool whole = wide && left >= VEC;
    store(y + row * ld_y + first, activated<MODE>(load(z + row * ld_z + first, left, whole)), left, whole);
  }
}

// y = x w^T + bias for at most ROWS rows: one warp a row of w, which is read once. K is a multiple of VEC, all is aligned.
template <int ROWS>
__device__ inline void few_rows(const T* x, long long ldx, const T* w, long long ldw, const T* bias, T* y, long long ldy, int rows, int n, int k) {
  const int row = blockIdx.x * GROUPS + threadIdx.y, lane = threadIdx.x;
  if (row >= n) return;
  A sum[ROWS];
#pragma unroll
  for (int m = 0; m < ROWS; ++m) sum[m] = A(0);
  const T* own = w + row * ldw;
#pragma unroll 2
  for (int i = lane * VEC; i < k; i += LANES * VEC) {
    const Pack b = *reinterpret_cast<const Pack*>(own + i);
#pragma unroll
    for (int m = 0; m < ROWS; ++m) {
      if (m >= rows) break;
      const Pack a = *reinterpret_cast<const Pack*>(x + m * ldx + i);
#pragma unroll
      for (int j = 0; j < VEC; ++j) sum[m] += get(a.v[j]) * get(b.v[j]);
    }
  }
#pragma unroll
  for (int m = 0; m < ROWS; ++m) {
#pragma unroll
    for (int d = 16; d; d >>= 1) sum[m] += __shfl_xor_sync(0xffffffffu, sum[m], d);
  }
  if (lane) return;
  const A add = bias ? get(bias[row]) : A(0);
#pragma unroll
  for (int m = 0; m < ROWS; ++m)
    if (m < rows) y[m * ldy + row] = put(sum[m] + add);
}

// y[i][j] = a[i] b[j]: a thread keeps its piece of b and writes every gridDim.y-th row. `wide`: packs of y and b are aligned.
__device__ inline void outer_of(const T* a, long long step_a, const T* b, long long step_b, T* y, long long ld, long long rows, int cols, int wide) {
  const int first = (blockIdx.x * blockDim.x + threadIdx.x) * VEC, left = cols - first;
  if (left <= 0) return;
  A own[VEC];
#pragma unroll
  for (int j = 0; j < VEC; ++j) own[j] = j < left ? get(b[(first + j) * step_b]) : A(0);
  const bool whole = wide && left >= VEC;
  for (long long row = blockIdx.y; row < rows; row += gridDim.y) {
    const A factor = get(a[row * step_a]);
    A v[VEC];
#pragma unroll
    for (int j = 0; j < VEC; ++j) v[j] = factor * own[j];
    store(y + row * ld + first, rounded(v), left, whole);
  }
}

extern "C" __global__ void __launch_bounds__(256) outer_product(const T* a, long long step_a, const T* b, long long step_b, T* y, long long ld,
                                                                long long rows, int cols, int wide) {
  wait_for_inputs();
  outer_of(a, step_a, b, step_b, y, ld, rows, cols, wide);
}

#define COLUMNS(name, mode)                                                                                                             \
  extern "C" __global__ void __launch_bounds__(256, 4) name(const T* dy, long long ld_dy, const T* kept, long long ld_kept, T* dz,      \
                                                         long long ld_dz, T* db, A* partial, unsigned* counters, long long rows,        \
                                                         int cols, int wide) {                                                          \
    wait_for_inputs();                                                                                                                  \
    columns<mode>(dy, ld_dy, kept, ld_kept, dz, ld_dz, db, partial, counters, rows, cols, wide);                                        \
  }
COLUMNS(columns_sum, SUM)
COLUMNS(columns_relu, RELU)
COLUMNS(columns_gelu, GELU)
COLUMNS(columns_gelu_tanh, GELU_TANH)

#define ACTIVATE(name, mode)                                                                                                            \
  extern "C" __global__ void __launch_bounds__(256) name(const T* z, long long ld_z, T* y, long long ld_y, long long rows, int cols,    \
                                                         int wide) {                                                                    \
    wait_for_inputs();                                                                                                                  \
    activate<mode>(z, ld_z, y, ld_y, rows, cols, wide);                                                                                 \
  }
ACTIVATE(activate_relu, RELU)
ACTIVATE(activate_gelu, GELU)
ACTIVATE(activate_gelu_tanh, GELU_TANH)

#define FEW_ROWS(count)                                                                                                                 \
  extern "C" __global__ void __launch_bounds__(256) few_rows_##count(const T* x, long long ldx, const T* w, long long ldw,              \
                                                                     const T* bias, T* y, long long ldy, int rows, int n, int k) {      \
    wait_for_inputs();                                                                                                                  \
    few_rows<count>(x, ldx, w, ldw, bias, y, ldy, rows, n, k);                                                                          \
  }
FEW_ROWS(1)
FEW_ROWS(2)
)cuda";

}  // namespace shim::gemm
