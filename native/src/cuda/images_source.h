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
      const C x = place - low, a = C(-0.75);
      const C far = x + C(1), beyond = C(2) - x, rest = C(1) - x;
      t.weight[0] = ((a * far - C(5) * a) * far + C(8) * a) * far - C(4) * a;
      t.weight[1] = ((a + C(2)) * x - (a + C(3))) * x * x + C(1);
      t.weight[2] = ((a + C(2)) * rest - (a + C(3))) * rest * rest + C(1);
      t.weight[3] = ((a * beyond - C(5) * a) * beyond + C(8) * a) * beyond - C(4) * a;
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
__device__ inline C reflected(C x, int twice_low, int twice_high) {
  if (twice_low == twice_high) return C(0);
  const C low = C(twice_low) / 2, span = C(twice_high - twice_low) / 2;
  x = fabs(x - low);
  const C extra = fmod(x, span);
  const int turns = int(floor(x / span));
  return turns % 2 == 0 ? extra + low : span - extra + low;
}
__device__ inline C place_of(C x, int size, int aligned) {
  x = aligned ? (x + C(1)) / 2 * C(size - 1) : ((x + C(1)) * C(size) - C(1)) / 2;
  if (PADDING == 2) x = aligned ? reflected(x, 0, 2 * (size - 1)) : reflected(x, -1, 2 * size - 1);
  if (PADDING) x = fmin(C(size - 1), fmax(x, C(0)));
  return x > C(-1e9) && x < C(1e9) ? x : C(-100);               // of nothing that an int holds: outside
}
// x (batch, channels, height, width), grid (batch, rows, cols, 2): out[b, :, r, c]. A thread a place.
extern "C" __global__ void __launch_bounds__(256) sample_grid(const T* x, const T* grid, T* out, u32 n, int channels, int height, int width, u32 spots, int aligned, int nearest) {
  EACH(n) {
    const u32 batch = k / spots, spot = k - batch * spots;
    const C px = place_of(wide(grid[2 * i64(k)]), width, aligned), py = place_of(wide(grid[2 * i64(k) + 1]), height, aligned);
    const T* from = x + i64(batch) * channels * height * width;
    T* to = out + i64(batch) * channels * spots + spot;
    const auto inside = [&](int r, int c) { return r >= 0 && r < height && c >= 0 && c < width; };
    if (nearest) {
      const int c = int(nearbyint(px)), r = int(nearbyint(py));
      const bool good = inside(r, c);
      for (int ch = 0; ch < channels; ++ch, from += height * width, to += spots) *to = good ? from[r * width + c] : cast<T>(C(0));
      continue;
    }
    const C lost = wide(grid[2 * i64(k)]) + wide(grid[2 * i64(k) + 1]);
    if (lost != lost) {                                         // of no number: none
      for (int ch = 0; ch < channels; ++ch, to += spots) *to = cast<T>(lost);
      continue;
    }
    const int c = int(floor(px)), r = int(floor(py));
    const C right = px - C(c), left = C(1) - right, down = py - C(r), up = C(1) - down;
    const bool nw = inside(r, c), ne = inside(r, c + 1), sw = inside(r + 1, c), se = inside(r + 1, c + 1);
    const int at = r * width + c;
    for (int ch = 0; ch < channels; ++ch, from += height * width, to += spots) {
      C sum = 0;
      if (nw) sum += wide(from[at]) * (left * up);
      if (ne) sum += wide(from[at + 1]) * (right * up);
      if (sw) sum += wide(from[at + width]) * (left * down);
      if (se) sum += wide(from[at + width + 1]) * (right * down);
      *to = cast<T>(sum);
    }
  }
}

// --- gradients of places of a grid ------------------------------------------------------------------------------------------

