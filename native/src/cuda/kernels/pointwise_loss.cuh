#pragma once
// Losses of two tensors, summed, compiled by NVRTC with macros:
//   ELEMENT the element type, C the type it is computed in, V elements of one load; LOSS 0 mse, 1 l1, 2 smooth_l1, 3 huber,
//   4 bce (a probability outside of [0, 1] ends the program, as PyTorch's assertion does), 5 bce_with_logits.
#include "cuda/kernels/block.cuh"
#if LOSS == 4
#include "cuda/kernels/asserts.cuh"
#endif

__device__ inline C loss_of(T a, T b, C p) {
  const C d = wide(a) - wide(b), m = fabs(d);
#if LOSS == 0
  return d * d;
#elif LOSS == 1
  return m;
#elif LOSS == 2
  return m < p ? C(0.5) * m * m / p : m - C(0.5) * p;
#elif LOSS == 3
  return m <= p ? C(0.5) * m * m : p * (m - C(0.5) * p);
#elif LOSS == 4
  const C x = wide(a), y = wide(b), yes = log(x), no = log1p(-x);
  if (!(x >= C(0) && x <= C(1) && y >= C(0) && y <= C(1)))
    assert_failed(AssertSite::chance, double(x >= C(0) && x <= C(1) ? y : x));
  return (y - C(1)) * (no > C(-100) ? no : C(-100)) - y * (yes > C(-100) ? yes : C(-100));
#else
  const C x = wide(a);
  return (C(1) - wide(b)) * x + (x < C(0) ? -x : C(0)) + log1p(exp(-fabs(x)));
#endif
}
// The blocks' sums; or the whole, divided, where there is one block.
extern "C" __global__ void __launch_bounds__(512)
    loss_sums(const T* a, const T* b, C* parts, T* out, i64 n, C p, double divisor) {
  C sums[4] = {C(0), C(0), C(0), C(0)};
  const i64 stride = i64(gridDim.x) * blockDim.x * V;
  i64 c = (i64(blockIdx.x) * blockDim.x + threadIdx.x) * V;
  for (; c + stride + V <= n; c += 2 * stride) {
    const Load x = load(a + c), y = load(b + c), z = load(a + c + stride), w = load(b + c + stride);
#pragma unroll
    for (int k = 0; k < V; ++k) {
      sums[k % 2] += loss_of(x.v[k], y.v[k], p);
      sums[2 + k % 2] += loss_of(z.v[k], w.v[k], p);
    }
  }
  for (; c < n; c += stride) {
    if (c + V <= n) {
      const Load x = load(a + c), y = load(b + c);
#pragma unroll
      for (int k = 0; k < V; ++k) sums[k % 4] += loss_of(x.v[k], y.v[k], p);
    } else {
      for (i64 k = c; k < n; ++k) sums[0] += loss_of(a[k], b[k], p);
    }
  }
  const C sum = across_block((sums[0] + sums[1]) + (sums[2] + sums[3]));
  if (threadIdx.x) return;
  if (gridDim.x == 1)
    *out = cast<T>(divisor == 1 ? sum : sum / C(divisor));
  else
    parts[blockIdx.x] = sum;
}
extern "C" __global__ void __launch_bounds__(512) loss_total(const C* parts, T* out, int count, double divisor) {
  C sum = 0;
  for (int k = threadIdx.x; k < count; k += blockDim.x) sum += parts[k];
  sum = across_block(sum);
  if (threadIdx.x == 0) *out = cast<T>(divisor == 1 ? sum : sum / C(divisor));
}
// out = the loss's derivative by a, times *g / divisor.
extern "C" __global__ void __launch_bounds__(256)
    loss_slopes(const T* a, const T* b, const T* g, T* out, i64 n, C p, double divisor) {
  const i64 c = (i64(blockIdx.x) * 256 + threadIdx.x) * V;
  const C scale = divisor == 1 ? wide(*g) : wide(*g) / C(divisor);
  const auto slope = [&](T x, T y) {
    const C d = wide(x) - wide(y), s = d > C(0)    ? C(1)
                                       : d < C(0)  ? C(-1)
                                       : LOSS == 1 ? C(0)
                                                   : d;  // PyTorch's of no numbers
#if LOSS == 0
    return cast<T>(C(2) * d * scale);
#elif LOSS == 1
    return cast<T>(s * scale);
#elif LOSS == 2
    return cast<T>((fabs(d) < p ? d / p : s) * scale);
#elif LOSS == 3
    return cast<T>((fabs(d) <= p ? d : p * s) * scale);
#elif LOSS == 4
    const C spread = (C(1) - wide(x)) * wide(x);
    return cast<T>(d / (spread > C(1e-12) ? spread : C(1e-12)) * scale);
#else
    return cast<T>((C(1) / (C(1) + exp(-wide(x))) - wide(y)) * scale);
#endif
  };
  if (c + V <= n) {
    const Load x = load(a + c), y = load(b + c);
    Load r;
#pragma unroll
    for (int k = 0; k < V; ++k) r.v[k] = slope(x.v[k], y.v[k]);
    store(out + c, r);
  } else {
    for (i64 k = c; k < n; ++k) out[k] = slope(a[k], b[k]);
  }
}
