#pragma once
// A tensor in the middle of a larger one, compiled by NVRTC with macros:
//   ELEMENT an unsigned type of the elements' size, V elements that a thread writes at once, WIDE 1 for more than 2**31 elements.
#include "cuda/kernels/packs.cuh"

typedef ELEMENT T;
typedef typename pick<WIDE, u64, u32>::type Number;
// Innermost first: sizes of `out`, where the tensor begins, its sizes and steps.
struct Frame {
  i64 size[8], begin[8], inner[8], step[8];
  int dims;
};
// The place along dimension d, which is taken off `at`.
__device__ inline Number digit_of(const Frame& f, int d, Number& at) {
  if (d + 1 == f.dims) return at;
  const Number q = at / Number(f.size[d]), digit = at - q * Number(f.size[d]);
  at = q;
  return digit;
}

// Where element `at` of out is in `from`, or a large number where it is in the frame, the innermost dimension left aside; the place along the innermost dimension goes to *column.
__device__ inline i64 source_of(const Frame& f, Number at, i64* column) {
  i64 offset = 0;
  bool inside = true;
#pragma unroll
  for (int d = 0; d < 8; ++d) {
    if (d == f.dims) break;
    const Number digit = digit_of(f, d, at);
    const i64 place = i64(digit) - f.begin[d];
    if (d == 0) {
      *column = i64(digit);
      offset = place * f.step[0];
      continue;
    }
    inside = inside && u64(place) < u64(f.inner[d]);
    offset += place * f.step[d];
  }
  return inside ? offset : i64(1) << 62;
}
// out, contiguous, of `n` elements: `from` within the frame, else value.
extern "C" __global__ void __launch_bounds__(256) pad(T* out, const T* from, T value, i64 n, Frame f) {
  const i64 first = (i64(blockIdx.x) * 256 + threadIdx.x) * V;
  if (first >= n) return;
  i64 column, at = source_of(f, Number(first), &column);
  T r[V];
#pragma unroll
  for (int k = 0; k < V; ++k) {
    r[k] = at < i64(1) << 61 && u64(column - f.begin[0]) < u64(f.inner[0]) ? from[at] : value;
    at += f.step[0];
    if (++column == f.size[0] && k + 1 < V && first + k + 1 < n) at = source_of(f, Number(first + k + 1), &column);
  }
  put(out, first, n, r);
}

// The same of a ring along every dimension, which is entered again at its other end: the place along the innermost one, among the tensor's
// and among out's, goes to *column and *digit. A frame is no wider than the tensor, so that one step leads back.
__device__ inline i64 ring_of(const Frame& f, Number at, i64* column, i64* digit_of_row) {
  i64 offset = 0;
#pragma unroll
  for (int d = 0; d < 8; ++d) {
    if (d == f.dims) break;
    const Number digit = digit_of(f, d, at);
    i64 place = i64(digit) - f.begin[d];
    place += place < 0 ? f.inner[d] : 0;
    place -= place >= f.inner[d] ? f.inner[d] : 0;
    if (d == 0)
      *column = place, *digit_of_row = i64(digit);
    else
      offset += place * f.step[d];
  }
  return offset;
}
// out, contiguous, of `n` elements: `from`, continued at each end from the other.
extern "C" __global__ void __launch_bounds__(256) wrap(T* out, const T* from, i64 n, Frame f) {
  const i64 first = (i64(blockIdx.x) * 256 + threadIdx.x) * V;
  if (first >= n) return;
  i64 column, digit, at = ring_of(f, Number(first), &column, &digit);
  T r[V];
#pragma unroll
  for (int k = 0; k < V; ++k) {
    if (first + k < n) r[k] = from[at + column * f.step[0]];
    column = column + 1 == f.inner[0] ? 0 : column + 1;
    if (++digit == f.size[0] && k + 1 < V && first + k + 1 < n) at = ring_of(f, Number(first + k + 1), &column, &digit);
  }
  put(out, first, n, r);
}
