#pragma once
// Places drawn from rows of weights, compiled by NVRTC with macros:
//   ELEMENT the weights' type, WIDE 1 where they are float64.
#include "cuda/kernels/asserts.cuh"
#include "cuda/kernels/philox.cuh"

typedef ELEMENT T;
typedef typename pick<WIDE, double, float>::type R;
__device__ inline bool is_weight(R x) { return x >= R(0) && x < R(__int_as_float(0x7f800000)); }

// What is wrong with a row: 1 a weight that is negative, infinite or no number, 2 none above zero.
__device__ inline void tell_faults(int* faults, bool wrong, bool any) {
  const int found = __syncthreads_or(wrong) ? 1 : 0, some = __syncthreads_or(any);
  if (threadIdx.x == 0 && (found || !some)) atomicOr(faults, found | (some ? 0 : 2));
}

// A block a row: the faults of all rows.
extern "C" __global__ void __launch_bounds__(256) check(const T* weights, int* faults, i64 n) {
  const T* row = weights + i64(blockIdx.x) * n;
  bool wrong = false, any = false;
  for (i64 i = threadIdx.x; i < n; i += 256) {
    const R x = cast<R>(row[i]);
    wrong |= !is_weight(x);
    any |= x > R(0);
  }
  tell_faults(faults, wrong, any);
}

// A block a row: exponential races. Of weight / draw the greatest, the first of equal ones; the draws are the stream's, one an element.
extern "C" __global__ void __launch_bounds__(1024)
    draw_one(const T* weights, i64* out, int* faults, i64 n, u64 seed, u64 start) {
  constexpr int each = WIDE ? 2 : 4;
  const i64 begin = i64(blockIdx.x) * n, end = begin + n;
  bool wrong = false, any = false;
  R best = R(-1);
  i64 place = 0;
  for (i64 block = begin / each + threadIdx.x; block * each < end; block += blockDim.x) {
    const Words w = philox(seed, start + block);
#pragma unroll
    for (int k = 0; k < each; ++k) {
      const i64 i = block * each + k;
      if (i < begin || i >= end) continue;
      const R x = cast<R>(weights[i]);
      wrong |= !is_weight(x);
      any |= x > R(0);
      const R u = uniform_number<WIDE>(w, k);
      const R drawn = x / fmax(-log(R(1) - u), R(WIDE ? 1.1102230246251565e-16 : 5.9604644775390625e-08));
      if (drawn > best) best = drawn, place = i - begin;
    }
  }
  __shared__ R bests[1024];
  __shared__ i64 places[1024];
  bests[threadIdx.x] = best;
  places[threadIdx.x] = place;
  for (int step = blockDim.x / 2; step; step /= 2) {  // as many threads as a power of two
    __syncthreads();
    if (threadIdx.x >= step) continue;
    const R other = bests[threadIdx.x + step];
    const i64 there = places[threadIdx.x + step];
    if (other > bests[threadIdx.x] || (other == bests[threadIdx.x] && there < places[threadIdx.x]))
      bests[threadIdx.x] = other, places[threadIdx.x] = there;
  }
  if (threadIdx.x == 0) out[blockIdx.x] = places[0];
  tell_faults(faults, wrong, any);
}

// A block of 256 threads for a row (x) and a part of its draws (y): sums up to each place, then the place of a uniform number's part of the whole.
// What is wrong with the weights ends the program, as PyTorch's assertions do.
extern "C" __global__ void __launch_bounds__(256)
    draw_many(const T* weights, i64* out, i64 n, i64 draws, i64 part, u64 seed, u64 start) {
  __shared__ double edges[4096];
  __shared__ double sums[256];
  const int t = threadIdx.x, each = int((n + 255) / 256), from = t * each, to = from + each < n ? from + each : int(n);
  const T* row = weights + i64(blockIdx.x) * n;
  double sum = 0;
  for (int i = from; i < to; ++i) {
    const R x = cast<R>(row[i]);
    if (!is_weight(x)) assert_failed(AssertSite::multinomial_weight, double(x));
    edges[i] = sum += double(x);
  }
  sums[t] = sum;
  for (int step = 1; step < 256; step *= 2) {
    __syncthreads();
    const double before = t >= step ? sums[t - step] : 0;
    __syncthreads();
    sums[t] += before;
  }
  __syncthreads();
  const double before = t ? sums[t - 1] : 0, whole = sums[255];
  if (t == 0 && !(whole > 0)) assert_failed(AssertSite::multinomial_sum, 0, 0);
  for (int i = from; i < to; ++i) edges[i] += before;
  __syncthreads();
  const i64 end = (i64(blockIdx.y) + 1) * part < draws ? (i64(blockIdx.y) + 1) * part : draws;
  for (i64 k = i64(blockIdx.y) * part + t; k < end; k += 256) {
    const i64 at = i64(blockIdx.x) * draws + k;
    const Words w = philox(seed, start + at / 2);
    double sought = (at % 2 ? unit(w.v[2], w.v[3]) : unit(w.v[0], w.v[1])) * whole;
    if (!(sought < edges[n - 1])) sought = edges[n - 1] * (1 - 2.220446049250313e-16);
    int low = 0, high = int(n) - 1;  // the first edge above what is sought
    while (low < high) {
      const int middle = (low + high) / 2;
      if (edges[middle] > sought)
        high = middle;
      else
        low = middle + 1;
    }
    out[at] = low;
  }
}
