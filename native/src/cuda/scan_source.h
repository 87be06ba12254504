#pragma once
// CUDA C++ of running sums, and of picking what a mask has, compiled by NVRTC after types_source.h and block_source.h with macros:
//   ELEMENT the element type, C the type that sums are computed in, OUT the results', V elements of one load, SUMS 1 or PICKS 1: which part.
namespace shim::cuda {

inline constexpr const char* kScanSource = R"cuda(
// What the threads before have, never as a difference of sums: that would lose small values next to large ones.
template <class X> __device__ inline X of_warp_before(X inclusive) {
  const X before = __shfl_up_sync(FULL, inclusive, 1);
  return threadIdx.x % 32 ? before : X(0);
}
template <class X> struct Sums { X before, all; };              // of the threads before, and of the block
template <class X> __device__ inline Sums<X> scan_block(X value) {
  __shared__ X shared[33];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  X sum = value;
#pragma unroll
  for (int step = 1; step < 32; step *= 2) { const X other = __shfl_up_sync(FULL, sum, step); if (lane >= step) sum += other; }
  __syncthreads();
  if (lane == 31) shared[warp] = sum;
  __syncthreads();
  if (warp == 0) {
    X of = lane < warps ? shared[lane] : X(0);
#pragma unroll
    for (int step = 1; step < 32; step *= 2) { const X other = __shfl_up_sync(FULL, of, step); if (lane >= step) of += other; }
    shared[lane] = of_warp_before(of);
    if (lane == 31) shared[32] = of;
  }
  __syncthreads();
  return {shared[warp] + of_warp_before(sum), shared[32]};
}
// In place: each becomes the sum of those before it.
template <class X> __device__ inline void scan_before(X* of, i64 count) {
  X carry = 0;
  for (i64 first = 0; first < count; first += blockDim.x) {
    const i64 k = first + threadIdx.x;
    const Sums<X> s = scan_block(k < count ? of[k] : X(0));
    if (k < count) of[k] = carry + s.before;
    carry += s.all;
    __syncthreads();
  }
}

#ifdef SUMS
// out[row, c] = the sum of x[row, 0..c], of the part that begins at blockIdx.y * per, plus what `carried` has of the parts before.
extern "C" __global__ void __launch_bounds__(1024) scan_rows(const T* x, OUT* out, const C* carried, i64 cols, i64 per) {
  const T* from = x + i64(blockIdx.x) * cols;
  OUT* to = out + i64(blockIdx.x) * cols;
  const i64 begin = i64(blockIdx.y) * per, end = begin + per < cols ? begin + per : cols;
  C carry = carried ? carried[i64(blockIdx.x) * gridDim.y + blockIdx.y] : C(0);
  for (i64 first = begin; first < end; first += i64(blockDim.x) * V) {
    const i64 c = first + i64(threadIdx.x) * V;
    C sums[V], sum = 0;
    if (c + V <= end) {
      const Load a = load(from + c);
#pragma unroll
      for (int k = 0; k < V; ++k) sums[k] = sum += wide(a.v[k]);
    } else {
      for (int k = 0; k < V; ++k) sums[k] = sum += c + k < end ? wide(from[c + k]) : C(0);
    }
    const Sums<C> s = scan_block(sum);
    for (int k = 0; k < V; ++k) if (c + k < end) to[c + k] = cast<OUT>(C(carry + s.before + sums[k]));
    carry += s.all;
  }
}
// parts[row, part] = the sum of the part
extern "C" __global__ void __launch_bounds__(1024) scan_parts(const T* x, C* parts, i64 cols, i64 per) {
  const T* from = x + i64(blockIdx.x) * cols;
  const i64 begin = i64(blockIdx.y) * per, end = begin + per < cols ? begin + per : cols;
  C sum = 0;
  for (i64 c = begin + i64(threadIdx.x) * V; c < end; c += i64(blockDim.x) * V) {
    if (c + V <= end) {
      const Load a = load(from + c);
#pragma unroll
      for (int k = 0; k < V; ++k) sum += wide(a.v[k]);
    } else {
      for (i64 k = c; k < end; ++k) sum += wide(from[k]);
    }
  }
  sum = across_block(sum);
  if (threadIdx.x == 0) parts[i64(blockIdx.x) * gridDim.y + blockIdx.y] = sum;
}
// A block a row.
extern "C" __global__ void __launch_bounds__(1024) scan_carries(C* parts, i64 count) { scan_before(parts + i64(blockIdx.x) * count, count); }
// (outer, n, inner) along n: 32 neighbouring columns and 32 parts of n a block.
extern "C" __global__ void __launch_bounds__(1024) scan_columns(const T* x, OUT* out, i64 n, i64 inner) {
  __shared__ C shared[32][33];
  const i64 column = i64(blockIdx.x) * 32 + threadIdx.x, per = (n + 31) / 32, begin = threadIdx.y * per, end = begin + per < n ? begin + per : n;
  const i64 at = i64(blockIdx.y) * n * inner + column;
  C sum = 0;
  if (column < inner) for (i64 k = begin; k < end; ++k) sum += wide(x[at + k * inner]);
  shared[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (column >= inner) return;
  sum = 0;
  for (int k = 0; k < int(threadIdx.y); ++k) sum += shared[k][threadIdx.x];
  for (i64 k = begin; k < end; ++k) out[at + k * inner] = cast<OUT>(C(sum += wide(x[at + k * inner])));
}
#endif

#ifdef PICKS
// --- the places of what is not zero -----------------------------------------------------------------------------------

// A block takes PART neighbouring elements; kPart of scan.cpp.
#define PART 4096
template <class X> __device__ inline bool truth(X x) {
  if constexpr (same_type<X, Bool>::value) return x.v != 0;
  else if constexpr (is_narrow<X>) return widen(x) != 0.0f;
  else return x != X(0);
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
      for (int k = 0; k < V; ++k) if (c + k < end) flags |= u32(truth(x[c + k])) << k;
    }
    f(int(c - begin), flags);
  }
}
// counts[part], and one more of 0 whose place gets the total.
extern "C" __global__ void __launch_bounds__(1024) count_true(const T* x, i64 n, i64* counts) {
  u32 found = 0;
  rounds(x, n, [&](int, u32 flags) { found += __popc(flags); });
  found = across_block(found);
  if (threadIdx.x == 0) { counts[blockIdx.x] = found; if (blockIdx.x == 0) counts[gridDim.x] = 0; }
}
extern "C" __global__ void __launch_bounds__(1024) starts(i64* counts, i64 n) { scan_before(counts, n); }

