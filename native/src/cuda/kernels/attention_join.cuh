#pragma once
// Attention of parts of the keys, joined, compiled by NVRTC with the macro ELEMENT, Half or Bf16.
#include "cuda/kernels/types.cuh"

typedef ELEMENT T;
struct Strides {
  i64 batch, head, row;
};

// out = the mean of `parts` results by the sums of their weights, which `levels` has the logarithms of; a block a row, a thread a number of it.
// `pieces` and `levels` are (parts, lines, rows) with a row's numbers in the former. Parts that see nothing have the level -inf and zeros.
extern "C" __global__ void __launch_bounds__(128) attention_join(
    const float* pieces, const float* levels, T* out, float* lse, Strides so, int heads, int rows, int parts) {
  const int place = blockIdx.x, line = place / rows, row = place % rows;
  const i64 apart = gridDim.x;
  const float low = -__int_as_float(0x7f800000);
  float most = low;
  for (int part = 0; part < parts; ++part) most = fmaxf(most, levels[part * apart + place]);
  const float base = most == low ? 0.0f : most;
  float sum = 0, total = 0;
#pragma unroll 4
  for (int part = 0; part < parts; ++part) {
    const i64 at = part * apart + place;
    const float weight = __expf(levels[at] - base);
    total += weight;
    sum += weight * pieces[at * blockDim.x + threadIdx.x];
  }
  narrow(total == 0.0f ? 0.0f : sum / total,
      out[line / heads * so.batch + line % heads * so.head + row * so.row + threadIdx.x]);
  if (threadIdx.x == 0) lse[place] = total == 0.0f ? low : base + logf(total);
}
