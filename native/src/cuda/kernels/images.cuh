#pragma once
// Pools and resampling of planes (planes, depth, height, width), also with `inner` channels last, compiled by NVRTC with
// macros:
//   ELEMENT the element type, C the type it is computed in, V channels that a thread takes, else 1; KIND of resize: 0 nearest, 1 its exact form, 2 linear, 3 cubic.
#include "cuda/kernels/block.cuh"

// How places of a result stand to those of the input along one dim. `adaptive`: the input is cut into `out` parts.
struct Side {
  int size, out, kernel, stride, padding, dilation, adaptive;
};
struct Box {
  int first, last, counted;
};  // `counted`: how many places a mean is of, padding too
__device__ inline Box box_of(const Side& s, int o) {
  if (s.adaptive) {
    const int first = int(i64(o) * s.size / s.out), last = int(((i64(o) + 1) * s.size + s.out - 1) / s.out);
    return {first, last, last - first};
  }
  const int start = o * s.stride - s.padding, reach = s.dilation * (s.kernel - 1) + 1,
            end = min(start + reach, s.size + s.padding);
  return {
      start < 0 ? start + (-start + s.dilation - 1) / s.dilation * s.dilation : start, min(end, s.size), end - start};
}
struct Spot {
  int plane, d, h, w;
};
__device__ inline Spot spot_of(u32 k, int depth, int height, int width) {
  Spot s;
  u32 q = k / u32(width);
  s.w = int(k - q * u32(width));
  u32 r = q / u32(height);
  s.h = int(q - r * u32(height));
  q = r / u32(depth);
  s.d = int(r - q * u32(depth));
  s.plane = int(q);
  return s;
}
#define EACH(n) for (u32 k = blockIdx.x * blockDim.x + threadIdx.x; k < (n); k += gridDim.x * blockDim.x)

// The greatest of each box and its place in the plane: the first of equal ones; not a number beats all. `n` groups of V elements, of which
// `inner` lie at each place.
extern "C" __global__ void __launch_bounds__(256)
    box_max(const T* x, T* out, i64* places, u32 n, u32 inner, Side a, Side b, Side c) {
  EACH(n) {
    const u32 spot = k / inner;
    const Spot s = spot_of(spot, a.out, b.out, c.out);
    const Box p = box_of(a, s.d), q = box_of(b, s.h), r = box_of(c, s.w);
    const Load* from =
        reinterpret_cast<const Load*>(x) + i64(s.plane) * a.size * b.size * c.size * inner + (k - spot * inner);
    C best[V];
    int at[V];
#pragma unroll
    for (int e = 0; e < V; ++e) {
      best[e] = -C(__int_as_float(0x7f800000));
      at[e] = (p.first * b.size + q.first) * c.size + r.first;
    }
    for (int d = p.first; d < p.last; d += a.dilation)
      for (int h = q.first; h < q.last; h += b.dilation)
#pragma unroll 4
        for (int w = r.first; w < r.last; w += c.dilation) {
          const int here = (d * b.size + h) * c.size + w;
          const Load y = from[u32(here) * inner];
#pragma unroll
          for (int e = 0; e < V; ++e) {
            const C v = wide(y.v[e]);
            if (v > best[e] || v != v) {
              best[e] = v;
              at[e] = here;
            }
          }
        }
    Load found;
#pragma unroll
    for (int e = 0; e < V; ++e) {
      found.v[e] = cast<T>(best[e]);
      if (places) places[i64(k) * V + e] = at[e];
    }
    reinterpret_cast<Load*>(out)[k] = found;
  }
}

__device__ inline C share(const Box& p, const Box& q, const Box& r, int include, int divisor) {
  if (divisor) return C(divisor);
  if (include) return C(i64(p.counted) * q.counted * r.counted);
  return C(i64(p.last - p.first) * (q.last - q.first) * (r.last - r.first));
}
// `n` and `inner` as above.
extern "C" __global__ void __launch_bounds__(256)
    box_mean(const T* x, T* out, u32 n, u32 inner, int include, int divisor, Side a, Side b, Side c) {
  EACH(n) {
    const u32 spot = k / inner;
    const Spot s = spot_of(spot, a.out, b.out, c.out);
    const Box p = box_of(a, s.d), q = box_of(b, s.h), r = box_of(c, s.w);
    const Load* from =
        reinterpret_cast<const Load*>(x) + i64(s.plane) * a.size * b.size * c.size * inner + (k - spot * inner);
    C sum[V] = {};
    for (int d = p.first; d < p.last; ++d)
      for (int h = q.first; h < q.last; ++h)
#pragma unroll 4
        for (int w = r.first; w < r.last; ++w) {
          const Load y = from[u32((d * b.size + h) * c.size + w) * inner];
#pragma unroll
          for (int e = 0; e < V; ++e) sum[e] += wide(y.v[e]);
        }
    const C by = share(p, q, r, include, divisor);
    Load mean;
#pragma unroll
    for (int e = 0; e < V; ++e) mean.v[e] = cast<T>(sum[e] / by);
    reinterpret_cast<Load*>(out)[k] = mean;
  }
}
// The results whose boxes hold place `at`.
__device__ inline void holders(const Side& s, int at, int* first, int* last) {
  if (s.adaptive) {
    *first = int(i64(at) * s.out / s.size);
    *last = int((i64(at + 1) * s.out + s.size - 1) / s.size);
    return;
  }
  const int over = at + s.padding - s.kernel + 1;
  *first = over <= 0 ? 0 : (over + s.stride - 1) / s.stride;
  *last = min((at + s.padding) / s.stride + 1, s.out);
}
extern "C" __global__ void __launch_bounds__(256)
    box_mean_backward(const T* g, T* dx, u32 n, int include, int divisor, Side a, Side b, Side c) {
  EACH(n) {
    const Spot s = spot_of(k, a.size, b.size, c.size);
    const T* from = g + i64(s.plane) * a.out * b.out * c.out;
    int d0, d1, h0, h1, w0, w1;
    holders(a, s.d, &d0, &d1);
    holders(b, s.h, &h0, &h1);
    holders(c, s.w, &w0, &w1);
    C sum = 0;
    for (int d = d0; d < d1; ++d) {
      const Box p = box_of(a, d);
      for (int h = h0; h < h1; ++h) {
        const Box q = box_of(b, h);
        for (int w = w0; w < w1; ++w)
          sum += wide(from[(d * b.out + h) * c.out + w]) / share(p, q, box_of(c, w), include, divisor);
      }
    }
    dx[k] = cast<T>(sum);
  }
}

// (outer, size, inner) with each of `outs` the sum of some weighted ones of `size`.
extern "C" __global__ void __launch_bounds__(256) weigh_lines(
    const T* x, T* out, const i64* places, const T* weights, u32 n, u32 inner, u32 outs, u32 size, int taps) {
  EACH(n) {
    const u32 q = k / inner, in = k - q * inner, outer = q / outs, o = q - outer * outs;
    const T* from = x + i64(outer) * size * inner + in;
    const i64* at = places + i64(o) * taps;
    const T* by = weights + i64(o) * taps;
    C sum = 0;
    for (int t = 0; t < taps; ++t) {
      const i64 place = at[t];
      if (place < 0) break;
      sum += wide(by[t]) * wide(from[place * inner]);
    }
    out[k] = cast<T>(sum);
  }
}

// --- other sizes ----------------------------------------------------------------------------------------------------------

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
#endif

#include "cuda/kernels/sample_grid.cuh"
