#pragma once
// Quantiles of sorted rows, NaN last, compiled by NVRTC with a macro:
//   ELEMENT the elements' type, float or double.
#include "cuda/kernels/asserts.cuh"

typedef ELEMENT T;
// out[row, k] = the element at q[k] of the way, or between the two that are nearest: how 0 linear, 1 lower, 2 higher, 3 midpoint, 4 nearest.
// Of a row with NaN that, or, with skips_nan, of the others. `at` stands for q where that is null.
extern "C" __global__ void __launch_bounds__(256)
    quantiles(const T* sorted, const T* q, double at, T* out, i64 rows, i64 n, i64 many, int skips_nan, int how) {
  const i64 i = i64(blockIdx.x) * 256 + threadIdx.x;
  if (i >= rows * many) return;
  const i64 row = i / many;
  const T* x = sorted + row * n;
  const bool missing = x[n - 1] != x[n - 1];
  i64 count = n;
  if (missing && skips_nan) {
    i64 low = 0;  // the first that is NaN
    while (low < count) {
      const i64 middle = (low + count) / 2;
      if (x[middle] != x[middle])
        count = middle;
      else
        low = middle + 1;
    }
  }
  T place = (q ? q[i - row * many] : T(at)) * T(count - 1);
  if (place < T(0)) place = T(0);
  if (missing && !skips_nan) place = T(n - 1);
  const T low = floor(place), high = ceil(place);
  if (!(low >= T(0) && high <= T(n - 1)) || i64(high) >= n) assert_failed(AssertSite::gather, i64(high), n);
  const T a = x[i64(low)], b = x[i64(high)], w = place - low;
  T found = a;
  if (how == 0)
    found = fabs(w) < T(0.5) ? a + w * (b - a) : b - (b - a) * (T(1) - w);
  else if (how == 2)
    found = b;
  else if (how == 3)
    found = (a + b) / T(2);
  else if (how == 4)
    found = x[i64(rint(place))];
  out[i] = found;
}
