#pragma once
// The pointwise part of a recurrent step and its gradients, compiled by NVRTC with
// the macros ELEMENT, C (V is not used): a thread a unit of a row.
#include "cuda/kernels/block.cuh"

__device__ inline C sigmoid(C x) { return C(1) / (C(1) + exp(-x)); }
// The unit's place in rows of `parts` times n.
__device__ inline u32 first_part(u32 k, u32 n, u32 parts) {
  const u32 row = k / n;
  return row * parts * n + (k - row * n);
}

// Of the gates a + b (i, f, g and o): h, the next cell, the gates after their functions.
extern "C" __global__ void __launch_bounds__(256)
    lstm_step(const T* a, const T* b, const T* cell, T* h, T* after, T* gates, u32 count, u32 n) {
  const u32 k = blockIdx.x * 256 + threadIdx.x;
  if (k >= count) return;
  const u32 at = first_part(k, n, 4);
  C x[4];
#pragma unroll
  for (int p = 0; p < 4; ++p) x[p] = wide(a[at + p * n]) + wide(b[at + p * n]);
#pragma unroll
  for (int p = 0; p < 4; ++p) {
    x[p] = p == 2 ? tanh(x[p]) : sigmoid(x[p]);
    gates[at + p * n] = cast<T>(x[p]);
  }
  const C next = x[1] * wide(cell[k]) + x[0] * x[2];
  after[k] = cast<T>(next);
  h[k] = cast<T>(x[3] * tanh(next));
}
// of_h and of_cell may be null: zero.
extern "C" __global__ void __launch_bounds__(256) lstm_step_backward(const T* of_h, const T* of_cell, const T* gates,
    const T* before, const T* after, T* to_gates, T* to_cell, u32 count, u32 n) {
  const u32 k = blockIdx.x * 256 + threadIdx.x;
  if (k >= count) return;
  const u32 at = first_part(k, n, 4);
  const C i = wide(gates[at]), f = wide(gates[at + n]), g = wide(gates[at + 2 * n]), o = wide(gates[at + 3 * n]),
          t = tanh(wide(after[k])), gh = of_h ? wide(of_h[k]) : C(0),
          through = (of_cell ? wide(of_cell[k]) : C(0)) + gh * o * (C(1) - t * t);
  to_gates[at] = cast<T>(through * g * i * (C(1) - i));
  to_gates[at + n] = cast<T>(through * wide(before[k]) * f * (C(1) - f));
  to_gates[at + 2 * n] = cast<T>(through * i * (C(1) - g * g));
  to_gates[at + 3 * n] = cast<T>(gh * t * o * (C(1) - o));
  to_cell[k] = cast<T>(through * f);
}

// Of the gates of the input and of the state (reset, update and new): the next state; and what its gradients read, a row
// of reset, update and new after their functions, and the state's part of new.
extern "C" __global__ void __launch_bounds__(256)
    gru_step(const T* a, const T* b, const T* before, T* h, T* kept, u32 count, u32 n) {
  const u32 k = blockIdx.x * 256 + threadIdx.x;
  if (k >= count) return;
  const u32 at = first_part(k, n, 3), to = first_part(k, n, 4);
  const C r = sigmoid(wide(a[at]) + wide(b[at])), z = sigmoid(wide(a[at + n]) + wide(b[at + n])),
          own = wide(b[at + 2 * n]), made = tanh(wide(a[at + 2 * n]) + r * own);
  kept[to] = cast<T>(r);
  kept[to + n] = cast<T>(z);
  kept[to + 2 * n] = cast<T>(made);
  kept[to + 3 * n] = cast<T>(own);
  h[k] = cast<T>(made + z * (wide(before[k]) - made));
}
extern "C" __global__ void __launch_bounds__(256) gru_step_backward(
    const T* g, const T* kept, const T* before, T* to_gates, T* to_more, T* to_state, u32 count, u32 n) {
  const u32 k = blockIdx.x * 256 + threadIdx.x;
  if (k >= count) return;
  const u32 at = first_part(k, n, 3), from = first_part(k, n, 4);
  const C r = wide(kept[from]), z = wide(kept[from + n]), made = wide(kept[from + 2 * n]),
          own = wide(kept[from + 3 * n]), slope = wide(g[k]), of_new = slope * (C(1) - z) * (C(1) - made * made);
  const T of_reset = cast<T>(of_new * own * r * (C(1) - r)),
          of_update = cast<T>(slope * (wide(before[k]) - made) * z * (C(1) - z));
  to_gates[at] = to_more[at] = of_reset;
  to_gates[at + n] = to_more[at + n] = of_update;
  to_gates[at + 2 * n] = cast<T>(of_new);
  to_more[at + 2 * n] = cast<T>(of_new * r);
  to_state[k] = cast<T>(slope * z);
}