// The place, and its derivative by the grid's number: none where it is held at the border, as PyTorch has it.
__device__ inline C sloped_place(C x, int size, int aligned, C* slope) {
  *slope = aligned ? C(size - 1) / 2 : C(size) / 2;
#if PADDING == 2
  const C whole = aligned ? (x + C(1)) / 2 * C(size - 1) : ((x + C(1)) * C(size) - C(1)) / 2;
  const int twice_low = aligned ? 0 : -1, twice_high = aligned ? 2 * (size - 1) : 2 * size - 1;
  if (twice_low == twice_high) *slope = C(0);
  else {
    const C apart = whole - C(twice_low) / 2, span = C(twice_high - twice_low) / 2;
    if ((apart < C(0)) != (int(floor(fabs(apart) / span)) % 2 != 0)) *slope = -*slope;
  }
#endif
  const C place = place_of(x, size, aligned);
  if (PADDING && !(place > C(0) && place < C(size - 1))) *slope = C(0);
  return place;
}
// to (batch, channels, height, width) += g's parts. A thread a place and the channels of blockIdx.y; added in no order, as PyTorch's.
extern "C" __global__ void __launch_bounds__(256) spread_samples(const T* g, const T* grid, C* to, u32 n, int channels, int height, int width, u32 spots, int aligned, int nearest,
                                                                 int per) {
  const int first = int(blockIdx.y) * per, end = first + per < channels ? first + per : channels;
  EACH(n) {
    const u32 batch = k / spots, spot = k - batch * spots;
    const C px = place_of(wide(grid[2 * i64(k)]), width, aligned), py = place_of(wide(grid[2 * i64(k) + 1]), height, aligned);
    const auto inside = [&](int r, int c) { return r >= 0 && r < height && c >= 0 && c < width; };
    const T* from = g + (i64(batch) * channels + first) * spots + spot;
    C* plane = to + (i64(batch) * channels + first) * height * width;
    if (nearest) {
      const int c = int(nearbyint(px)), r = int(nearbyint(py));
      if (inside(r, c))
        for (int ch = first; ch < end; ++ch, plane += height * width, from += spots) atomicAdd(plane + r * width + c, wide(*from));
      continue;
    }
    const int c = int(floor(px)), r = int(floor(py)), at = r * width + c;
    const C right = px - C(c), left = C(1) - right, down = py - C(r), up = C(1) - down;
    const bool nw = inside(r, c), ne = inside(r, c + 1), sw = inside(r + 1, c), se = inside(r + 1, c + 1);
    for (int ch = first; ch < end; ++ch, plane += height * width, from += spots) {
      const C slope = wide(*from);
      if (nw) atomicAdd(plane + at, slope * (left * up));
      if (ne) atomicAdd(plane + at + 1, slope * (right * up));
      if (sw) atomicAdd(plane + at + width, slope * (left * down));
      if (se) atomicAdd(plane + at + width + 1, slope * (right * down));
    }
  }
}
// The gradient by the grid, of places between others. A thread a place.
extern "C" __global__ void __launch_bounds__(256) slopes_of_grid(const T* g, const T* x, const T* grid, T* out, u32 n, int channels, int height, int width, u32 spots, int aligned) {
  EACH(n) {
    const u32 batch = k / spots, spot = k - batch * spots;
    C by_x, by_y;
    const C px = sloped_place(wide(grid[2 * i64(k)]), width, aligned, &by_x), py = sloped_place(wide(grid[2 * i64(k) + 1]), height, aligned, &by_y);
    const auto inside = [&](int r, int c) { return r >= 0 && r < height && c >= 0 && c < width; };
    const int c = int(floor(px)), r = int(floor(py)), at = r * width + c;
    const C right = px - C(c), left = C(1) - right, down = py - C(r), up = C(1) - down;
    const bool nw = inside(r, c), ne = inside(r, c + 1), sw = inside(r + 1, c), se = inside(r + 1, c + 1);
    const T *from = g + i64(batch) * channels * spots + spot, *plane = x + i64(batch) * channels * height * width;
    C dx = 0, dy = 0;
    for (int ch = 0; ch < channels; ++ch, plane += height * width, from += spots) {
      const C slope = wide(*from);
      const C a = nw ? wide(plane[at]) : C(0), b = ne ? wide(plane[at + 1]) : C(0), d = sw ? wide(plane[at + width]) : C(0), e = se ? wide(plane[at + width + 1]) : C(0);
      dx += slope * ((b - a) * up + (e - d) * down);
      dy += slope * ((d - a) * left + (e - b) * right);
    }
    out[2 * i64(k)] = cast<T>(dx * by_x);
    out[2 * i64(k) + 1] = cast<T>(dy * by_y);
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
