#pragma once
// Images whose elements go to other places, compiled by NVRTC with macros:
//   ELEMENT the elements' type, or an unsigned one of their size where nothing is added; C the type sums are made in; R the factor that pixels are
//   shuffled by, FRAME 0 a frame that reflects, 1 that goes on with the nearest; ADDS 1 for the kernels that add.
#include "cuda/kernels/types.cuh"

typedef ELEMENT T;
struct Window {
  int kernel[2], stride[2], padding[2], dilation[2], size[2], many[2];
};
struct Frame {
  int size[3], before[3], whole[3];
};  // of the tensor, and with its frame; the last dimension first

// Where place `at` of the frame is read.
__device__ inline int source(const Frame& f, int d, int at) {
  const int last = f.size[d] - 1, x = at - f.before[d];
#if FRAME
  return min(max(x, 0), last);
#else
  return last - abs(last - abs(x));
#endif
}

#if !ADDS
// Windows of planes as columns: row (plane, i, j) of out holds what tap (i, j) sees.
extern "C" __global__ void __launch_bounds__(256) to_columns(const T* x, T* out, Window w, i64 rows) {
  const int area = w.many[0] * w.many[1];
  for (i64 row = blockIdx.y; row < rows; row += gridDim.y) {
    const int tap = int(row % (w.kernel[0] * w.kernel[1])), i = tap / w.kernel[1], j = tap - i * w.kernel[1];
    const T* from = x + row / (w.kernel[0] * w.kernel[1]) * (i64(w.size[0]) * w.size[1]);
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int at = (blockIdx.x * 4 + k) * 256 + threadIdx.x;
      if (at >= area) break;
      const int oy = at / w.many[1], y = oy * w.stride[0] - w.padding[0] + i * w.dilation[0];
      const int c = (at - oy * w.many[1]) * w.stride[1] - w.padding[1] + j * w.dilation[1];
      out[row * area + at] = u32(y) < u32(w.size[0]) && u32(c) < u32(w.size[1]) ? from[i64(y) * w.size[1] + c] : T{};
    }
  }
}

#ifdef R
// (planes, R, R, h, w) to (planes, h * R, w * R), a thread R neighbours of the result.
extern "C" __global__ void __launch_bounds__(256) gather_pixels(const T* x, T* out, u32 n, u32 h, u32 w) {
  const u32 at = blockIdx.x * 256 + threadIdx.x;
  if (at >= n) return;
  const u32 c = at % w, line = at / w, i = line % R, y = line / R % h, plane = line / R / h;
  Pack<T, R> r;
#pragma unroll
  for (int j = 0; j < R; ++j) r.v[j] = x[(((i64(plane) * R + i) * R + j) * h + y) * w + c];
  *reinterpret_cast<Pack<T, R>*>(out + i64(at) * R) = r;
}
// The way back.
extern "C" __global__ void __launch_bounds__(256) spread_pixels(const T* x, T* out, u32 n, u32 h, u32 w) {
  const u32 at = blockIdx.x * 256 + threadIdx.x;
  if (at >= n) return;
  const u32 c = at % w, line = at / w, i = line % R, y = line / R % h, plane = line / R / h;
  const Pack<T, R> r = *reinterpret_cast<const Pack<T, R>*>(x + i64(at) * R);
#pragma unroll
  for (int j = 0; j < R; ++j) out[(((i64(plane) * R + i) * R + j) * h + y) * w + c] = r.v[j];
}
#endif

// Planes with frames made of themselves; a thread four neighbours of out.
extern "C" __global__ void __launch_bounds__(256) reflect_replicate_pad(const T* x, T* out, u32 n, Frame f) {
  const u32 first = (blockIdx.x * 256 + threadIdx.x) * 4;
  if (first >= n) return;
  Pack<T, 4> r;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const u32 at = min(first + k, n - 1), c = at % f.whole[0], line = at / f.whole[0], y = line % f.whole[1],
              z = line / f.whole[1] % f.whole[2], plane = line / f.whole[1] / f.whole[2];
    r.v[k] =
        x[((i64(plane) * f.size[2] + source(f, 2, z)) * f.size[1] + source(f, 1, y)) * f.size[0] + source(f, 0, c)];
  }
  if (first + 4 <= n)
    *reinterpret_cast<Pack<T, 4>*>(out + first) = r;
  else
#pragma unroll
    for (int k = 0; k < 4; ++k)
      if (first + k < n) out[first + k] = r.v[k];
}
#else

// The sum of what the windows' taps hold of each pixel.
extern "C" __global__ void __launch_bounds__(256) from_columns(const T* x, T* out, Window w, i64 n) {
  const i64 at = i64(blockIdx.x) * 256 + threadIdx.x;
  if (at >= n) return;
  const int c = int(at % w.size[1]), y = int(at / w.size[1] % w.size[0]), area = w.many[0] * w.many[1];
  const T* from = x + at / w.size[1] / w.size[0] * (i64(w.kernel[0]) * w.kernel[1] * area);
  C sum = 0;
  for (int i = 0; i < w.kernel[0]; ++i) {
    const int ty = y + w.padding[0] - i * w.dilation[0], oy = ty / w.stride[0];
    if (ty < 0 || oy * w.stride[0] != ty || oy >= w.many[0]) continue;
    for (int j = 0; j < w.kernel[1]; ++j) {
      const int tx = c + w.padding[1] - j * w.dilation[1], ox = tx / w.stride[1];
      if (tx < 0 || ox * w.stride[1] != tx || ox >= w.many[1]) continue;
      sum += cast<C>(from[i64(i * w.kernel[1] + j) * area + oy * w.many[1] + ox]);
    }
  }
  out[at] = cast<T>(sum);
}

