#pragma once
// Running sums and products, and picking what a mask has, compiled by NVRTC with macros:
//   ELEMENT the element type, C the type that sums are computed in, OUT the results', V elements of one load; SUMS how two are joined
//   (Add, Multiply, LogAddExp), or PICKS 1 or EXTREME: which part.
#include "cuda/kernels/block.cuh"

// How two are joined, and what changes nothing.
struct Add {
  template <class X> __device__ static X none() { return X(0); }
  template <class X> __device__ static X of(X a, X b) { return X(a + b); }
};
#ifdef SUMS
struct Multiply {
  template <class X> __device__ static X none() { return X(1); }
  template <class X> __device__ static X of(X a, X b) { return X(a * b); }
};
struct LogAddExp {
  template <class X> __device__ static X none() { return -X(__int_as_float(0x7f800000)); }
  template <class X> __device__ static X of(X a, X b) {
    const X low = b != b || b < a ? b : a, high = b != b || b > a ? b : a;
    return low != high || isfinite(low) ? X(log1p(exp(low - high)) + high) : a;
  }
};
#endif

// What the threads before have, never as a difference of sums: that would lose small values next to large ones.
template <class Op, class X> __device__ inline X of_warp_before(X inclusive) {
  const X before = __shfl_up_sync(FULL, inclusive, 1);
  return threadIdx.x % 32 ? before : Op::template none<X>();
}
template <class Op, class X> __device__ inline X scan_warp(X value) {
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const X other = __shfl_up_sync(FULL, value, step);
    if (threadIdx.x % 32 >= step) value = Op::of(other, value);
  }
  return value;
}
template <class X> struct Sums {
  X before, all;
};  // of the threads before, and of the block
template <class Op = Add, class X> __device__ inline Sums<X> scan_block(X value) {
  __shared__ X shared[33];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  const X sum = scan_warp<Op>(value);
  __syncthreads();
  if (lane == 31) shared[warp] = sum;
  __syncthreads();
  if (warp == 0) {
    const X of = scan_warp<Op>(lane < warps ? shared[lane] : Op::template none<X>());
    shared[lane] = of_warp_before<Op>(of);
    if (lane == 31) shared[32] = of;
  }
  __syncthreads();
  return {Op::of(shared[warp], of_warp_before<Op>(sum)), shared[32]};
}
// In place: each becomes the sum of those before it.
template <class Op = Add, class X> __device__ inline void scan_before(X* of, i64 count) {
  X carry = Op::template none<X>();
  for (i64 first = 0; first < count; first += blockDim.x) {
    const i64 k = first + threadIdx.x;
    const Sums<X> s = scan_block<Op>(k < count ? of[k] : Op::template none<X>());
    if (k < count) of[k] = Op::of(carry, s.before);
    carry = Op::of(carry, s.all);
    __syncthreads();
  }
}

#ifdef EXTREME
// (outer, n, inner) along n: EXTREME 1 the greatest so far, 0 the least, and its last place. A warp a line, 32 places at a time.
struct Best {
  C value;
  int at;
};
__device__ inline bool replaces(const Best& a, const Best& b) {  // b, which comes later, instead of a
  if (b.at < 0) return false;
  return a.at < 0 || b.value != b.value || (a.value == a.value && (EXTREME ? b.value >= a.value : b.value <= a.value));
}
extern "C" __global__ void __launch_bounds__(256)
    scan_extreme(const T* x, T* values, i64* places, i64 lines, i64 n, i64 inner) {
  const i64 line = i64(blockIdx.x) * (blockDim.x / 32) + threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  if (line >= lines) return;
  const i64 base = line / inner * n * inner + line % inner;
  Best carried = {C(0), -1};
  T next = lane < n ? x[base + lane * inner] : T();
  for (i64 first = 0; first < n; first += 32) {
    const i64 k = first + lane;
    Best own = {C(0), -1};
    if (k < n) own = {wide(next), int(k)};
    if (k + 32 < n) next = x[base + (k + 32) * inner];  // under way while this round's are compared
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
      const Best other = {__shfl_up_sync(FULL, own.value, step), __shfl_up_sync(FULL, own.at, step)};
      if (lane >= step && !replaces(other, own)) own = other;
    }
    if (!replaces(carried, own)) own = carried;
    if (k < n) {
      values[base + k * inner] = cast<T>(own.value);
      places[base + k * inner] = own.at;
    }
    carried = {__shfl_sync(FULL, own.value, 31), __shfl_sync(FULL, own.at, 31)};
  }
}
#endif

