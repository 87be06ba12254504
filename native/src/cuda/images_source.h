#pragma once
// CUDA C++ of pools and resampling of planes (planes, depth, height, width), compiled by NVRTC after
// types_source.h and block_source.h with macros:
//   ELEMENT the element type, C the type it is computed in, V 1; KIND of resize: 0 nearest, 1 its exact form, 2 linear, 3 cubic.
namespace shim::cuda {

inline constexpr const char* kImagesSource = R"cuda(
// How places of a result stand to those of the input along one dim. `adaptive`: the input is cut into `out` parts.
struct Side { int size, out, kernel, stride, padding, dilation, adaptive; };
struct Box { int first, last, counted; };                       // `counted`: how many places a mean is of, padding too
__device__ inline Box box_of(const Side& s, int o) {
  if (s.adaptive) {
    const int first = int(i64(o) * s.size / s.out), last = int(((i64(o) + 1) * s.size + s.out - 1) / s.out);
    return {first, last, last - first};
  }
  const int start = o * s.stride - s.padding, reach = s.dilation * (s.kernel - 1) + 1, end = min(start + reach, s.size + s.padding);
  return {start < 0 ? start + (-start + s.dilation - 1) / s.dilation * s.dilation : start, min(end, s.size), end - start};
}
struct Spot { int plane, d, h, w; };
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

// The greatest of each box and its place in the plane: the first of equal ones; not a number beats all.
extern "C" __global__ void __launch_bounds__(256) box_max(const T* x, T* out, i64* places, u32 n, Side a, Side b, Side c) {
  EACH(n) {
    const Spot s = spot_of(k, a.out, b.out, c.out);
    const Box p = box_of(a, s.d), q = box_of(b, s.h), r = box_of(c, s.w);
    const T* from = x + i64(s.plane) * a.size * b.size * c.size;
    C best = -C(__int_as_float(0x7f800000));
    int at = (p.first * b.size + q.first) * c.size + r.first;
    for (int d = p.first; d < p.last; d += a.dilation)
      for (int h = q.first; h < q.last; h += b.dilation)
        for (int w = r.first; w < r.last; w += c.dilation) {
          const int here = (d * b.size + h) * c.size + w;
          const C v = wide(from[here]);
          if (v > best || v != v) { best = v; at = here; }
        }
    out[k] = from[at];
    if (places) places[k] = at;
  }
}

__device__ inline C share(const Box& p, const Box& q, const Box& r, int include, int divisor) {
  if (divisor) return C(divisor);
  if (include) return C(i64(p.counted) * q.counted * r.counted);
  return C(i64(p.last - p.first) * (q.last - q.first) * (r.last - r.first));
}
extern "C" __global__ void __launch_bounds__(256) box_mean(const T* x, T* out, u32 n, int include, int divisor, Side a, Side b, Side c) {
  EACH(n) {
    const Spot s = spot_of(k, a.out, b.out, c.out);
    const Box p = box_of(a, s.d), q = box_of(b, s.h), r = box_of(c, s.w);
    const T* from = x + i64(s.plane) * a.size * b.size * c.size;
    C sum = 0;
    for (int d = p.first; d < p.last; ++d)
      for (int h = q.first; h < q.last; ++h)
        for (int w = r.first; w < r.last; ++w) sum += wide(from[(d * b.size + h) * c.size + w]);
    out[k] = cast<T>(sum / share(p, q, r, include, divisor));
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
extern "C" __global__ void __launch_bounds__(256) box_mean_backward(const T* g, T* dx, u32 n, int include, int divisor, Side a, Side b, Side c) {
  EACH(n) {
    const Spot s = spot_of(k, a.size, b.size, c.size);
    const T* from = g + i64(s.plane) * a.out * b.out * c.out;
    int d0, d1, h0, h1, w0, w1;
    holders(a, s.d, &d0, &d1); holders(b, s.h, &h0, &h1); holders(c, s.w, &w0, &w1);
    C sum = 0;
    for (int d = d0; d < d1; ++d) {
      const Box p = box_of(a, d);
      for (int h = h0; h < h1; ++h) {
        const Box q = box_of(b, h);
        for (int w = w0; w < w1; ++w) sum += wide(from[(d * b.out + h) * c.out + w]) / share(p, q, box_of(c, w), include, divisor);
      }
    }
    dx[k] = cast<T>(sum);
  }
}

// (outer, size, inner) with each of `outs` the sum of some weighted ones of `size`.
extern "C" __global__ void __launch_bounds__(256) weigh_lines(const T* x, T* out, const i64* places, const T* weights, u32 n, u32 inner, u32 outs, u32 size, int taps) {
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
struct Stretch { int size, out, aligned; C scale; };            // `scale`: places of the source for one of the result
constexpr int kTaps = KIND == 3 ? 4 : KIND == 2 ? 2 : 1;
struct Taps { int at[kTaps]; C weight[kTaps]; };
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
extern "C" __global__ void __launch_bounds__(256) resize(const T* x, T* out, u32 n, Stretch a, Stretch b, Stretch c) {
  EACH(n) {
    const Spot s = spot_of(k, a.out, b.out, c.out);
    const T* from = x + i64(s.plane) * a.size * b.size * c.size;
    const Taps q = taps_of(b, s.h), r = taps_of(c, s.w);
    if constexpr (KIND < 2) {
      out[k] = from[(taps_of(a, s.d).at[0] * b.size + q.at[0]) * c.size + r.at[0]];
    } else {
      const bool flat = a.out == 1 && a.size == 1;
      const Taps p = flat ? Taps() : taps_of(a, s.d);
      C sum = 0;
      for (int d = 0; d < (flat ? 1 : kTaps); ++d) {
        C plane = 0;
        const int base = flat ? 0 : p.at[d] * b.size;
#pragma unroll
        for (int h = 0; h < kTaps; ++h) {
          C row = 0;
#pragma unroll
          for (int w = 0; w < kTaps; ++w) row += r.weight[w] * wide(from[(base + q.at[h]) * c.size + r.at[w]]);
          plane += q.weight[h] * row;
        }
        sum += flat ? plane : p.weight[d] * plane;
      }
      out[k] = cast<T>(sum);
    }
  }
}
#endif

// --- places of a grid -----------------------------------------------------------------------------------------------------

#ifdef PADDING
// A place along a dim, and what it moves by where the grid's number does.
struct Place { C at, slope; };
// -1 and 1 are the centres of the outer pixels where `aligned`, and else their outer edges: `low` and `low + span` in places. Beyond these
// an image reflected at both repeats itself after two spans. What is held at the border does not move; no number counts as 0 there.
__device__ inline Place place_of(C x, int size, int aligned) {
  const C span = C(aligned ? size - 1 : size), low = aligned ? C(0) : C(-0.5), last = C(size - 1);
  Place p = {(x + C(1)) * span / C(2) + low, span / C(2)};
  if (PADDING == 2) {
    const C beyond = p.at - low, turn = fmod(fabs(beyond), C(2) * span);
    const bool back = turn > span;
    p.at = low + (back ? C(2) * span - turn : turn);
    if ((beyond < C(0)) != back) p.slope = -p.slope;
  }
  if (PADDING) {
    if (!(p.at > C(0) && p.at < last)) p.slope = 0;
    p.at = fmin(fmax(p.at, C(0)), last);
  }
  if (!(fabs(p.at) < C(1e9))) p.at = C(-100);                   // of nothing that an int holds: outside
  return p;
}
// A pixel of a plane: its offset, -1 outside, and the weight of its value.
struct Pixel { int at; C weight; };
__device__ inline int pixel_at(int row, int col, int height, int width) {
  return row >= 0 && row < height && col >= 0 && col < width ? row * width + col : -1;
}
__device__ inline C value_at(const T* plane, int at) { return at < 0 ? C(0) : wide(plane[at]); }
// Where the k-th place of a grid (batch, spots, 2) is in an image, and the pixels about it: of bit 0 the right ones, of bit 1 the lower.
// The nearest one alone where `nearest`. `start`: what sums begin with, no number where the grid has none.
struct Sample { u32 batch, spot; Place x, y; C right, down, start; int count; Pixel pixels[4]; };
__device__ inline Sample sample_of(const T* grid, u32 k, u32 spots, int height, int width, int aligned, int nearest) {
  const C gx = wide(grid[2 * i64(k)]), gy = wide(grid[2 * i64(k) + 1]);
  Sample s;
  s.batch = k / spots;
  s.spot = k - s.batch * spots;
  s.x = place_of(gx, width, aligned);
  s.y = place_of(gy, height, aligned);
  s.start = gx + gy == gx + gy ? C(0) : gx + gy;
  s.count = nearest ? 1 : 4;
  if (nearest) {
    s.pixels[0] = {pixel_at(int(nearbyint(s.y.at)), int(nearbyint(s.x.at)), height, width), C(1)};
    return s;
  }
  const C left = floor(s.x.at), top = floor(s.y.at);
  s.right = s.x.at - left;
  s.down = s.y.at - top;
#pragma unroll
  for (int i = 0; i < 4; ++i)
    s.pixels[i] = {pixel_at(int(top) + i / 2, int(left) + i % 2, height, width), (i % 2 ? s.right : C(1) - s.right) * (i / 2 ? s.down : C(1) - s.down)};
  return s;
}
// x (batch, channels, height, width), grid (batch, rows, cols, 2): out[b, :, r, c]. A thread a place.
extern "C" __global__ void __launch_bounds__(256) sample_grid(const T* x, const T* grid, T* out, u32 n, int channels, int height, int width, u32 spots, int aligned, int nearest) {
  const int area = height * width;
  EACH(n) {
    const Sample s = sample_of(grid, k, spots, height, width, aligned, nearest);
    const T* from = x + i64(s.batch) * channels * area;
    T* to = out + i64(s.batch) * channels * spots + s.spot;
    for (int ch = 0; ch < channels; ++ch, from += area, to += spots) {
      if (nearest) {
        *to = s.pixels[0].at < 0 ? cast<T>(C(0)) : from[s.pixels[0].at];
        continue;
      }
      C sum = s.start;
#pragma unroll
      for (int i = 0; i < 4; ++i)
        if (s.pixels[i].at >= 0) sum += wide(from[s.pixels[i].at]) * s.pixels[i].weight;
      *to = cast<T>(sum);
    }
  }
}
// to (batch, channels, height, width) += g's parts. A thread a place and the channels of blockIdx.y; added in no order, as PyTorch's.
extern "C" __global__ void __launch_bounds__(256) spread_samples(const T* g, const T* grid, C* to, u32 n, int channels, int height, int width, u32 spots, int aligned, int nearest,
                                                                 int per) {
  const int first = int(blockIdx.y) * per, end = min(first + per, channels), area = height * width;
  EACH(n) {
    const Sample s = sample_of(grid, k, spots, height, width, aligned, nearest);
    const T* from = g + (i64(s.batch) * channels + first) * spots + s.spot;
    C* plane = to + (i64(s.batch) * channels + first) * area;
    for (int ch = first; ch < end; ++ch, plane += area, from += spots) {
      const C slope = wide(*from);
#pragma unroll
      for (int i = 0; i < 4; ++i)
        if (i < s.count && s.pixels[i].at >= 0) atomicAdd(plane + s.pixels[i].at, slope * s.pixels[i].weight);
    }
  }
}
// The gradient by the grid, of places between others. A thread a place.
extern "C" __global__ void __launch_bounds__(256) slopes_of_grid(const T* g, const T* x, const T* grid, T* out, u32 n, int channels, int height, int width, u32 spots, int aligned) {
  const int area = height * width;
  EACH(n) {
    const Sample s = sample_of(grid, k, spots, height, width, aligned, 0);
    const T *from = g + i64(s.batch) * channels * spots + s.spot, *plane = x + i64(s.batch) * channels * area;
    C by_x = 0, by_y = 0;
    for (int ch = 0; ch < channels; ++ch, plane += area, from += spots) {
      const C slope = wide(*from), nw = value_at(plane, s.pixels[0].at), ne = value_at(plane, s.pixels[1].at);
      const C sw = value_at(plane, s.pixels[2].at), se = value_at(plane, s.pixels[3].at);
      by_x += slope * ((ne - nw) * (C(1) - s.down) + (se - sw) * s.down);
      by_y += slope * ((sw - nw) * (C(1) - s.right) + (se - ne) * s.right);
    }
    out[2 * i64(k)] = cast<T>(by_x * s.x.slope);
    out[2 * i64(k) + 1] = cast<T>(by_y * s.y.slope);
  }
}
#endif
)cuda";

}  // namespace shim::cuda