// The k-th place of a frame's dimension d that is read at x, negative where there is none; and how many k there are.
__device__ inline int readers(const Frame& f, int d, int x) {
#if FRAME
  const int after = f.whole[d] - f.before[d] - f.size[d];
  return 1 + (x == 0 ? max(f.before[d], 0) : 0) + (x == f.size[d] - 1 ? max(after, 0) : 0);
#else
  return 3;
#endif
}
__device__ inline int reader(const Frame& f, int d, int x, int k) {
  int at = x + f.before[d];
#if FRAME
  if (x == 0) at = min(at, 0);  // of the first one: from the frame's begin on
  at += k;
#else
  const int last = f.size[d] - 1;
  if (k == 1) at = x ? f.before[d] - x : -1;
  if (k == 2) at = x < last ? f.before[d] + 2 * last - x : -1;
#endif
  return at < f.whole[d] ? at : -1;
}
// The gradient of `reflect_replicate_pad`.
extern "C" __global__ void __launch_bounds__(256) reflect_replicate_pad_backward(const T* g, T* out, u32 n, Frame f) {
  const u32 at = blockIdx.x * 256 + threadIdx.x;
  if (at >= n) return;
  const int c = at % f.size[0], y = at / f.size[0] % f.size[1], z = at / f.size[0] / f.size[1] % f.size[2];
  const T* from = g + i64(at / f.size[0] / f.size[1] / f.size[2]) * f.whole[2] * f.whole[1] * f.whole[0];
  C sum = 0;
  for (int a = 0; a < readers(f, 2, z); ++a) {
    const int oz = reader(f, 2, z, a);
    if (oz < 0) continue;
    for (int b = 0; b < readers(f, 1, y); ++b) {
      const int oy = reader(f, 1, y, b);
      if (oy < 0) continue;
      for (int k = 0; k < readers(f, 0, c); ++k) {
        const int ox = reader(f, 0, c, k);
        if (ox >= 0) sum += cast<C>(from[(i64(oz) * f.whole[1] + oy) * f.whole[0] + ox]);
      }
    }
  }
  out[at] = cast<T>(sum);
}

struct Grid {
  int size[3], dims, aligned;
};  // the last dimension first
// Number i of `size` from -1 to 1 (by the pixels' outer edges where not aligned), rounded to T.
__device__ inline C place(int i, int size, int aligned) {
  if (size == 1) return 0;
  const C step = C(2) / C(size - 1), at = i < size / 2 ? C(-1) + step * C(i) : C(1) - step * C(size - 1 - i);
  const C own = cast<C>(cast<T>(at));
  return aligned ? own : cast<C>(cast<T>(own * C(size - 1) / C(size)));
}
// The coordinates of place `at` of a grid.
__device__ inline void coordinates(u32 at, const Grid& grid, C (&base)[3]) {
#pragma unroll
  for (int d = 0; d < 3; ++d) {
    if (d == grid.dims) break;
    base[d] = place(int(at % grid.size[d]), grid.size[d], grid.aligned);
    at /= grid.size[d];
  }
}
// Places of affine maps theta, (batch, dims, dims + 1): out (batch, sizes, dims).
extern "C" __global__ void __launch_bounds__(256) affine_grid(const T* theta, T* out, Grid grid, u32 each) {
  const u32 at = blockIdx.x * 256 + threadIdx.x;
  if (at >= each) return;
  C base[3];
  coordinates(at, grid, base);
  const T* map = theta + i64(blockIdx.y) * grid.dims * (grid.dims + 1);
  T* to = out + (i64(blockIdx.y) * each + at) * grid.dims;
  for (int k = 0; k < grid.dims; ++k) {
    C sum = 0;
#pragma unroll
    for (int d = 0; d < 3; ++d)
      if (d < grid.dims) sum += base[d] * cast<C>(map[k * (grid.dims + 1) + d]);
    to[k] = cast<T>(sum + cast<C>(map[k * (grid.dims + 1) + grid.dims]));
  }
}
// The gradient by the maps, a block a map: sums over the places of g times each coordinate, and of g.
extern "C" __global__ void __launch_bounds__(512) affine_grid_backward(const T* g, T* to, Grid grid, u32 each) {
  C sums[3][4] = {};
  const T* from = g + i64(blockIdx.x) * each * grid.dims;
  for (u32 at = threadIdx.x; at < each; at += blockDim.x) {
    C base[3];
    coordinates(at, grid, base);
#pragma unroll
    for (int k = 0; k < 3; ++k) {
      if (k == grid.dims) break;
      const C slope = cast<C>(from[i64(at) * grid.dims + k]);
#pragma unroll
      for (int d = 0; d < 3; ++d)
        if (d < grid.dims) sums[k][d] += base[d] * slope;
      sums[k][3] += slope;
    }
  }
  __shared__ C shared[16][12];
#pragma unroll
  for (int k = 0; k < 12; ++k) {
    C sum = sums[k / 4][k % 4];
#pragma unroll
    for (int step = 16; step; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
    if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32][k] = sum;
  }
  __syncthreads();
  const int row = threadIdx.x / 4, column = threadIdx.x % 4;
  if (row >= grid.dims || (column >= grid.dims && column < 3)) return;
  C sum = 0;
  for (int warp = 0; warp < blockDim.x / 32; ++warp) sum += shared[warp][threadIdx.x];
  to[(i64(blockIdx.x) * grid.dims + row) * (grid.dims + 1) + min(column, grid.dims)] = cast<T>(sum);
}
#endif
