#pragma once
// Planes at other sizes: the part KIND of images.cuh.
#include "cuda/kernels/images.cuh"

#ifdef KIND
struct Stretch {
  int size, out, aligned;
  C scale;
};  // `scale`: places of the source for one of the result
constexpr int kTaps = KIND == 3 ? 4 : KIND == 2 ? 2 : 1;
struct Taps {
  int at[kTaps];
  C weight[kTaps];
};
__device__ inline Taps taps_of(const Stretch& s, int o) {
  Taps t;
  if constexpr (KIND < 2) {
    const float place = KIND ? (float(o) + 0.5f) * float(s.scale) : float(o) * float(s.scale);
    t.at[0] = max(0, min(int(floorf(place)), s.size - 1));
    t.weight[0] = 1;
  } else {
    C place = s.aligned ? C(o) * s.scale : (C(o) + C(0.5)) * s.scale - C(0.5);
    if (KIND == 2 && place < C(0)) place = 0;
    const C low = floor(place);
    if constexpr (KIND == 2) {
      const int first = min(int(low), s.size - 1);
      t.at[0] = first;
      t.at[1] = min(first + 1, s.size - 1);
      t.weight[1] = place - C(first);
      t.weight[0] = C(1) - t.weight[1];
    } else {
      // Cubic convolution (Keys 1981) of a = -3/4, in the distances to both neighbours.
      const C a = C(-0.75), x = place - low, y = C(1) - x;
      t.weight[0] = a * x * y * y;
      t.weight[1] = C(1) + x * x * ((a + C(2)) * x - (a + C(3)));
      t.weight[2] = C(1) + y * y * ((a + C(2)) * y - (a + C(3)));
      t.weight[3] = a * x * x * y;
#pragma unroll
      for (int i = 0; i < 4; ++i) t.at[i] = max(0, min(int(low) - 1 + i, s.size - 1));
    }
  }
  return t;
}
// `n` and `inner` as those of pools.
extern "C" __global__ void __launch_bounds__(256)
    resize(const T* x, T* out, u32 n, u32 inner, Stretch a, Stretch b, Stretch c) {
  EACH(n) {
    const u32 spot = k / inner;
    const Spot s = spot_of(spot, a.out, b.out, c.out);
    const Load* from =
        reinterpret_cast<const Load*>(x) + i64(s.plane) * a.size * b.size * c.size * inner + (k - spot * inner);
    const Taps q = taps_of(b, s.h), r = taps_of(c, s.w);
    if constexpr (KIND < 2) {
      const u32 here = (taps_of(a, s.d).at[0] * b.size + q.at[0]) * c.size + r.at[0];
      reinterpret_cast<Load*>(out)[k] = from[here * inner];
    } else {
      const bool flat = a.out == 1 && a.size == 1;
      const Taps p = flat ? Taps() : taps_of(a, s.d);
      C sum[V] = {};
      for (int d = 0; d < (flat ? 1 : kTaps); ++d) {
        C plane[V] = {};
        const int base = flat ? 0 : p.at[d] * b.size;
#pragma unroll
        for (int h = 0; h < kTaps; ++h) {
          C row[V] = {};
#pragma unroll
          for (int w = 0; w < kTaps; ++w) {
            const Load y = from[u32((base + q.at[h]) * c.size + r.at[w]) * inner];
#pragma unroll
            for (int e = 0; e < V; ++e) row[e] += r.weight[w] * wide(y.v[e]);
          }
#pragma unroll
          for (int e = 0; e < V; ++e) plane[e] += q.weight[h] * row[e];
        }
#pragma unroll
        for (int e = 0; e < V; ++e) sum[e] += flat ? plane[e] : p.weight[d] * plane[e];
      }
      Load given;
#pragma unroll
      for (int e = 0; e < V; ++e) given.v[e] = cast<T>(sum[e]);
      reinterpret_cast<Load*>(out)[k] = given;
    }
  }
}
// The same of contiguous planes: a thread has V neighbours in a row, of every gridDim.y-th plane. `n` groups of them in a plane.
extern "C" __global__ void __launch_bounds__(256)
    resize_rows(const T* x, T* out, u32 n, u32 planes, Stretch a, Stretch b, Stretch c) {
  const u32 k = blockIdx.x * 256 + threadIdx.x;
  if (k >= n) return;
  const Spot s = spot_of(k, a.out, b.out, c.out / V);
  const bool flat = a.out == 1 && a.size == 1;
  const Taps p = flat ? Taps() : taps_of(a, s.d), q = taps_of(b, s.h);
  Taps r[V];
#pragma unroll
  for (int e = 0; e < V; ++e) r[e] = taps_of(c, s.w * V + e);
  for (u32 plane = blockIdx.y; plane < planes; plane += gridDim.y) {
    const T* from = x + i64(plane) * a.size * b.size * c.size;
    Load given;
    if constexpr (KIND < 2) {
      const T* line = from + (p.at[0] * b.size + q.at[0]) * c.size;
#pragma unroll
      for (int e = 0; e < V; ++e) given.v[e] = line[r[e].at[0]];
    } else {
      C sum[V] = {};
#pragma unroll
      for (int d = 0; d < kTaps; ++d) {
        if (d && flat) break;
        C here[V] = {};
#pragma unroll
        for (int h = 0; h < kTaps; ++h) {
          const T* line = from + (p.at[d] * b.size + q.at[h]) * c.size;
#pragma unroll
          for (int e = 0; e < V; ++e) {
            C row = 0;
#pragma unroll
            for (int w = 0; w < kTaps; ++w) row += r[e].weight[w] * wide(line[r[e].at[w]]);
            here[e] += q.weight[h] * row;
          }
        }
#pragma unroll
        for (int e = 0; e < V; ++e) sum[e] += flat ? here[e] : p.weight[d] * here[e];
      }
#pragma unroll
      for (int e = 0; e < V; ++e) given.v[e] = cast<T>(sum[e]);
    }
    store(out + i64(plane) * a.out * b.out * c.out + i64(k) * V, given);
  }
}
// The results that read place `at`, of the nearest ones: they are neighbours.
__device__ inline int reads(const Stretch& s, int o) { return taps_of(s, o).at[0]; }
__device__ inline int first_of(const Stretch& s, int at) {
  if (at <= 0) return 0;
  if (at >= s.size) return s.out;
  int o = max(0, min(int(C(at) / s.scale), s.out));
  while (o > 0 && reads(s, o - 1) >= at) --o;
  while (o < s.out && reads(s, o) < at) ++o;
  return o;
}
// `n` groups of V neighbours in a row of dx.
extern "C" __global__ void __launch_bounds__(256)
    nearest_backward(const T* g, T* dx, u32 n, Stretch a, Stretch b, Stretch c) {
  EACH(n) {
    const Spot s = spot_of(k, a.size, b.size, c.size / V);
    const T* from = g + i64(s.plane) * a.out * b.out * c.out;
    const int d0 = first_of(a, s.d), d1 = first_of(a, s.d + 1), h0 = first_of(b, s.h), h1 = first_of(b, s.h + 1);
    int w[V + 1];
#pragma unroll
    for (int e = 0; e <= V; ++e) w[e] = first_of(c, s.w * V + e);
    C sum[V] = {};
    for (int d = d0; d < d1; ++d)
      for (int h = h0; h < h1; ++h) {
        const T* line = from + (d * b.out + h) * c.out;
#pragma unroll
        for (int e = 0; e < V; ++e)
          for (int at = w[e]; at < w[e + 1]; ++at) sum[e] += wide(line[at]);
      }
    Load given;
#pragma unroll
    for (int e = 0; e < V; ++e) given.v[e] = cast<T>(sum[e]);
    reinterpret_cast<Load*>(dx)[k] = given;
  }
}
#endif
