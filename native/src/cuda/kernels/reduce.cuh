#pragma once
// Reductions and softmax, compiled by NVRTC with macros:
//   OP the functor, TIN the input's element type, C the compute type, OUT the output's element type, V elements of one load,
//   COMPLEX 1 where C is complex: sums and products alone, SOFTMAX that kernel instead of the reductions, LOG 1 its logarithm, 2 zeros for rows of -infinity; NORM the sum of 1 squares, 2 magnitudes, 8 numbers without NaN, plus 4 a root of the result.
#include "cuda/kernels/complex.cuh"

template <class X> struct bounds {
  static __device__ X low() {
    X top = X(1) << (sizeof(X) * 8 - 1);
    return is_signed<X> ? top : X(0);
  }
  static __device__ X high() { return X(~low()); }
};
template <> struct bounds<float> {
  static __device__ float low() { return -__int_as_float(0x7f800000); }
  static __device__ float high() { return __int_as_float(0x7f800000); }
};
template <> struct bounds<double> {
  static __device__ double low() { return -__longlong_as_double(0x7ff0000000000000ll); }
  static __device__ double high() { return __longlong_as_double(0x7ff0000000000000ll); }
};

struct sum {
  static __device__ C zero() { return C(0); }
  static __device__ C f(C a, C b) { return C(a + b); }
};
struct prod {
  static __device__ C zero() { return C(1); }
  static __device__ C f(C a, C b) { return C(a * b); }
};
#if !COMPLEX
struct amax {
  static __device__ C zero() { return bounds<C>::low(); }
  static __device__ C f(C a, C b) { return a != a ? a : b != b ? b : a > b ? a : b; }
};
struct amin {
  static __device__ C zero() { return bounds<C>::high(); }
  static __device__ C f(C a, C b) { return a != a ? a : b != b ? b : a < b ? a : b; }
};
struct any_of {
  static __device__ C zero() { return C(0); }
  static __device__ C f(C a, C b) { return C(a || b); }
};
struct all_of {
  static __device__ C zero() { return C(1); }
  static __device__ C f(C a, C b) { return C(a && b); }
};
#endif

#define FULL 0xffffffffu

#ifndef NORM
#define NORM 0
#endif
__device__ inline C take(TIN x) {
#if LOGIC
  return C(cast<Bool>(x).v);
#elif NORM & 1
  const C c = cast<C>(x);
  return c * c;
#elif NORM & 2
  return C(fabs(cast<C>(x)));
#elif NORM & 8
  const C c = cast<C>(x);
  return c != c ? C(0) : c;
#else
  return cast<C>(x);
#endif
}
template <class X> __device__ inline X across(X value, int step) { return X(__shfl_xor_sync(FULL, value, step)); }
template <class R> __device__ inline Complex<R> across(Complex<R> value, int step) {
  return {across(value.real, step), across(value.imag, step)};
}
template <class F> __device__ inline C across_warp(C value) {
#pragma unroll
  for (int step = 16; step; step /= 2) value = F::f(value, across(value, step));
  return value;
}
// Over threadIdx.x of one row of the block; every thread gets it. blockDim.x is a multiple of 32.
template <class F> __device__ inline C across_row(C value) {
  __shared__ C shared[32];
  value = across_warp<F>(value);
  if (blockDim.x == 32) return value;
  __syncthreads();
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = value;
  __syncthreads();
  value = threadIdx.x % 32 < blockDim.x / 32 ? shared[threadIdx.x % 32] : F::zero();
  return across_warp<F>(value);
}
__device__ inline OUT finish(C value, double divisor) {
#if NORM & 4
  return cast<OUT>(C(sqrt(value)));
#else
  if constexpr (is_float<C> || is_complex<C>)
    return cast<OUT>(C(divisor == 1 ? value : value / C(divisor)));
  else
    return cast<OUT>(value);
#endif
}

