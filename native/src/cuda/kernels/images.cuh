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
// a * b / c and (a * b + c - 1) / c: 64 bits are divided where 32 do not hold the product.
__device__ inline int floor_part(int a, int b, int c) {
  const u64 product = u64(u32(a)) * u32(b);
  return product >> 32 ? int(product / u32(c)) : int(u32(product) / u32(c));
}
__device__ inline int ceil_part(int a, int b, int c) {
  const u64 product = u64(u32(a)) * u32(b) + u32(c - 1);
  return product >> 32 ? int(product / u32(c)) : int(u32(product) / u32(c));
}
__device__ inline Box box_of(const Side& s, int o) {
  if (s.adaptive) {
    const int first = floor_part(o, s.size, s.out), last = ceil_part(o + 1, s.size, s.out);
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
  *first = 0;
  *last = 1;
  if (s.size == 1 && s.out == 1) return;
  if (s.adaptive) {
    *first = floor_part(at, s.out, s.size);
    *last = ceil_part(at + 1, s.out, s.size);
    return;
  }
  const int over = at + s.padding - s.kernel + 1;
  *first = over <= 0 ? 0 : (over + s.stride - 1) / s.stride;
  *last = min((at + s.padding) / s.stride + 1, s.out);
}
// `n` groups of V neighbours in a row.
extern "C" __global__ void __launch_bounds__(256)
    box_mean_backward(const T* g, T* dx, u32 n, int include, int divisor, Side a, Side b, Side c) {
  EACH(n) {
    const Spot s = spot_of(k, a.size, b.size, c.size / V);
    const T* from = g + i64(s.plane) * a.out * b.out * c.out;
    int d0, d1, h0, h1, w0[V], w1[V];
    holders(a, s.d, &d0, &d1);
    holders(b, s.h, &h0, &h1);
#pragma unroll
    for (int e = 0; e < V; ++e) holders(c, s.w * V + e, &w0[e], &w1[e]);
    C sum[V] = {};
    for (int d = d0; d < d1; ++d) {
      const Box p = box_of(a, d);
      for (int h = h0; h < h1; ++h) {
        const Box q = box_of(b, h);
        const T* line = from + (d * b.out + h) * c.out;
#pragma unroll
        for (int e = 0; e < V; ++e)
          for (int w = w0[e]; w < w1[e]; ++w) sum[e] += wide(line[w]) / share(p, q, box_of(c, w), include, divisor);
      }
    }
    Load given;
#pragma unroll
    for (int e = 0; e < V; ++e) given.v[e] = cast<T>(sum[e]);
    reinterpret_cast<Load*>(dx)[k] = given;
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

#include "cuda/kernels/resize.cuh"
#include "cuda/kernels/sample_grid.cuh"
