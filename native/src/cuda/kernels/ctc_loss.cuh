#pragma once
// Connectionist temporal classification, compiled by NVRTC with the macros ELEMENT (float or
// double), C (the same), V=1. States: the labels with a blank before, between and behind them, 2 * labels + 1.
#include "cuda/kernels/asserts.cuh"
#include "cuda/kernels/block.cuh"

struct Sizes {
  i64 steps, batch, classes, most, blank;
};  // most: labels of a row of targets
__device__ inline C never() { return C(__int_as_float(0xff800000)); }
__device__ inline C joined(C a, C b, C c) {
  const C top = a > b ? (a > c ? a : c) : (b > c ? b : c);
  return top == never() ? top : top + log(exp(a - top) + exp(b - top) + exp(c - top));
}
// The state's class.
__device__ inline i64 class_of(const i64* labels, i64 state, const Sizes& z) {
  const i64 c = state % 2 ? labels[state / 2] : z.blank;
  if (u64(c) >= u64(z.classes)) assert_failed(AssertSite::ctc_loss, c, z.classes);
  return c;
}
__device__ inline bool skips(const i64* labels, i64 state) {
  return state % 2 && state > 1 && labels[state / 2] != labels[state / 2 - 1];
}

// alpha (batch, steps, 2 * most + 1): the logarithms of the chances of all ways to a state; the losses. A block a sequence.
extern "C" __global__ void __launch_bounds__(1024)
    alignments(const T* log_p, const i64* targets, const i64* inputs, const i64* lengths, C* alpha, T* loss, Sizes z) {
  const i64 n = blockIdx.x, states = 2 * lengths[n] + 1, wide_row = 2 * z.most + 1, heard = inputs[n];
  const i64* labels = targets + n * z.most;
  C* to = alpha + n * z.steps * wide_row;
  for (i64 t = 0; t < heard; ++t) {
    const T* p = log_p + (t * z.batch + n) * z.classes;
    const C* before = to + (t - 1) * wide_row;
    for (i64 s = threadIdx.x; s < states; s += blockDim.x) {
      const C score = wide(p[class_of(labels, s, z)]);
      if (t == 0)
        to[s] = s < 2 ? score : never();
      else
        to[t * wide_row + s] =
            score + joined(before[s], s ? before[s - 1] : never(), skips(labels, s) ? before[s - 2] : never());
    }
    __syncthreads();
  }
  if (threadIdx.x) return;
  if (!heard) {
    loss[n] = cast<T>(states == 1 ? C(0) : -never());
    return;
  }
  const C* last = to + (heard - 1) * wide_row;
  loss[n] = cast<T>(-joined(last[states - 1], states > 1 ? last[states - 2] : never(), never()));
}
// beta, of alpha's shape: of all ways from a state to the end, the state's own chance among them. A block a sequence.
extern "C" __global__ void __launch_bounds__(1024)
    alignments_back(const T* log_p, const i64* targets, const i64* inputs, const i64* lengths, C* beta, Sizes z) {
  const i64 n = blockIdx.x, states = 2 * lengths[n] + 1, wide_row = 2 * z.most + 1, heard = inputs[n];
  const i64* labels = targets + n * z.most;
  C* to = beta + n * z.steps * wide_row;
  for (i64 t = heard - 1; t >= 0; --t) {
    const T* p = log_p + (t * z.batch + n) * z.classes;
    const C* after = to + (t + 1) * wide_row;
    for (i64 s = threadIdx.x; s < states; s += blockDim.x) {
      const C score = wide(p[class_of(labels, s, z)]);
      if (t == heard - 1)
        to[t * wide_row + s] = s + 2 >= states ? score : never();
      else
        to[t * wide_row + s] = score + joined(after[s], s + 1 < states ? after[s + 1] : never(),
                                           s + 2 < states && skips(labels, s + 2) ? after[s + 2] : never());
    }
    __syncthreads();
  }
}
// (e^log_p - the chance to be at a class then) * g; 0 beyond the sequence's end, no number where no way is and g asks. A block a step of a
// sequence.
extern "C" __global__ void __launch_bounds__(256) alignment_slopes(const T* g, const T* log_p, const i64* targets,
    const i64* inputs, const i64* lengths, const C* alpha, const C* beta, const T* loss, T* out, Sizes z) {
  const i64 n = blockIdx.x, t = blockIdx.y, states = 2 * lengths[n] + 1, wide_row = 2 * z.most + 1;
  const i64* labels = targets + n * z.most;
  const T* p = log_p + (t * z.batch + n) * z.classes;
  T* to = out + (t * z.batch + n) * z.classes;
  const C total = wide(loss[n]), slope = wide(g[n]);
  const bool heard = t < inputs[n], counts = heard && total < -never();
  const C otherwise = heard && slope != C(0) ? C(__int_as_float(0x7fc00000)) : C(0);
  for (i64 c = threadIdx.x; c < z.classes; c += blockDim.x)
    to[c] = counts ? cast<T>(exp(wide(p[c])) * slope) : cast<T>(otherwise);
  if (!counts) return;
  __syncthreads();
  const i64 row = (n * z.steps + t) * wide_row;
  for (i64 s = threadIdx.x; s < states; s += blockDim.x) {
    const i64 c = class_of(labels, s, z);
    const C way = alpha[row + s] + beta[row + s];
    if (way != never()) atomicAdd(to + c, -slope * exp(way + total - wide(p[c])));
  }
}