#if !SOFTMAX
struct Walk {
  i64 size[6];
  i64 step[6];
  int dims;
};  // innermost first, in elements
__device__ inline i64 offset_of(const Walk& w, u64 position) {
  i64 at = 0;
#pragma unroll
  for (int d = 0; d < 6; ++d) {
    if (d == w.dims) break;
    if (d + 1 == w.dims) {
      at += i64(position) * w.step[d];
      break;
    }
    const u64 q = position / u64(w.size[d]);
    at += i64(position - q * u64(w.size[d])) * w.step[d];
    position = q;
  }
  return at;
}

// out[split, row] = OP over the split's part of the row. A warp (blockDim.y rows a block) or a block works on one row.
extern "C" __global__ void rows(
    const TIN* x, OUT* out, i64 n_rows, i64 n_cols, i64 per_split, double divisor, Walk kept, Walk reduced) {
  const i64 row = i64(blockIdx.x) * blockDim.y + threadIdx.y;
  if (row >= n_rows) return;
  const i64 begin = i64(blockIdx.y) * per_split, end = begin + per_split < n_cols ? begin + per_split : n_cols;
  const TIN* from = x + offset_of(kept, row);
  C parts[4] = {OP::zero(), OP::zero(), OP::zero(), OP::zero()};
  if (V > 1) {  // contiguous and aligned; per_split is a multiple of V
    const i64 whole = begin + (end - begin) / V * V;
    i64 c = begin + i64(threadIdx.x) * V;
    const i64 stride = i64(blockDim.x) * V;
    for (; c + stride + V <= whole; c += 2 * stride) {
      const Pack<TIN, V> a = *reinterpret_cast<const Pack<TIN, V>*>(from + c),
                         b = *reinterpret_cast<const Pack<TIN, V>*>(from + c + stride);
#pragma unroll
      for (int k = 0; k < V; ++k) {
        parts[k % 2] = OP::f(parts[k % 2], take(a.v[k]));
        parts[2 + k % 2] = OP::f(parts[2 + k % 2], take(b.v[k]));
      }
    }
    for (; c + V <= whole; c += stride) {
      const Pack<TIN, V> a = *reinterpret_cast<const Pack<TIN, V>*>(from + c);
#pragma unroll
      for (int k = 0; k < V; ++k) parts[k % 4] = OP::f(parts[k % 4], take(a.v[k]));
    }
    for (i64 k = whole + threadIdx.x; k < end; k += blockDim.x) parts[0] = OP::f(parts[0], take(from[k]));
  } else {
    for (i64 c = begin + threadIdx.x; c < end; c += blockDim.x)
      parts[0] = OP::f(parts[0], take(from[offset_of(reduced, c)]));
  }
  const C value = across_row<OP>(OP::f(OP::f(parts[0], parts[1]), OP::f(parts[2], parts[3])));
  if (threadIdx.x == 0) out[i64(blockIdx.y) * n_rows + row] = finish(value, divisor);
}

// out[split, column] = OP over the split's rows of each column; neighbouring threads read V neighbouring columns each.
extern "C" __global__ void __launch_bounds__(256)
    columns(const TIN* x, OUT* out, i64 n_cols, i64 n_rows, i64 per_split, double divisor, Walk kept, Walk reduced) {
  constexpr int kAhead = V > 4 ? 2 : 4;  // rows that are under way together
  const i64 column = (i64(blockIdx.x) * 32 + threadIdx.x) * V;
  const i64 begin = i64(blockIdx.y) * per_split, end = begin + per_split < n_rows ? begin + per_split : n_rows;
  C parts[V];
#pragma unroll
  for (int k = 0; k < V; ++k) parts[k] = OP::zero();
  if (column < n_cols) {
    const TIN* from = x + offset_of(kept, column);
    i64 r = begin + threadIdx.y;
    for (; r + 8 * (kAhead - 1) < end; r += 8 * kAhead) {
      Pack<TIN, V> a[kAhead];
#pragma unroll
      for (int u = 0; u < kAhead; ++u)
        a[u] = *reinterpret_cast<const Pack<TIN, V>*>(from + offset_of(reduced, r + 8 * u));
#pragma unroll
      for (int k = 0; k < V; ++k) {
        C sum = take(a[0].v[k]);
#pragma unroll
        for (int u = 1; u < kAhead; ++u) sum = OP::f(sum, take(a[u].v[k]));
        parts[k] = OP::f(parts[k], sum);
      }
    }
    for (; r < end; r += 8) {
      const Pack<TIN, V> a = *reinterpret_cast<const Pack<TIN, V>*>(from + offset_of(reduced, r));
#pragma unroll
      for (int k = 0; k < V; ++k) parts[k] = OP::f(parts[k], take(a.v[k]));
    }
  }
  __shared__ C shared[8][V][33];
#pragma unroll
  for (int k = 0; k < V; ++k) shared[threadIdx.y][k][threadIdx.x] = parts[k];
  __syncthreads();
  const int thread = threadIdx.y * 32 + threadIdx.x;  // V * 32 columns among 256 threads
  for (int c = thread; c < 32 * V; c += 256) {
    const int k = c % V, lane = c / V;
    const i64 to = i64(blockIdx.x) * 32 * V + c;
    if (to >= n_cols) break;
    C value = shared[0][k][lane];
#pragma unroll
    for (int y = 1; y < 8; ++y) value = OP::f(value, shared[y][k][lane]);
    out[i64(blockIdx.y) * n_cols + to] = finish(value, divisor);
  }
}

