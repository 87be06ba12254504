#pragma once
// The gradients of group norm. Macros as in norm.cuh.
#include "cuda/kernels/norm.cuh"

// --- group norm's backward ---------------------------------------------------------------------------------------------

// sums[0][sample, channel] of g * x, sums[1] of g: a block a channel of a sample.
extern "C" __global__ void __launch_bounds__(1024) channels(const T* g, const T* x, C* sums, i64 count, i64 span) {
  const T *from = x + i64(blockIdx.x) * span, *grad = g + i64(blockIdx.x) * span;
  C product = 0, sum = 0;
  for (i64 c = i64(threadIdx.x) * V; c < span; c += i64(blockDim.x) * V) {
    const Load a = load(from + c), b = load(grad + c);
#pragma unroll
    for (int k = 0; k < V; ++k) {
      product += wide(b.v[k]) * wide(a.v[k]);
      sum += wide(b.v[k]);
    }
  }
  product = across_block(product);
  sum = across_block(sum);
  if (threadIdx.x == 0) {
    sums[blockIdx.x] = product;
    sums[count + blockIdx.x] = sum;
  }
}

// A block a group of a sample.
extern "C" __global__ void __launch_bounds__(1024) group(const T* g, const T* x, T* dx, const T* weight, const C* means,
    const C* rstds, const C* sums, i64 count, i64 cols, i64 span, i64 groups) {
  const i64 row = blockIdx.x, per = cols / span, first = row * per;
  const Weights w(weight, weight, span, groups, row, cols);
  C product = 0, sum = 0;
  for (i64 c = threadIdx.x; c < per; c += blockDim.x) {
    const C m = weight ? wide(weight[w.first + c]) : C(1);
    product += m * sums[first + c];
    sum += m * sums[count + first + c];
  }
  product = across_block(product);
  sum = across_block(sum);
  const C mean = means[row], scale = rstds[row], of_x = (sum * mean - product) * scale * scale * scale / C(cols),
          of_one = -of_x * mean - sum * scale / C(cols);
  const T *from = x + row * cols, *grad = g + row * cols;
  T* to = dx + row * cols;
  for (i64 c = i64(threadIdx.x) * V; c < cols; c += i64(blockDim.x) * V) {
    const Load a = load(from + c), b = load(grad + c);
    const C m = (weight ? wide(weight[w.at(c)]) : C(1)) * scale;
    Load r;
#pragma unroll
    for (int k = 0; k < V; ++k) r.v[k] = cast<T>(wide(b.v[k]) * m + wide(a.v[k]) * of_x + of_one);
    store(to + c, r);
  }
}

extern "C" __global__ void __launch_bounds__(256) group_weights(
    const C* sums, const C* means, const C* rstds, T* weight, T* bias, i64 samples, i64 channels, i64 groups) {
  const i64 c = i64(blockIdx.x) * 256 + threadIdx.x, count = samples * channels;
  if (c >= channels) return;
  C w = 0, b = 0;
  for (i64 n = 0; n < samples; ++n) {
    const i64 row = n * groups + c / (channels / groups), at = n * channels + c;
    w += (sums[at] - sums[count + at] * means[row]) * rstds[row];
    b += sums[count + at];
  }
  if (weight) weight[c] = cast<T>(w);
  if (bias) bias[c] = cast<T>(b);
}