#ifdef SUMS
typedef SUMS Op;
__device__ inline C none() { return Op::template none<C>(); }
#define ROUNDS 4
// What ROUNDS * V elements of each thread have before them in the block's tile, that begins at `begin`: each round takes neighbours.
struct Tile {
  C sums[ROUNDS][V], before[ROUNDS];
  __device__ inline i64 place(i64 begin, int r) const { return begin + (i64(r) * blockDim.x + threadIdx.x) * V; }
  // `shared` gets, for each round and warp, what is before it; the result is the whole tile's, known to warp 0.
  __device__ inline C fill(const T* from, i64 begin, i64 cols, C* shared) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
#pragma unroll
    for (int r = 0; r < ROUNDS; ++r) {
      const i64 c = place(begin, r);
      if (c + V <= cols) {
        const Load a = load(from + c);
#pragma unroll
        for (int k = 0; k < V; ++k) sums[r][k] = wide(a.v[k]);
      } else {
#pragma unroll
        for (int k = 0; k < V; ++k) sums[r][k] = c + k < cols ? wide(from[c + k]) : none();
      }
    }
#pragma unroll
    for (int r = 0; r < ROUNDS; ++r) {
#pragma unroll
      for (int k = 1; k < V; ++k) sums[r][k] = Op::of(sums[r][k - 1], sums[r][k]);
      const C all = scan_warp<Op>(sums[r][V - 1]);
      before[r] = of_warp_before<Op>(all);
      if (lane == 31) shared[r * warps + warp] = all;
    }
    __syncthreads();
    if (warp) return none();
    const int slots = ROUNDS * warps;  // at most 64
    const C first = 2 * lane < slots ? shared[2 * lane] : none(),
            second = 2 * lane + 1 < slots ? shared[2 * lane + 1] : none();
    const C sum = scan_warp<Op>(Op::of(first, second)), up = of_warp_before<Op>(sum);
    __syncwarp();
    if (2 * lane < slots) shared[2 * lane] = up;
    if (2 * lane + 1 < slots) shared[2 * lane + 1] = Op::of(up, first);
    return __shfl_sync(FULL, sum, 31);
  }
  __device__ inline void put(OUT* to, i64 begin, i64 cols, const C* shared, C carried) const {
#pragma unroll
    for (int r = 0; r < ROUNDS; ++r) {
      const i64 c = place(begin, r);
      const C base = Op::of(Op::of(carried, shared[r * (blockDim.x / 32) + threadIdx.x / 32]), before[r]);
      Pack<OUT, V> pack;
#pragma unroll
      for (int k = 0; k < V; ++k) pack.v[k] = cast<OUT>(Op::of(base, sums[r][k]));
      if (c + V <= cols) {
        *reinterpret_cast<Pack<OUT, V>*>(to + c) = pack;
      } else {
#pragma unroll
        for (int k = 0; k < V; ++k)
          if (c + k < cols) to[c + k] = pack.v[k];
      }
    }
  }
};

// out[row, c] = x[row, 0..c] joined. A block of at most 512 threads a row.
extern "C" __global__ void __launch_bounds__(512) scan_rows(const T* x, OUT* out, i64 cols) {
  __shared__ C shared[ROUNDS * 16], whole;
  C carried = none();
  for (i64 begin = 0; begin < cols; begin += i64(blockDim.x) * V * ROUNDS) {
    Tile tile;
    const C all = tile.fill(x + i64(blockIdx.x) * cols, begin, cols, shared);
    if (threadIdx.x == 0) whole = all;
    __syncthreads();
    tile.put(out + i64(blockIdx.x) * cols, begin, cols, shared, carried);
    carried = Op::of(carried, whole);
    __syncthreads();
  }
}