#else
// y = softmax, or its logarithm (LOG 1), or zeros for rows of -infinity alone (LOG 2), of contiguous rows; one block a row, which is
// read twice, the second time from the cache.
extern "C" __global__ void softmax(const TIN* x, OUT* y, i64 n_rows, i64 n_cols) {
  const i64 row = blockIdx.x;
  const TIN* from = x + row * n_cols;
  OUT* to = y + row * n_cols;
  const i64 whole = V > 1 ? n_cols / V * V : 0, stride = i64(blockDim.x) * V;
  C most = amax::zero();
  for (i64 c = i64(threadIdx.x) * V; c + V <= whole; c += stride) {
    const Pack<TIN, V> a = *reinterpret_cast<const Pack<TIN, V>*>(from + c);
#pragma unroll
    for (int k = 0; k < V; ++k) {
      const C v = take(a.v[k]);
      most = v > most ? v : most;
    }
  }
  for (i64 c = whole + threadIdx.x; c < n_cols; c += blockDim.x) {
    const C v = take(from[c]);
    most = v > most ? v : most;
  }
  most = across_row<amax>(most);
  if (LOG == 2 && most == amax::zero()) {  // what is no number is no maximum either
    C wrong = 0;
    for (i64 c = threadIdx.x; c < n_cols; c += blockDim.x) wrong += take(from[c]) != take(from[c]);
    wrong = across_row<sum>(wrong);
    for (i64 c = threadIdx.x; c < n_cols; c += blockDim.x) to[c] = cast<OUT>(wrong > C(0) ? C(0) / C(0) : C(0));
    return;
  }
  C total = 0;
  for (i64 c = i64(threadIdx.x) * V; c + V <= whole; c += stride) {
    const Pack<TIN, V> a = *reinterpret_cast<const Pack<TIN, V>*>(from + c);
#pragma unroll
    for (int k = 0; k < V; ++k) total += exp(take(a.v[k]) - most);
  }
  for (i64 c = whole + threadIdx.x; c < n_cols; c += blockDim.x) total += exp(take(from[c]) - most);
  total = across_row<sum>(total);
  const C scale = LOG == 1 ? log(total) : C(1) / total;
  for (i64 c = i64(threadIdx.x) * V; c + V <= whole; c += stride) {
    const Pack<TIN, V> a = *reinterpret_cast<const Pack<TIN, V>*>(from + c);
    Pack<OUT, V> r;
#pragma unroll
    for (int k = 0; k < V; ++k)
      r.v[k] = cast<OUT>(LOG == 1 ? take(a.v[k]) - most - scale : exp(take(a.v[k]) - most) * scale);
    *reinterpret_cast<Pack<OUT, V>*>(to + c) = r;
  }
  for (i64 c = whole + threadIdx.x; c < n_cols; c += blockDim.x)
    to[c] = cast<OUT>(LOG == 1 ? take(from[c]) - most - scale : exp(take(from[c]) - most) * scale);
}
#endif
