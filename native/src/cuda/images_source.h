#pragma once
// CUDA C++ of pools and resampling of planes (planes, depth, height, width), and of norms over channels, compiled by NVRTC after
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

// Norms over channels of (batch, channels, inner): blockIdx.x a channel, blockIdx.y one of `parts` parts of its batch * inner elements.
// Macros: ELEMENT, C, V as above, P the element type of the weight and bias.
inline constexpr const char* kChannelsSource = R"cuda(
struct Moments { C count, mean, squares; };
__device__ inline Moments joined(Moments a, Moments b) {
  if (b.count == C(0)) return a;
  const C count = a.count + b.count, apart = b.mean - a.mean, share = b.count / count;
  return {count, a.mean + apart * share, a.squares + b.squares + apart * apart * a.count * share};
}
__device__ inline Moments of_block(Moments m) {
  __shared__ Moments shared[32];
#pragma unroll
  for (int step = 16; step; step /= 2)
    m = joined(m, {__shfl_down_sync(FULL, m.count, step), __shfl_down_sync(FULL, m.mean, step), __shfl_down_sync(FULL, m.squares, step)});
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = m;
  __syncthreads();
  if (threadIdx.x == 0)
    for (int w = 1; w < blockDim.x / 32; ++w) m = joined(m, shared[w]);
  return m;                                                     // whole in thread 0
}
// f(offset in the tensor) for each group of V elements of this block's part.
template <class F> __device__ inline void each_group(i64 channels, i64 inner, i64 groups, F f) {
  const i64 per = (groups + gridDim.y - 1) / gridDim.y, begin = i64(blockIdx.y) * per, end = min(begin + per, groups), line = inner / V;
  for (i64 k = begin + threadIdx.x; k < end; k += blockDim.x) {
    const u32 batch = u32(k) / u32(line);
    f((i64(batch) * channels + blockIdx.x) * inner + (k - i64(batch) * line) * V);
  }
}
extern "C" __global__ void __launch_bounds__(512) channel_moments(const T* x, Moments* partial, i64 channels, i64 inner, i64 groups) {
  // Sums about the thread's first value: exact enough, and no division an element.
  C about = 0, count = 0, sum = 0, squares = 0;
  each_group(channels, inner, groups, [&](i64 at) {
    const Load a = load(x + at);
    if (count == C(0)) about = wide(a.v[0]);
#pragma unroll
    for (int v = 0; v < V; ++v) { const C d = wide(a.v[v]) - about; sum += d; squares += d * d; }
    count += V;
  });
  const C mean = count == C(0) ? C(0) : sum / count;
  const C rest = squares - sum * mean;
  const Moments m = of_block({count, mean + about, rest < C(0) ? C(0) : rest});
  if (threadIdx.x == 0) partial[i64(blockIdx.x) * gridDim.y + blockIdx.y] = m;
}
// A block a channel.
extern "C" __global__ void __launch_bounds__(256) channel_statistics(const Moments* partial, T* mean, T* variance, int parts, double correction, int root) {
  const Moments* from = partial + i64(blockIdx.x) * parts;
  Moments m = {C(0), C(0), C(0)};
  for (int k = threadIdx.x; k < parts; k += blockDim.x) m = k == threadIdx.x ? from[k] : joined(m, from[k]);
  m = of_block(m);
  if (threadIdx.x) return;
  const double freedom = double(m.count) - correction;
  const C v = m.squares / C(freedom > 0 ? freedom : 0);
  if (mean) mean[blockIdx.x] = cast<T>(m.mean);
  variance[blockIdx.x] = cast<T>(root ? sqrt(v) : v);
}
// Running statistics toward those of a batch, whose variance is multiplied by `factor`.
extern "C" __global__ void __launch_bounds__(256) track_statistics(T* to_mean, T* to_variance, const C* mean, const C* variance, i64 n, double momentum, double factor) {
  const i64 i = i64(blockIdx.x) * 256 + threadIdx.x;
  if (i >= n) return;
  const C keep = C(1 - momentum), add = C(momentum);
  to_mean[i] = cast<T>(cast<C>(to_mean[i]) * keep + mean[i] * add);
  to_variance[i] = cast<T>(cast<C>(to_variance[i]) * keep + variance[i] * C(factor) * add);
}
__device__ inline C weight_of(const P* weight) { return weight ? cast<C>(weight[blockIdx.x]) : C(1); }
extern "C" __global__ void __launch_bounds__(512) channel_norm(const T* x, T* out, const C* mean, const C* variance, const P* weight, const P* bias, C eps, i64 channels, i64 inner, i64 groups) {
  const C scale = weight_of(weight) / sqrt(variance[blockIdx.x] + eps), centre = mean[blockIdx.x], shift = bias ? cast<C>(bias[blockIdx.x]) : C(0);
  each_group(channels, inner, groups, [&](i64 at) {
    Load a = load(x + at);
#pragma unroll
    for (int v = 0; v < V; ++v) a.v[v] = cast<T>((wide(a.v[v]) - centre) * scale + shift);
    store(out + at, a);
  });
}
// Sums of g and of g * (x - mean), a pair a part.
extern "C" __global__ void __launch_bounds__(512) channel_slopes(const T* g, const T* x, const C* mean, C* partial, i64 channels, i64 inner, i64 groups) {
  const C centre = mean[blockIdx.x];
  C sum = 0, dot = 0;
  each_group(channels, inner, groups, [&](i64 at) {
    const Load a = load(g + at), b = load(x + at);
#pragma unroll
    for (int v = 0; v < V; ++v) { const C d = wide(a.v[v]); sum += d; dot += d * (wide(b.v[v]) - centre); }
  });
  sum = across_block(sum);
  __syncthreads();
  dot = across_block(dot);
  if (threadIdx.x == 0) { C* to = partial + 2 * (i64(blockIdx.x) * gridDim.y + blockIdx.y); to[0] = sum; to[1] = dot; }
}
// dx, and in the channel's first block the gradients of weight and bias.
extern "C" __global__ void __launch_bounds__(512) channel_norm_backward(const T* g, const T* x, T* dx, const C* mean, const C* variance, const P* weight, const C* partial, C* dweight, C* dbias, C eps, int parts, int of_batch, i64 channels, i64 inner, i64 groups) {
  __shared__ C both[2];
  if (threadIdx.x < 2) {
    C total = 0;
    for (int k = 0; k < parts; ++k) total += partial[2 * (i64(blockIdx.x) * parts + k) + threadIdx.x];
    both[threadIdx.x] = total;
  }
  __syncthreads();
  const C centre = mean[blockIdx.x], rstd = C(1) / sqrt(variance[blockIdx.x] + eps), count = C(groups * V);
  if (blockIdx.y == 0 && threadIdx.x == 0) { dweight[blockIdx.x] = both[1] * rstd; dbias[blockIdx.x] = both[0]; }
  const C scale = weight_of(weight) * rstd, average = of_batch ? both[0] / count : C(0), slope = of_batch ? both[1] * rstd * rstd / count : C(0);
  each_group(channels, inner, groups, [&](i64 at) {
    const Load a = load(g + at), b = load(x + at);
    Load r;
#pragma unroll
    for (int v = 0; v < V; ++v) r.v[v] = cast<T>((wide(a.v[v]) - average - (wide(b.v[v]) - centre) * slope) * scale);
    store(dx + at, r);
  });
}
)cuda";

}  // namespace shim::cuda