// f(k, element) for every one that is not zero, k the order among all of them: neighbouring threads have neighbouring k.
template <class F> __device__ inline void each_true(const T* x, i64 n, const i64* starts, F f) {
  __shared__ u16 places[PART];
  u32 have = 0;
  rounds(x, n, [&](int at, u32 flags) {
    const Sums<u32> s = scan_block(u32(__popc(flags)));
    u32 k = have + s.before;
    for (int i = 0; i < V; ++i) if (flags >> i & 1) places[k++] = u16(at + i);
    have += s.all;
  });
  __syncthreads();
  const i64 before = starts[blockIdx.x], begin = i64(blockIdx.x) * PART;
  for (u32 k = threadIdx.x; k < have; k += blockDim.x) f(before + k, begin + places[k]);
}
struct Sizes { i64 n[16]; int dims; };
// out[dim, k] = the place along `dim` of the k-th of `total`.
extern "C" __global__ void __launch_bounds__(1024) place_true(const T* x, i64 n, const i64* starts, i64* out, i64 total, Sizes sizes) {
  each_true(x, n, starts, [&](i64 k, i64 element) {
    if (n <= 0xffffffffll) {
      u32 left = u32(element);
      for (int d = sizes.dims - 1; d > 0; --d) { const u32 size = u32(sizes.n[d]), q = left / size; out[d * total + k] = left - q * size; left = q; }
      out[k] = left;
    } else {
      for (int d = sizes.dims - 1; d > 0; --d) { const i64 q = element / sizes.n[d]; out[d * total + k] = element - q * sizes.n[d]; element = q; }
      out[k] = element;
    }
  });
}
extern "C" __global__ void __launch_bounds__(1024) take_true(const T* mask, i64 n, const i64* starts, const OUT* from, OUT* out) {
  each_true(mask, n, starts, [&](i64 k, i64 element) { out[k] = from[element]; });
}
#endif
)cuda";

}  // namespace shim::cuda
