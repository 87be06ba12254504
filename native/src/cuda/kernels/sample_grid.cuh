#pragma once
// Sampling of images at the places of a grid: the part PADDING of images.cuh.
#include "cuda/kernels/images.cuh"

// --- places of a grid -----------------------------------------------------------------------------------------------------

#ifdef PADDING
// A place along a dim, and what it moves by where the grid's number does.
struct Place {
  C at, slope;
};
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
  if (!(fabs(p.at) < C(1e9))) p.at = C(-100);  // of nothing that an int holds: outside
  return p;
}
// A pixel of a plane: its offset, -1 outside, and the weight of its value.
struct Pixel {
  int at;
  C weight;
};
__device__ inline int pixel_at(int row, int col, int height, int width) {
  return row >= 0 && row < height && col >= 0 && col < width ? row * width + col : -1;
}
__device__ inline C value_at(const T* plane, int at) { return at < 0 ? C(0) : wide(plane[at]); }
// Where the k-th place of a grid (batch, spots, 2) is in an image, and the pixels about it: of bit 0 the right ones, of bit 1 the lower.
// The nearest one alone where `nearest`. `start`: what sums begin with, no number where the grid has none.
struct Sample {
  u32 batch, spot;
  Place x, y;
  C right, down, start;
  int count;
  Pixel pixels[4];
};
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
    s.pixels[i] = {pixel_at(int(top) + i / 2, int(left) + i % 2, height, width),
        (i % 2 ? s.right : C(1) - s.right) * (i / 2 ? s.down : C(1) - s.down)};
  return s;
}
// x (batch, channels, height, width), grid (batch, rows, cols, 2): out[b, :, r, c]. A thread a place.
extern "C" __global__ void __launch_bounds__(256) sample_grid(const T* x, const T* grid, T* out, u32 n, int channels,
    int height, int width, u32 spots, int aligned, int nearest) {
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
extern "C" __global__ void __launch_bounds__(256) spread_samples(const T* g, const T* grid, C* to, u32 n, int channels,
    int height, int width, u32 spots, int aligned, int nearest, int per) {
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
extern "C" __global__ void __launch_bounds__(256) slopes_of_grid(
    const T* g, const T* x, const T* grid, T* out, u32 n, int channels, int height, int width, u32 spots, int aligned) {
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