// The same of few long rows (blockIdx.x), a block a part (blockIdx.y) of `per`: first what each part adds up to, then what is before
// each, then the part again, from the cache if it is still there.
extern "C" __global__ void __launch_bounds__(1024) scan_parts(const T* x, C* parts, i64 cols, i64 per) {
  const T* from = x + i64(blockIdx.x) * cols;
  const i64 begin = i64(blockIdx.y) * per, end = begin + per < cols ? begin + per : cols;
  C sum = none();
  constexpr int kAhead = 4;  // loads that are under way together
  const i64 stride = i64(blockDim.x) * V;
  i64 c = begin + i64(threadIdx.x) * V;
  for (; c + (kAhead - 1) * stride + V <= end; c += kAhead * stride) {
    Load a[kAhead];
#pragma unroll
    for (int u = 0; u < kAhead; ++u) a[u] = load(from + c + u * stride);
#pragma unroll
    for (int u = 0; u < kAhead; ++u) {
#pragma unroll
      for (int k = 0; k < V; ++k) sum = Op::of(sum, wide(a[u].v[k]));
    }
  }
  for (; c < end; c += stride) {
    if (c + V <= end) {
      const Load a = load(from + c);
#pragma unroll
      for (int k = 0; k < V; ++k) sum = Op::of(sum, wide(a.v[k]));
    } else {
      for (i64 k = c; k < end; ++k) sum = Op::of(sum, wide(from[k]));
    }
  }
  sum = scan_block<Op>(sum).all;
  if (threadIdx.x == 0) parts[i64(blockIdx.x) * gridDim.y + blockIdx.y] = sum;
}
extern "C" __global__ void __launch_bounds__(1024) scan_carries(C* parts, i64 count) {
  scan_before<Op>(parts + i64(blockIdx.x) * count, count);
}
extern "C" __global__ void __launch_bounds__(512) scan_rest(const T* x, OUT* out, const C* carried, i64 cols, i64 per) {
  __shared__ C shared[ROUNDS * 16], whole;
  const T* from = x + i64(blockIdx.x) * cols;
  OUT* to = out + i64(blockIdx.x) * cols;
  const i64 part = gridDim.y - 1 - blockIdx.y;  // the last parts were read last
  const i64 begin = part * per, end = begin + per < cols ? begin + per : cols;
  C carry = carried[i64(blockIdx.x) * gridDim.y + part];
  for (i64 first = begin; first < end; first += i64(blockDim.x) * V * ROUNDS) {
    Tile tile;
    const C all = tile.fill(from, first, end, shared);
    if (threadIdx.x == 0) whole = all;
    __syncthreads();
    tile.put(to, first, end, shared, carry);
    carry = Op::of(carry, whole);
    __syncthreads();
  }
}
// (outer, n, inner) along n: 32 neighbouring columns and 32 parts of n a block.
extern "C" __global__ void __launch_bounds__(1024) scan_columns(const T* x, OUT* out, i64 n, i64 inner) {
  __shared__ C shared[32][33];
  const i64 column = i64(blockIdx.x) * 32 + threadIdx.x, per = (n + 31) / 32, begin = threadIdx.y * per,
            end = begin + per < n ? begin + per : n;
  const i64 at = i64(blockIdx.y) * n * inner + column;
  C sum = none();
  if (column < inner)
    for (i64 k = begin; k < end; ++k) sum = Op::of(sum, wide(x[at + k * inner]));
  shared[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (column >= inner) return;
  sum = none();
  for (int k = 0; k < int(threadIdx.y); ++k) sum = Op::of(sum, shared[k][threadIdx.x]);
  for (i64 k = begin; k < end; ++k) out[at + k * inner] = cast<OUT>(sum = Op::of(sum, wide(x[at + k * inner])));
}
#endif

#include "cuda/kernels/nonzero.cuh"
