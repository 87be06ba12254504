#pragma once
// Convolutions of lines by a kernel of each channel's own, compiled by NVRTC with the macros
// ELEMENT, C, TAPS (V is not used).
#include "cuda/kernels/block.cuh"

#define EACH 4  // elements of a thread
__device__ inline C at_or_zero(const T* line, i64 i, i64 size) { return u64(i) < u64(size) ? wide(line[i]) : C(0); }

// A line of `size` results a block column (blockIdx.x), EACH * 256 of them a block.
extern "C" __global__ void __launch_bounds__(256) taps(const T* x, const T* weight, const T* bias, T* out, i64 channels,
    i64 from, i64 size, i64 shift, i64 dilation, int turned) {
  const i64 channel = blockIdx.x % channels;
  const T* line = x + i64(blockIdx.x) * from;
  C w[TAPS];
#pragma unroll
  for (int k = 0; k < TAPS; ++k) w[k] = wide(weight[channel * TAPS + (turned ? TAPS - 1 - k : k)]);
  const C base = bias ? wide(bias[channel]) : C(0);
  const i64 first = i64(blockIdx.y) * 256 * EACH + threadIdx.x;
#pragma unroll
  for (int u = 0; u < EACH; ++u) {
    const i64 i = first + u * 256;
    if (i >= size) return;
    C sum = base;
#pragma unroll
    for (int k = 0; k < TAPS; ++k) sum += w[k] * at_or_zero(line, i + shift + k * dilation, from);
    out[i64(blockIdx.x) * size + i] = cast<T>(sum);
  }
}

// A channel (blockIdx.x) of a share (blockIdx.y) of the pieces, PIECE results of one line each; parts (shares, channels, TAPS).
#define PIECE 2048
extern "C" __global__ void __launch_bounds__(256)
    tap_slopes(const T* x, const T* g, C* parts, i64 lines, i64 channels, i64 from, i64 size, i64 shift, i64 dilation) {
  const i64 channel = blockIdx.x, per = (size + PIECE - 1) / PIECE, pieces = lines * per;
  C sums[TAPS];
#pragma unroll
  for (int k = 0; k < TAPS; ++k) sums[k] = C(0);
  for (i64 piece = blockIdx.y; piece < pieces; piece += gridDim.y) {
    const i64 row = piece / per, begin = (piece - row * per) * PIECE, end = begin + PIECE < size ? begin + PIECE : size;
    const T *line = x + (row * channels + channel) * from, *slopes = g + (row * channels + channel) * size;
#pragma unroll 4
    for (i64 i = begin + threadIdx.x; i < end; i += 256) {
      const C slope = wide(slopes[i]);
#pragma unroll
      for (int k = 0; k < TAPS; ++k) sums[k] += slope * at_or_zero(line, i + shift + k * dilation, from);
    }
  }
#pragma unroll
  for (int k = 0; k < TAPS; ++k) {
    const C sum = across_block(sums[k]);
    __syncthreads();
    if (threadIdx.x == 0) parts[(blockIdx.y * channels + channel) * TAPS + k] = sum;
  }
}
// A warp a result: the shares' sums.
extern "C" __global__ void __launch_bounds__(256) tap_totals(const C* parts, T* out, i64 n, int shares) {
  const i64 at = i64(blockIdx.x) * 8 + threadIdx.x / 32;
  if (at >= n) return;
  C sum = 0;
  for (int s = threadIdx.x % 32; s < shares; s += 32) sum += parts[s * n + at];
#pragma unroll
  for (int step = 16; step; step /= 2) sum += __shfl_xor_sync(FULL, sum, step);
  if (threadIdx.x % 32 == 0) out[at] = cast<T>(sum);
}
