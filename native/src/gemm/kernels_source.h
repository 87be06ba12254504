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

__device__ inline Pack load(const T* p, int left, bool wide) {
  Pack r;
  if (wide) return *reinterpret_cast<const Pack*>(p);
#pragma unroll
  for (int i = 0; i < VEC; ++i) r.v[i] = i < left ? p[i] : T(0);
  return r;
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

// 0.5 (1 + tanh(u)). What is rounded to 16 bits afterwards may have an error of a few last bits of float32.
#if TYPE == 1 || TYPE == 2
__device__ inline A gate(A u) { return __fdividef(A(1), A(1) + __expf(A(-2) * u)); }
#else
__device__ inline A gate(A u) { return A(0.5) * (A(1) + tanh_of(u)); }
#endif

template <int MODE> __device__ inline A act(A z) {
  if (MODE == RELU) return z <= A(0) ? A(0) : z;                 // NaN stays
  if (MODE == GELU) return A(0.5) * z * (A(1) + erf_of(z * A(0.70710678118654752440)));
  return z * gate(A(0.79788456080286535588) * (z + A(0.044715) * z * z * z));
}

// dy * act'(z); for relu `z` is the activation's result.
template <int MODE> __device__ inline A slope(A g, A z) {
  if (MODE == SUM) return g;
  if (MODE == RELU) return z <= A(0) ? A(0) : g;
  if (MODE == GELU) {
    A cdf = A(0.5) * (A(1) + erf_of(z * A(0.70710678118654752440)));
    return g * (cdf + z * exp_of(A(-0.5) * z * z) * A(0.39894228040143267794));
  }
  const A c = A(0.79788456080286535588), k = A(0.044715), u = c * (z + k * z * z * z);
#if TYPE == 1 || TYPE == 2
  const A t = gate(u), bell = A(2) * t * (A(1) - t);
#else
  const A h = tanh_of(u), t = A(0.5) * (A(1) + h), bell = A(0.5) * (A(1) - h * h);
#endif
  return g * (t + z * bell * c * (A(1) + A(3) * k * z * z));
}

// dz = dy * act'(kept) (not for SUM), db = column sums of it, or of dy (db may be null). Blocks of 32 x 8 threads; blockIdx.x
// takes 32 * VEC columns, blockIdx.y a share of the rows. With several shares the block that comes last adds the partial sums
// in order and leaves its counter at zero for the next launch.
template <int MODE>
__device__ inline void columns(const T* dy, long long ld_dy, const T* kept, long long ld_kept, T* dz, long long ld_dz, T* db, A* partial,
                               unsigned* counters, long long rows, int cols, int wide) {
  enum { TILE = LANES * VEC, BATCH = MODE == SUM ? 4 : 2, PACKS = TILE / WIDE, PARTS = LANES * GROUPS / PACKS };
  __shared__ A tile[GROUPS][TILE + 1];
  __shared__ bool last;
  const int lane = threadIdx.x, group = threadIdx.y, first = (blockIdx.x * LANES + lane) * VEC, left = cols - first;
  const bool whole = wide && left >= VEC;
  A sum[VEC];
#pragma unroll
  for (int i = 0; i < VEC; ++i) sum[i] = A(0);
  const long long share = (rows + gridDim.y - 1) / gridDim.y, begin = blockIdx.y * share, end = begin + share < rows ? begin + share : rows;
  if (left > 0) {
    for (long long r = begin + group; r < end; r += BATCH * GROUPS) {          // many loads under way before the first is used
      Pack g[BATCH], z[BATCH];
#pragma unroll
      for (int q = 0; q < BATCH; ++q) {
        const long long row = r + q * GROUPS < end ? r + q * GROUPS : r;       // read again, and not used
        g[q] = load(dy + row * ld_dy + first, left, whole);
        if (MODE != SUM) z[q] = load(kept + row * ld_kept + first, left, whole);
      }
#pragma unroll
      for (int q = 0; q < BATCH; ++q) {
        if (r + q * GROUPS >= end) continue;
#pragma unroll
        for (int i = 0; i < VEC; ++i) {
          const A v = MODE == SUM ? get(g[q].v[i]) : slope<MODE>(get(g[q].v[i]), get(z[q].v[i]));
          sum[i] += v;
          g[q].v[i] = put(v);
        }
        if (MODE != SUM) store(dz + (r + q * GROUPS) * ld_dz + first, g[q], left, whole);
      }
    }
  }
  if (!db) return;
#pragma unroll
  for (int i = 0; i < VEC; ++i) tile[group][lane * VEC + i] = sum[i];
  __syncthreads();
  const int flat = group * LANES + lane, column = blockIdx.x * TILE + flat;
  const bool mine = flat < TILE && column < cols;
  A total = A(0);
  if (mine)
    for (int g = 0; g < GROUPS; ++g) total += tile[g][flat];
  if (gridDim.y == 1) {
    if (mine) db[column] = put(total);
    return;
  }
  A* own = partial + (long long)blockIdx.x * gridDim.y * TILE;
  if (flat < TILE) own[blockIdx.y * TILE + flat] = total;
  __threadfence();
  __syncthreads();
  if (flat == 0) last = atomicAdd(counters + blockIdx.x, 1u) == gridDim.y - 1;
  __syncthreads();
  if (!last) return;
  __threadfence();
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

// Where rows lie one after the other they are taken as one; several loads are under way at a time.
template <int MODE>
__device__ inline void activate(const T* z, long long ld_z, T* y, long long ld_y, long long rows, int cols, int wide) {
  enum { BATCH = 4 };
  const bool flat = ld_z == cols && ld_y == cols && cols % VEC == 0 && wide;
  const int packs = (cols + VEC - 1) / VEC;
  const long long all = rows * packs, step = (long long)gridDim.x * blockDim.x;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; flat && i < all; i += BATCH * step) {
    Pack p[BATCH];
#pragma unroll
    for (int q = 0; q < BATCH; ++q) p[q] = *reinterpret_cast<const Pack*>(z + (i + q * step < all ? i + q * step : i) * VEC);
#pragma unroll
    for (int q = 0; q < BATCH; ++q) {
#pragma unroll
      for (int k = 0; k < VEC; ++k) p[q].v[k] = put(act<MODE>(get(p[q].v[k])));
      if (i + q * step < all) *reinterpret_cast<Pack*>(y + (i + q * step) * VEC) = p[q];
    }
  }
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; !flat && i < all; i += step) {
    const long long row = i / packs;
    const int first = int(i - row * packs) * VEC, left = cols - first;
    const bool whole = wide && left >= VEC;
    Pack p = load(z + row * ld_z + first, left, whole);
#pragma unroll
    for (int k = 0; k < VEC; ++k) p.v[k] = put(act<MODE>(get(p.v[k])));
    store(y + row * ld_y + first, p, left, whole);
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

#define COLUMNS(name, mode)                                                                                                             \
  extern "C" __global__ void __launch_bounds__(256, 4) name(const T* dy, long long ld_dy, const T* kept, long long ld_kept, T* dz,      \
                                                         long long ld_dz, T* db, A* partial, unsigned* counters, long long rows,        \
                                                         int cols, int wide) {                                                          \
    columns<mode>(dy, ld_dy, kept, ld_kept, dz, ld_dz, db, partial, counters, rows, cols, wide);                                        \
  }
COLUMNS(columns_sum, SUM)
COLUMNS(columns_relu, RELU)
COLUMNS(columns_gelu, GELU)
COLUMNS(columns_gelu_tanh, GELU_TANH)

#define ACTIVATE(name, mode)                                                                                                            \
  extern "C" __global__ void __launch_bounds__(256) name(const T* z, long long ld_z, T* y, long long ld_y, long long rows, int cols,    \
                                                         int wide) {                                                                    \
    activate<mode>(z, ld_z, y, ld_y, rows, cols, wide);                                                                                 \
  }
ACTIVATE(activate_relu, RELU)
ACTIVATE(activate_gelu, GELU)
ACTIVATE(activate_gelu_tanh, GELU_TANH)

#define FEW_ROWS(count)                                                                                                                 \
  extern "C" __global__ void __launch_bounds__(256) few_rows_##count(const T* x, long long ldx, const T* w, long long ldw,              \
                                                                     const T* bias, T* y, long long ldy, int rows, int n, int k) {      \
    few_rows<count>(x, ldx, w, ldw, bias, y, ldy, rows, n, k);                                                                          \
  }
FEW_ROWS(1)
FEW_ROWS(2)
)cuda";

}  // namespace shim::gemm
