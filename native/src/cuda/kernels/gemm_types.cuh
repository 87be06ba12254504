#pragma once
// The kernels that surround matrix products, for NVRTC. -DTYPE chooses the dtype: 0 float32, 1 float16,
// 2 bfloat16, 3 float64. Sums are in float32 (float64) in a fixed order; no float atomics.
// Types, and 16 bytes at a time; the head of both programs.

#if TYPE == 0
typedef float T;
typedef float A;
__device__ inline A get(T v) { return v; }
__device__ inline T put(A v) { return v; }
#elif TYPE == 1
typedef unsigned short T;
typedef float A;
__device__ inline A get(T v) {
  float f;
  asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(v));
  return f;
}
__device__ inline T put(A v) {
  T h;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(v));
  return h;
}
#elif TYPE == 2
typedef unsigned short T;
typedef float A;
__device__ inline A get(T v) { return __uint_as_float((unsigned)v << 16); }
__device__ inline T put(A v) {
  T h;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(h) : "f"(v));
  return h;
}
#else
typedef double T;
typedef double A;
__device__ inline A get(T v) { return v; }
__device__ inline T put(A v) { return v; }
#endif

enum { VEC = 16 / sizeof(T), LANES = 32, GROUPS = 8 };
struct alignas(16) Pack {
  T v[VEC];
};

// Rounded to T, two at a time where there is an instruction for it.
#if TYPE == 2
__device__ inline unsigned put_two(A low, A high) {
  unsigned r;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
  return r;
}
#elif TYPE == 1 && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
__device__ inline unsigned put_two(A low, A high) {
  unsigned r;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
  return r;
}
#else
__device__ inline unsigned put_two(A low, A high) { return (unsigned)put(low) | (unsigned)put(high) << 16; }
#endif

__device__ inline Pack rounded(const A (&v)[VEC]) {
#if TYPE == 1 || TYPE == 2
  struct alignas(16) Words {
    unsigned w[4];
  } r;
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
template <bool LAST = false> __device__ inline Pack load(const T* p, int left, bool wide) {
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
  if (wide) {
    *reinterpret_cast<Pack*>(p) = r;
    return;
  }
#pragma unroll
  for (int i = 0; i < VEC; ++i)
    if (i < left) p[i] = r.v[i];
}

#if TYPE == 3
typedef double2 Wide;
__device__ inline void add(A (&to)[2], Wide v) {
  to[0] += v.x;
  to[1] += v.y;
}
__device__ inline Wide wide_of(const A (&v)[2]) { return Wide{v[0], v[1]}; }
#else
typedef float4 Wide;
__device__ inline void add(A (&to)[4], Wide v) {
  to[0] += v.x;
  to[1] += v.y;
  to[2] += v.z;
  to[3] += v.w;
}
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
