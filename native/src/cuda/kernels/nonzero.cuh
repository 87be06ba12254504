#pragma once
// The part PICKS of scan.cuh: what a mask has, by the places that running counts give it.
#include "cuda/kernels/scan.cuh"

#ifdef PICKS
#include "cuda/kernels/asserts.cuh"

// --- the places of what is not zero -----------------------------------------------------------------------------------

// A block takes PART neighbouring elements; kPart of scan.cpp.
#define PART 4096
template <class X> __device__ inline bool truth(X x) {
  if constexpr (same_type<X, Bool>::value)
    return x.v != 0;
  else if constexpr (is_narrow<X>)
    return widen(x) != 0.0f;
  else
    return x != X(0);
}
// f(first element, the flags of the V from there) for each round of a block, in order of the elements.
template <class F> __device__ inline void rounds(const T* x, i64 n, F f) {
  const i64 begin = i64(blockIdx.x) * PART, end = begin + PART < n ? begin + PART : n;
  for (i64 first = begin; first < end; first += i64(blockDim.x) * V) {
    const i64 c = first + i64(threadIdx.x) * V;
    u32 flags = 0;
    if (c + V <= end) {
      const Load a = load(x + c);
#pragma unroll
      for (int k = 0; k < V; ++k) flags |= u32(truth(a.v[k])) << k;
    } else {
      for (int k = 0; k < V; ++k)
        if (c + k < end) flags |= u32(truth(x[c + k])) << k;
    }
    f(int(c - begin), flags);
  }
}
// counts[part], and one more of 0 whose place gets the total.
extern "C" __global__ void __launch_bounds__(1024) count_true(const T* x, i64 n, i64* counts) {
  u32 found = 0;
  rounds(x, n, [&](int, u32 flags) { found += __popc(flags); });
  found = across_block(found);
  if (threadIdx.x == 0) {
    counts[blockIdx.x] = found;
    if (blockIdx.x == 0) counts[gridDim.x] = 0;
  }
}
extern "C" __global__ void __launch_bounds__(1024) starts(i64* counts, i64 n) { scan_before(counts, n); }

// f(k, element) for every one that is not zero, k the order among all of them: neighbouring threads have neighbouring k.
template <class F> __device__ inline void each_true(const T* x, i64 n, const i64* starts, F f) {
  __shared__ u16 places[PART];
  u32 have = 0;
  rounds(x, n, [&](int at, u32 flags) {
    const Sums<u32> s = scan_block(u32(__popc(flags)));
    u32 k = have + s.before;
    for (int i = 0; i < V; ++i)
      if (flags >> i & 1) places[k++] = u16(at + i);
    have += s.all;
  });
  __syncthreads();
  const i64 before = starts[blockIdx.x], begin = i64(blockIdx.x) * PART;
  for (u32 k = threadIdx.x; k < have; k += blockDim.x) f(before + k, begin + places[k]);
}
struct Sizes {
  i64 n[16];
  int dims;
};
// out[dim, k] = the place along `dim` of the k-th of `total`.
extern "C" __global__ void __launch_bounds__(1024)
    place_true(const T* x, i64 n, const i64* starts, i64* out, i64 total, Sizes sizes) {
  each_true(x, n, starts, [&](i64 k, i64 element) {
    if (n <= 0xffffffffll) {
      u32 left = u32(element);
      for (int d = sizes.dims - 1; d > 0; --d) {
        const u32 size = u32(sizes.n[d]), q = left / size;
        out[d * total + k] = left - q * size;
        left = q;
      }
      out[k] = left;
    } else {
      for (int d = sizes.dims - 1; d > 0; --d) {
        const i64 q = element / sizes.n[d];
        out[d * total + k] = element - q * sizes.n[d];
        element = q;
      }
      out[k] = element;
    }
  });
}
extern "C" __global__ void __launch_bounds__(1024)
    take_true(const T* mask, i64 n, const i64* starts, const OUT* from, OUT* out) {
  each_true(mask, n, starts, [&](i64 k, i64 element) { out[k] = from[element]; });
}
// The other way: `from`, of `size` elements, into the places in turn.
extern "C" __global__ void __launch_bounds__(1024)
    put_true(const T* mask, i64 n, const i64* starts, const OUT* from, OUT* out, i64 size) {
  if (starts[gridDim.x] > size) assert_failed(AssertSite::masked_scatter, starts[gridDim.x], size);
  each_true(mask, n, starts, [&](i64 k, i64 element) { out[element] = from[k]; });
}
#endif
